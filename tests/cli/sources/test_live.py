"""Scans of live accounts: selection of Regions and accounts, and every kind of failure.

tests/test_same_verdicts.py shows that the verdicts are those of other sources.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.server import Sandbox
from express_path_cli.main import SUBCOMMANDS
from tests.support.command import invoke
from tests.support.network import Builder, Private

ELSEWHERE = "eu-west-1"
OFF = "no-where-1"
NETWORK_ACCOUNT = "444455556666"


def live(*options: str) -> Result:
    """Run a live scan of the sandbox and return the result."""
    return invoke(["scan", "--format", "json", *options])


def rows(result: Result) -> list[dict[str, Any]]:
    """Return the rows that a scan printed."""
    found: list[dict[str, Any]] = json.loads(result.stdout)["subnets"]
    return found


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore's standard retry mode retry without waiting."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


@pytest.fixture
def network(builder: Builder) -> Private:
    """Return a VPC with a public subnet and a private one behind a NAT gateway."""
    return Private(builder)


def test_regions_are_read_as_named(sandbox: Sandbox, network: Private) -> None:
    """Each --region is read once, and its subnets are reported with its name."""
    vpc = sandbox.client("ec2", ELSEWHERE).create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet = sandbox.client("ec2", ELSEWHERE).create_subnet(VpcId=vpc, CidrBlock="10.9.0.0/24")["Subnet"]["SubnetId"]
    found = rows(live("--region", sandbox.region, "--region", ELSEWHERE, "--region", ELSEWHERE))
    assert {(row["region"], row["subnetId"]) for row in found} >= {
        (sandbox.region, network.subnet),
        (ELSEWHERE, subnet),
    }
    assert len(found) == len({row["subnetId"] for row in found})
    assert {row["region"] for row in rows(live("--region", ELSEWHERE))} == {ELSEWHERE}


def test_all_regions_are_those_that_offer_the_service(
    sandbox: Sandbox, network: Private, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """--all-regions skips only the enabled Regions without an S3 Express prefix list, and needs no default Region."""
    asked = {region["RegionName"] for region in sandbox.client("ec2").describe_regions()["Regions"]}
    offering = {region for region in asked if _offers(sandbox, region)}
    assert sandbox.region in offering
    assert offering < asked
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    sandbox.calls.clear()
    result = live("--all-regions")
    assert network.subnet in {row["subnetId"] for row in rows(result)}
    assert {row["region"] for row in rows(result)} <= offering
    assert len(sandbox.calls.of("ec2", "DescribeSubnets")) == len(offering)
    assert sandbox.calls.mutating() == []


def _offers(sandbox: Sandbox, region: str) -> bool:
    lists = sandbox.client("ec2", region).describe_prefix_lists()["PrefixLists"]
    return any(prefix_list["PrefixListName"].endswith(".s3express") for prefix_list in lists)


WITHOUT_REGION = {
    "policies": ["--account"],
    "org shadow": ["--role-name", "Operations"],
    "explain": ["subnet-0a1b2c3d4e5f60718"],
    "heal": ["subnet-0a1b2c3d4e5f60718"],
    "undo": ["4105a4fc-f944-11e6-9d32-0a1b2c3d4958"],
    "collect": ["dump"],
    "org check": ["--role-name", "Audit"],
    "org status": ["--aggregator", "organization"],
    "bench get": ["bucket"],
    "bench put": ["bucket"],
    "bench open": ["bucket"],
    "bench compare": ["before.json", "after.json"],
}
"""The arguments of commands that need some."""


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS.all().keys() - {"schema"}))
def test_without_a_region_options_of_the_command_are_named(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error is one line that names exactly the command's own options for a Region."""
    monkeypatch.chdir(tmp_path)
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    result = invoke([*name.split(), *WITHOUT_REGION.get(name, [])])
    assert (result.exit_code, result.stdout, list(tmp_path.iterdir())) == (2, "", [])
    [message] = result.stderr.splitlines()
    named = {option for parameter in SUBCOMMANDS.load(name).params for option in parameter.opts}
    named &= {"--region", "--all-regions"}
    assert {option for option in ("--region", "--all-regions") if option in message} == named


