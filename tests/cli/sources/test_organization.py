"""Scans of a whole organization: with a role in each account, and through an AWS Config aggregator."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sandbox.config_items.items import ItemStyle
from sandbox.server import Sandbox
from tests.support.command import invoke, without_time
from tests.support.config_aggregator import Aggregator, answering
from tests.support.network import Builder, Private

ROLE = ("--organization", "--role-name", "Audit")


def scan(*options: str) -> Result:
    """Run a live scan of the sandbox with options."""
    return invoke(["scan", "--format", "json", *options])


def rows(result: Result) -> list[dict[str, Any]]:
    """Return the rows that a scan printed."""
    found: list[dict[str, Any]] = json.loads(result.stdout)["subnets"]
    return found


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
    """All members are read with the named role, and the caller's own account without one."""
    sandbox.calls.clear()
    result = scan(*ROLE)
    assert {row["accountId"] for row in rows(result)} == {*members, sandbox.account_id}
    assumed = {call.parameters["RoleArn"] for call in sandbox.calls.of("sts", "AssumeRole")}
    assert assumed == {f"arn:aws:iam::{account_id}:role/Audit" for account_id in members}
    assert result.exit_code == 0


def test_an_account_that_refuses_the_role_is_named(sandbox: Sandbox, members: list[str]) -> None:
    """An account whose role cannot be assumed is named with a hint; the others are reported; the status is 2."""
    sandbox.faults.deny("sts", "AssumeRole", RoleArn=f"arn:aws:iam::{members[0]}:role/Audit")
    result = scan(*ROLE)
    assert result.exit_code == 2
    assert {row["accountId"] for row in rows(result)} == {members[1], sandbox.account_id}
    [line] = result.stderr.splitlines()
    assert f"account {members[0]}" in line
    assert "AccessDenied" in line
    assert "must exist and trust this account" in line


def test_a_role_can_have_a_path(sandbox: Sandbox, members: list[str]) -> None:
    """The path precedes the name, as in the role's ARN."""
    sandbox.calls.clear()
    assert scan("--organization", "--role-name", "team/audit/Reader").exit_code == 0
    assumed = {call.parameters["RoleArn"] for call in sandbox.calls.of("sts", "AssumeRole")}
    assert assumed == {f"arn:aws:iam::{account_id}:role/team/audit/Reader" for account_id in members}


def test_accounts_that_are_not_active_are_left_out(sandbox: Sandbox, members: list[str]) -> None:
    """A suspended account is skipped, because its role cannot be assumed."""
    sandbox.client("organizations").close_account(AccountId=members[0])
    sandbox.calls.clear()
    assert scan(*ROLE).exit_code == 0
    arns = {call.parameters["RoleArn"] for call in sandbox.calls.of("sts", "AssumeRole")}
    assert arns == {f"arn:aws:iam::{members[1]}:role/Audit"}


