"""A network of 360 subnets in four accounts with 36 route tables to fix, and owners as tags of subnets, tables, and VPCs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.server import Sandbox
from tests.support.command import invoke

ACCOUNTS = tuple(f"{number}" * 12 for number in (1, 2, 3, 4))
SUBNETS, TABLES = 360, 36
_VPCS, _SUBNETS_OF_A_VPC, _TABLES_OF_A_VPC = 3, 30, 3
OWNERS = ("billing", "../data team", "web|<b>")
"""Some owners have names that are no names of folders."""


@contextmanager
def credentials_of(account: Account, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the command use an account while the context lasts."""
    with monkeypatch.context() as environment:
        for name, value in (account.credentials or {}).items():
            environment.setenv(name.upper(), value)
        yield


def make_network(sandbox: Sandbox) -> list[Account]:
    """Make the network, and return its accounts.

    Each account has three VPCs: one of an owner without an endpoint, one whose route tables have different owners, also
    without an endpoint, and one with an endpoint whose subnets have owners. Subnets of one table may have several owners,
    and some have none.
    """
    accounts = [Account(sandbox, account_id) for account_id in ACCOUNTS]
    for place, account in enumerate(accounts):
        for subnet in account.ec2.describe_subnets()["Subnets"]:  # of the default VPC
            account.ec2.delete_subnet(SubnetId=subnet["SubnetId"])
        for kind in range(_VPCS):
            _make_vpc(account, kind, OWNERS[(place + kind) % len(OWNERS)])
    return accounts


def _make_vpc(account: Account, kind: int, owner: str) -> None:
    vpc_id = account.vpc()
    public = account.table(vpc_id, GatewayId=account.internet_gateway(vpc_id))
    nat = account.nat_gateway(account.subnet(vpc_id, public))
    tables = [account.table(vpc_id, NatGatewayId=nat) for _ in range(_TABLES_OF_A_VPC)]
    if kind == 0:
        _tag(account, vpc_id, owner)
    if kind == 1:
        for table_id, other in zip(tables, OWNERS, strict=True):
            _tag(account, table_id, other)
    if kind == 2:
        good = account.table(vpc_id, NatGatewayId=nat)
        account.endpoint(vpc_id, good)
        tables.append(good)
    for number in range(_SUBNETS_OF_A_VPC - 1):
        subnet_id = account.subnet(vpc_id, tables[number % len(tables)])
        if kind == 2 and number % 5:
            _tag(account, subnet_id, OWNERS[number % len(OWNERS)])


def _tag(account: Account, resource_id: str, owner: str) -> None:
    account.ec2.create_tags(Resources=[resource_id], Tags=[{"Key": "owner", "Value": owner}])


def dump_network(accounts: list[Account], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Path]:
    """Save a dump of each account, side by side, and return them by account."""
    dumps = {}
    for account in accounts:
        with credentials_of(account, monkeypatch):
            dumps[account.account_id] = folder / account.account_id
            assert invoke(["collect", str(dumps[account.account_id])]).exit_code == 0
    return dumps