def test_parameters_reach_the_live_scan(sandbox: Sandbox, network: Private) -> None:
    """Rule parameters have the same effect as for a dump, including the reads that they need."""
    found = rows(live("--parameter", f"vpcIds={network.vpc}", "--parameter", "scope=DIRECTORY_BUCKETS"))
    assert {row["reason"] for row in found if row["vpcId"] == network.vpc} == {"NO_DIRECTORY_BUCKETS"}
    assert {row["reason"] for row in found if row["vpcId"] != network.vpc} == {"EXCLUDED"}
    assert sandbox.calls.of("s3", "ListDirectoryBuckets")
    sandbox.ec2.sharing.share_subnet(network.subnet, "210987654321")
    found = rows(live("--parameter", f"vpcIds={network.vpc}", "--parameter", "scope=DIRECTORY_BUCKETS"))
    assert {row["subnetId"] for row in found if row["reason"] == "NAT_GATEWAY"} == {network.subnet}


def test_a_region_that_fails_is_named_and_the_rest_reported(sandbox: Sandbox, network: Private) -> None:
    """A Region that is denied is named with its error code and a hint, and the status is 2."""
    result = live("--region", sandbox.region, "--region", OFF)
    assert result.exit_code == 2
    assert network.subnet in {row["subnetId"] for row in rows(result)}
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {OFF}" in line
    sandbox.faults.deny("ec2", "DescribeSubnets")
    result = live("--region", sandbox.region)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {sandbox.region}: ec2:DescribeSubnets failed with UnauthorizedOp" in line
    assert "allow ec2:DescribeSubnets" in line


def test_a_region_that_the_organization_denies_is_named_and_the_rest_reported(
    sandbox: Sandbox, network: Private
) -> None:
    """--all-regions judges the others, names the Region, and exits with status 2, if a service control policy denies one."""
    denied = "You are not authorized to perform this operation, with an explicit deny in a service control policy."
    sandbox.faults.deny("ec2", "*", region=ELSEWHERE, message=denied)
    result = live("--all-regions")
    assert result.exit_code == 2
    assert network.subnet in {row["subnetId"] for row in rows(result)}
    assert ELSEWHERE not in {row["region"] for row in rows(result)}
    assert f"account {sandbox.account_id} {ELSEWHERE}" in result.stderr


def test_a_disabled_region_does_not_hide_others(sandbox: Sandbox, network: Private) -> None:
    """A disabled or misspelled Region is named as failed, even if it is the first one; the others are reported."""
    sandbox.faults.fail("sts", "GetCallerIdentity", "InvalidClientTokenId", 403, times=1)
    result = live("--region", OFF, "--region", sandbox.region)
    assert result.exit_code == 2
    assert network.subnet in {row["subnetId"] for row in rows(result)}
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {OFF}: ec2:DescribeSubnets failed with " in line
    sandbox.faults.fail("sts", "GetCallerIdentity", "InvalidClientTokenId", 403, times=1)
    assert live("--all-regions").exit_code == 1
    sandbox.faults.fail("sts", "GetCallerIdentity", "ExpiredToken", 400)
    nowhere = live("--region", OFF, "--region", sandbox.region)
    assert (nowhere.exit_code, nowhere.stdout) == (2, "")
    assert "ExpiredToken" in nowhere.stderr


@pytest.mark.usefixtures("sandbox")
def test_no_credentials_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without credentials, the error is one line that says how to get some."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    result = live()
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "aws sso login" in line
    unknown = live("--profile", "nobody")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "list-profiles" in unknown.stderr