def test_without_an_organization_it_is_one_line(sandbox: Sandbox) -> None:
    """If the account is not in an organization or cannot list it, the error is one line and the status is 2."""
    sandbox.faults.fail("organizations", "ListAccounts", "AWSOrganizationsNotInUseException", 400)
    result = scan(*ROLE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "leave --organization out" in result.stderr
    sandbox.faults.clear()
    nobody = scan(*ROLE)
    assert (nobody.exit_code, nobody.stdout) == (2, "")
    assert "no active account" in nobody.stderr
    sandbox.faults.deny("organizations", "ListAccounts")
    result = scan(*ROLE)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {sandbox.region}: organizations:ListAccounts failed with " in line
    assert "works only in the management account and for delegated administrators" in line


@pytest.mark.parametrize("name", ["arn:aws:iam::123456789012:role/Audit", "/Audit", "Audit role", "a" * 65, "Prüfer"])
def test_an_invalid_role_name_is_refused(sandbox: Sandbox, name: str) -> None:
    """An invalid role name is reported once, before any call."""
    result = scan("--organization", "--role-name", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--role-name {name}" in result.stderr
    assert list(sandbox.calls) == []


def test_each_region_is_read_in_each_account(sandbox: Sandbox, members: list[str]) -> None:
    """If a Region fails in one account, the other accounts and Regions are still reported."""
    elsewhere = "eu-west-1"
    result = scan(*ROLE, "--region", sandbox.region, "--region", elsewhere, "--workers", "2")
    places = {(row["accountId"], row["region"]) for row in rows(result)}
    assert places == {
        (account, region) for account in (*members, sandbox.account_id) for region in (sandbox.region, elsewhere)
    }


class TestAggregator:
    """A scan makes one query for each resource type and evaluates the items like live data."""

    @pytest.fixture
    def aggregator(self, sandbox: Sandbox) -> Iterator[Aggregator]:
        """Return an aggregator without items."""
        made = Aggregator(sandbox)
        with answering(made):
            yield made

    @pytest.mark.parametrize("style", [ItemStyle(), ItemStyle(explicit_nulls=False, state_as_object=True)])
    def test_verdicts_are_those_of_the_live_scan(
        self, aggregator: Aggregator, builder: Builder, style: ItemStyle
    ) -> None:
        """The verdicts and annotations of all kinds of paths are the same as in a live scan."""
        network = Private(builder)
        builder.endpoint(network.vpc, builder.table(network.vpc, NatGatewayId=network.nat))
        cured = builder.table(network.vpc, NatGatewayId=network.nat)
        builder.subnet(network.vpc, cured)
        builder.ec2.modify_vpc_endpoint(
            VpcEndpointId=builder.ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["VpcEndpointId"],
            AddRouteTableIds=[cured],
        )
        builder.tag(builder.subnet(network.vpc, network.table), "express-path:exclude")
        instance = builder.ec2.run_instances(
            ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=network.public_subnet
        )
        interface = instance["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
        builder.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, SourceDestCheck={"Value": False})
        builder.subnet(network.vpc, builder.table(network.vpc, NetworkInterfaceId=interface))
        aggregator.copy(style=style)
        live, aggregated = scan(), scan("--aggregator", aggregator.name)
        assert {row["reason"] for row in rows(live)} >= {
            "ENDPOINT",
            "NAT_GATEWAY",
            "NAT_INSTANCE",
            "INTERNET_GATEWAY",
            "EXCLUDED",
            "NO_ROUTE",
        }
        assert without_time(aggregated) == without_time(live)
        assert (aggregated.exit_code, live.exit_code) == (1, 1)

    def test_no_account_is_entered(self, sandbox: Sandbox, aggregator: Aggregator, members: list[str]) -> None:
        """All accounts are read without a role; a note says what items lack, unless --quiet is set."""
        for account_id in members:
            aggregator.copy(account_id)
        sandbox.calls.clear()
        result = scan("--aggregator", aggregator.name)
        assert {row["accountId"] for row in rows(result)} == set(members)
        assert not sandbox.calls.of("sts", "AssumeRole")
        assert "UNRESOLVED_EGRESS" in result.stderr
        assert scan("--aggregator", aggregator.name, "--quiet").stderr == ""

    def test_what_is_not_recorded_is_never_compliant(self, aggregator: Aggregator, sandbox: Sandbox) -> None:
        """If an account records only subnets, no subnet gets a verdict, because its route table is unknown."""
        configuration = {
            "subnetId": "subnet-1",
            "vpcId": "vpc-1",
            "ownerId": "111122223333",
            "state": {"value": "available"},
        }
        aggregator.add("AWS::EC2::Subnet", "subnet-1", "111122223333", sandbox.region, configuration, {})
        [row] = rows(scan("--aggregator", aggregator.name))
        assert (row["reason"], row["routeTableId"]) == ("UNRESOLVED_EGRESS", None)

    def test_an_internet_gateway_that_may_be_closed_is_never_compliant(
        self, aggregator: Aggregator, builder: Builder
    ) -> None:
        """Items do not record Block Public Access, so a path to an internet gateway is unresolved."""
        network = Private(builder)
        builder.ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        builder.ec2.create_vpc_block_public_access_exclusion(
            VpcId=network.vpc, InternetGatewayExclusionMode="allow-bidirectional"
        )
        aggregator.copy()
        live, aggregated = (
            {row["subnetId"]: row["reason"] for row in rows(scan(*options))}
            for options in ((), ("--aggregator", aggregator.name))
        )
        assert (live[network.public_subnet], live[network.subnet]) == ("INTERNET_GATEWAY", "NAT_GATEWAY")
        assert (aggregated[network.public_subnet], aggregated[network.subnet]) == ("UNRESOLVED_EGRESS", "NAT_GATEWAY")

    def test_sources_that_failed_are_named(self, aggregator: Aggregator, sandbox: Sandbox) -> None:
        """An account that could not be aggregated is named and the status is 2; outdated data gives a note."""
        aggregator.copy()
        source = {"SourceType": "ACCOUNT", "AwsRegion": sandbox.region, "LastUpdateTime": 1770961731}
        aggregator.bad = [
            {
                **source,
                "SourceId": "444455556666",
                "LastUpdateStatus": "FAILED",
                "LastErrorMessage": "no authorization",
            },
            {**source, "SourceId": "777788889999", "LastUpdateStatus": "OUTDATED"},
        ]
        result = scan("--aggregator", aggregator.name)
        assert result.exit_code == 2
        assert rows(result)
        [failed] = [line for line in result.stderr.splitlines() if "444455556666" in line]
        assert "no authorization" in failed
        assert "note: account 777788889999" in result.stderr

    @pytest.mark.parametrize(
        "options", [(), ("--region", "eu-west-1"), ("--region", "us-east-1", "--region", "eu-west-1")]
    )
    def test_what_it_does_not_hold_is_named(self, aggregator: Aggregator, options: tuple[str, ...]) -> None:
        """A Region that is not aggregated or not recorded is named as failed, and the status is 2."""
        if options:
            aggregator.copy()
        result = scan("--aggregator", aggregator.name, "--quiet", *options)
        assert result.exit_code == 2
        assert bool(result.stdout) is ("us-east-1" in options)
        [line] = result.stderr.splitlines()
        lacking = f"aggregator {aggregator.name} eu-west-1" if options else f"aggregator {aggregator.name}"
        assert line.startswith(f"express-path: {lacking}: it contains no subnet (")

    def test_an_unknown_aggregator_is_one_line(self, aggregator: Aggregator) -> None:
        """The line tells how to list those that there are."""
        result = scan("--aggregator", f"not-{aggregator.name}")
        assert (result.exit_code, result.stdout) == (2, "")
        [line] = result.stderr.splitlines()
        assert f"aggregator not-{aggregator.name} in us-east-1: " in line
        assert "describe-configuration-aggregators" in line

    def test_its_own_region_is_no_option(
        self, aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Without a Region in the settings the hint leads there, as --region would only narrow what is read."""
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        result = scan("--aggregator", aggregator.name, "--region", "us-east-1")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "(set AWS_REGION to the aggregator's" in result.stderr
        assert "--all-regions" not in result.stderr

    def test_regions_narrow_the_query(self, sandbox: Sandbox, aggregator: Aggregator) -> None:
        """--region keeps the other Regions' items from being read."""
        aggregator.copy()
        aggregator.copy(region="eu-west-1")
        found = rows(scan("--aggregator", aggregator.name, "--region", "eu-west-1"))
        assert {row["region"] for row in found} == {"eu-west-1"}
        assert {row["region"] for row in rows(scan("--aggregator", aggregator.name))} == {sandbox.region, "eu-west-1"}
