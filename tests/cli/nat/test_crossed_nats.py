"""The NATs on the paths of flagged subnets, and access to the accounts that own them."""

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.networks.public_sides import BehindNatGateway
from config_rule_sandbox.server import Sandbox
from express_path.domain.network.resources import NatGateway
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.sessions import read_caller
from express_path_cli.findings.selection import Selection, evaluate_all
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind, crossed_nats
from express_path_cli.sources.network import AccountAccess, NetworkViews
from express_path_cli.sources.source import Source
from express_path_cli.terminal.progress import Silent
from tests.support.everything import Everything
from tests.support.scenarios import dump_of, names

NETWORK_ACCOUNT = "222222222222"
CROSSING = NAT_REASONS | {Reason.PARTLY_NAT}
ROLE = f"arn:aws:iam::{NETWORK_ACCOUNT}:role/Network"


def read_nats(
    source: Source | None = None, parameters: RuleParameters | None = None
) -> tuple[NetworkViews, list[CrossedNat]]:
    """Return what a source shows, by default the live account, and the NATs on its flagged paths."""
    asked = parameters or RuleParameters()
    network = (source or Source()).read(asked, Silent())
    return network, crossed_nats(network.views, evaluate_all(network.views, asked, Selection()))


def test_each_kind_of_nat_has_its_owner_and_subnets(sandbox: Sandbox) -> None:
    """Each NAT has its owner, VPC, route tables, and subnets; other targets are not listed."""
    built = Everything(Account(sandbox))
    _, nats = read_nats()
    by_subnet = {
        subnet_id: {nat.kind for nat in nats if subnet_id in nat.subnet_ids} for subnet_id in built.subnets.values()
    }
    assert by_subnet[built.subnets["NAT gateway"]] == {NatKind.ZONAL}
    assert by_subnet[built.subnets["regional NAT gateway"]] == {NatKind.REGIONAL}
    assert by_subnet[built.subnets["NAT instance"]] == {NatKind.INSTANCE}
    assert by_subnet[built.subnets["forwarding instance, then NAT gateway"]] == {NatKind.ZONAL}
    assert by_subnet[built.subnets["spoke"]] == {NatKind.ZONAL}
    for clean in ("endpoint", "internet gateway", "no route", "blackhole", "peering", "excluded"):
        assert by_subnet[built.subnets[clean]] == set()
    assert {nat.account_id for nat in nats} == {sandbox.account_id}
    assert all(nat.vpc_id and nat.route_table_ids for nat in nats)
    assert [nat.id for nat in nats] == sorted({nat.id for nat in nats})


@pytest.mark.parametrize("name", names())
def test_every_flagged_subnet_has_its_nats(name: str) -> None:
    """In every scenario, each subnet flagged for a NAT uses the NAT on its verdict's path."""
    source = Source(from_dump=dump_of(name))
    seen, nats = read_nats(source)
    flagged = [
        verdict for verdict in evaluate_all(seen.views, RuleParameters(), Selection()) if verdict.reason in CROSSING
    ]
    for verdict in flagged:
        used = {nat.id for nat in nats if verdict.subnet_id in nat.subnet_ids and nat.region == verdict.region}
        assert used & {hop.id for hop in verdict.path}
    assert {key for nat in nats for key in nat.subnet_ids} == {verdict.subnet_id for verdict in flagged}


def test_private_gateways_and_those_that_nobody_lists_are_named() -> None:
    """AWS charges for the data of a private one too. A route's target does not show who owns an unlisted one."""
    _, [private] = read_nats(Source(from_dump=dump_of("nat-gateway-private")))
    assert (private.kind, private.account_id is None) == (NatKind.PRIVATE, False)
    _, [unlisted] = read_nats(Source(from_dump=dump_of("nat-gateway-not-listed")))
    assert (unlisted.kind, unlisted.account_id, unlisted.gateway) == (NatKind.UNLISTED, None, None)


def test_a_network_accounts_gateway_is_reached_by_its_role(sandbox: Sandbox) -> None:
    """With central egress, the NAT gateway and the credentials for it belong to the network account."""
    hub = Hub(Account(sandbox, NETWORK_ACCOUNT, first=100))
    spoke_account = Account(sandbox)
    hub.share(spoke_account)
    spoke = hub.join(spoke_account)
    network, [nat] = read_nats(parameters=RuleParameters(network_role_arn=ROLE))
    assert (nat.id, nat.account_id, nat.subnet_ids) == (hub.nat, NETWORK_ACCOUNT, (spoke.subnet,))
    clients = network.account_access.clients(nat.account_id, nat.region)
    assert clients is not None
    assert read_caller(clients).account_id == NETWORK_ACCOUNT
    sandbox.faults.deny("sts", "AssumeRole")
    with pytest.raises(ApiError, match="sts:AssumeRole"):
        network.account_access.clients(nat.account_id, nat.region)


def test_only_accounts_that_were_read_are_reached(sandbox: Sandbox) -> None:
    """Clients use the account's own credentials in any Region; a dump has none, whatever role is given."""
    BehindNatGateway(Account(sandbox))
    network, _ = read_nats(Source(live=LiveOptions(regions=("us-east-1",))))
    clients = network.account_access.clients(sandbox.account_id, "eu-west-1")
    assert clients is not None
    assert clients.region == "eu-west-1"
    assert network.account_access.clients(NETWORK_ACCOUNT, "us-east-1") is None
    assert network.account_access.clients(None, "us-east-1") is None
    dumped, [nat] = read_nats(Source(from_dump=dump_of("nat-gateway-zonal")))
    assert isinstance(nat.gateway, NatGateway)
    assert dumped.account_access.clients(nat.account_id, nat.region) is None
    assert AccountAccess(network_role_arn=ROLE).clients(NETWORK_ACCOUNT, "us-east-1") is None