def test_a_network_role_that_is_denied_fails_the_scan(sandbox: Sandbox) -> None:
    """The subnets are listed, but the exit status says that paths beyond the transit gateway are unknown."""
    hub = Hub(Account(sandbox, NETWORK_ACCOUNT, first=100))
    spokes = Account(sandbox)
    hub.share(spokes)
    spoke = hub.join(spokes)
    options = ("--parameter", f"networkRoleArn=arn:aws:iam::{NETWORK_ACCOUNT}:role/Network")
    reasons = {row["subnetId"]: row["reason"] for row in rows(live(*options))}
    assert reasons[spoke.subnet] == "NAT_BEYOND_TRANSIT_GATEWAY"
    sandbox.faults.deny("sts", "AssumeRole")
    result = live(*options)
    assert result.exit_code == 2
    assert {row["subnetId"]: row["reason"] for row in rows(result)}[spoke.subnet] == "UNRESOLVED_EGRESS"
    assert "paths beyond a transit gateway are unknown" in result.stderr


ROLE = ("--organization", "--role-name", "Audit")


@pytest.fixture
def members(sandbox: Sandbox) -> list[str]:
    """Return an organization's two member accounts, each with an additional VPC and subnet."""
    organizations = sandbox.client("organizations")
    organizations.create_organization(FeatureSet="ALL")
    found = []
    for name in ("data", "web"):
        answer = organizations.create_account(AccountName=name, Email=f"{name}@example.com")
        account_id = answer["CreateAccountStatus"]["AccountId"]
        ec2 = sandbox.client("ec2", credentials=sandbox.credentials(account_id))
        vpc_id = ec2.create_vpc(CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
        ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.7.0.0/24")
        found.append(account_id)
    return sorted(found)


def test_every_active_account_is_read_by_its_role(sandbox: Sandbox, members: list[str]) -> None:
    """All members are read with the named role, with its path, and the caller's own account without one."""
    sandbox.calls.clear()
    result = live("--organization", "--role-name", "team/audit/Reader")
    assert {row["accountId"] for row in rows(result)} == {*members, sandbox.account_id}
    assumed = {call.parameters["RoleArn"] for call in sandbox.calls.of("sts", "AssumeRole")}
    assert assumed == {f"arn:aws:iam::{account_id}:role/team/audit/Reader" for account_id in members}
    assert result.exit_code == 0


def test_an_account_that_refuses_the_role_is_named(sandbox: Sandbox, members: list[str]) -> None:
    """An account whose role cannot be assumed is named with a hint; the others are reported; the status is 2."""
    sandbox.faults.deny("sts", "AssumeRole", RoleArn=f"arn:aws:iam::{members[0]}:role/Audit")
    result = live(*ROLE)
    assert result.exit_code == 2
    assert {row["accountId"] for row in rows(result)} == {members[1], sandbox.account_id}
    [line] = result.stderr.splitlines()
    assert f"account {members[0]}" in line
    assert "AccessDenied" in line
    assert "must exist and trust this account" in line


def test_accounts_that_are_not_active_are_left_out(sandbox: Sandbox, members: list[str]) -> None:
    """A suspended account is skipped, because its role cannot be assumed."""
    sandbox.client("organizations").close_account(AccountId=members[0])
    sandbox.calls.clear()
    assert live(*ROLE).exit_code == 0
    arns = {call.parameters["RoleArn"] for call in sandbox.calls.of("sts", "AssumeRole")}
    assert arns == {f"arn:aws:iam::{members[1]}:role/Audit"}


def test_without_an_organization_it_is_one_line(sandbox: Sandbox) -> None:
    """If the account is not in an organization or cannot list it, the error is one line and the status is 2."""
    sandbox.faults.fail("organizations", "ListAccounts", "AWSOrganizationsNotInUseException", 400)
    result = live(*ROLE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "leave --organization out" in result.stderr
    sandbox.faults.clear()
    nobody = live(*ROLE)
    assert (nobody.exit_code, nobody.stdout) == (2, "")
    assert "no active account" in nobody.stderr
    sandbox.faults.deny("organizations", "ListAccounts")
    result = live(*ROLE)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {sandbox.region}: organizations:ListAccounts failed with " in line
    assert "works only in the management account and for delegated administrators" in line
