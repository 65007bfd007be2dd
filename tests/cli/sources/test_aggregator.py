"""Scans through an AWS Config aggregator: one query for each resource type, and items evaluated like live data.

tests/test_same_verdicts.py shows that the verdicts are those of other sources.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.config.items.items import ItemStyle
from config_rule_sandbox.server import Sandbox
from express_path_cli.sources.aggregator import description
from tests.support.command import invoke, without_source
from tests.support.config_aggregator import Aggregator, answering
from tests.support.network import Builder, Private


def scan(*options: str) -> Result:
    """Run a live scan of the sandbox with options."""
    return invoke(["scan", "--format", "json", *options])


def rows(result: Result) -> list[dict[str, Any]]:
    """Return the rows that a scan printed."""
    found: list[dict[str, Any]] = json.loads(result.stdout)["subnets"]
    return found


@pytest.fixture
def aggregator(sandbox: Sandbox) -> Iterator[Aggregator]:
    """Return an aggregator without items."""
    made = Aggregator(sandbox)
    with answering(made):
        yield made


def test_items_of_another_style_are_read(aggregator: Aggregator, builder: Builder) -> None:
    """Items may leave out nulls and have objects as states; the document is that of a live scan all the same."""
    network = Private(builder)
    cured = builder.table(network.vpc, NatGatewayId=network.nat)
    builder.subnet(network.vpc, cured)
    builder.endpoint(network.vpc, cured)
    builder.tag(builder.subnet(network.vpc, network.table), "express-path:exclude")
    aggregator.copy(style=ItemStyle(explicit_nulls=False, state_as_object=True))
    live, aggregated = scan(), scan("--aggregator", aggregator.name)
    assert {row["reason"] for row in rows(live)} >= {"ENDPOINT", "NAT_GATEWAY", "INTERNET_GATEWAY", "EXCLUDED"}
    assert without_source(aggregated) == without_source(live)


def test_no_account_is_entered(sandbox: Sandbox, aggregator: Aggregator) -> None:
    """All accounts are read without a role; a note says what items lack, unless --quiet is set."""
    members = ["111122223333", "444455556666"]
    for account_id in members:
        aggregator.copy(account_id)
    sandbox.calls.clear()
    result = scan("--aggregator", aggregator.name)
    assert {row["accountId"] for row in rows(result)} == set(members)
    assert not sandbox.calls.of("sts", "AssumeRole")
    assert "UNRESOLVED_EGRESS" in result.stderr
    assert scan("--aggregator", aggregator.name, "--quiet").stderr == ""


def test_what_is_not_recorded_is_never_compliant(aggregator: Aggregator, sandbox: Sandbox) -> None:
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


def test_a_route_table_without_an_item_is_not_the_main_one(aggregator: Aggregator, builder: Builder) -> None:
    """The subnet's item has a relationship to its route table. The main table leads to the endpoint."""
    network = Private(builder)
    builder.endpoint(network.vpc, builder.main_table(network.vpc))
    by_default = builder.subnet(network.vpc)
    aggregator.copy()
    aggregator.remove(network.table)
    found = {row["subnetId"]: row for row in rows(scan("--aggregator", aggregator.name))}
    row = found[network.subnet]
    assert (row["reason"], row["compliance"], row["routeTableId"]) == ("UNRESOLVED_EGRESS", "NOT_APPLICABLE", None)
    assert f"{network.subnet} names {network.table}" in row["annotation"]
    assert (found[by_default]["reason"], found[network.public_subnet]["reason"]) == ("ENDPOINT", "INTERNET_GATEWAY")


@pytest.mark.parametrize("named", [{"name": "Is contained in RouteTable"}, {"relationshipName": "Is attached to "}, {}])
def test_a_relationship_has_any_name(named: dict[str, str]) -> None:
    """Names differ by the age of the resource type, so only the type of the related resource counts."""
    table = {"resourceType": "AWS::EC2::RouteTable", "resourceId": "rtb-9", **named}
    related = [{"resourceType": "AWS::EC2::VPC", "resourceId": "vpc-1"}, table]
    assert description({"configuration": {}, "relationships": related})["RelatedTableIds"] == ["rtb-9"]


def test_an_internet_gateway_that_may_be_closed_is_never_compliant(aggregator: Aggregator, builder: Builder) -> None:
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


def test_sources_that_failed_are_named(aggregator: Aggregator, sandbox: Sandbox) -> None:
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


OWN, MEMBER = "123456789012", "111122223333"


@pytest.mark.parametrize(
    ("resource_type", "configuration"),
    [
        ("AWS::EC2::Subnet", {"subnetId": ["subnet-1"]}),
        ("AWS::EC2::RouteTable", {"routes": [{"destinationCidrBlock": "a-new-word"}], "associations": []}),
        ("AWS::EC2::PrefixList", {"Entries": "a-new-word"}),
    ],
)
def test_an_account_that_cannot_be_read_hides_no_other(
    aggregator: Aggregator, resource_type: str, configuration: dict[str, Any]
) -> None:
    """It is named as failed, as a dump that is bad input, and the status is 2."""
    for account_id in (OWN, MEMBER):
        aggregator.copy(account_id)
    aggregator.add(resource_type, "strange-1", MEMBER, "us-east-1", configuration, {})
    result = scan("--aggregator", aggregator.name, "--quiet")
    assert result.exit_code == 2
    assert {row["accountId"] for row in rows(result)} == {OWN}
    [line] = result.stderr.splitlines()
    assert line.startswith(f"express-path: account {MEMBER} us-east-1: ")


def test_an_item_of_no_account_is_named(aggregator: Aggregator) -> None:
    """Nothing says whose it is, so the rest is judged and the status is 2."""
    aggregator.copy()
    aggregator.add("AWS::EC2::Subnet", "subnet-1", "a-new-word", "us-east-1", {"subnetId": "subnet-1"}, {})
    result = scan("--aggregator", aggregator.name, "--quiet")
    assert (result.exit_code, {row["accountId"] for row in rows(result)}) == (2, {OWN})
    [line] = result.stderr.splitlines()
    assert line.startswith(f"express-path: aggregator {aggregator.name}: subnet-1: field accountId is 'a-new-word'")


def test_a_region_whose_prefix_lists_cannot_be_read_hides_no_other(sandbox: Sandbox, aggregator: Aggregator) -> None:
    """The caller's account may not have opted in to every Region. If none can be read, that is the only error."""
    aggregator.copy()
    aggregator.copy(region="eu-west-1")
    sandbox.faults.deny("ec2", "DescribePrefixLists", region="eu-west-1")
    result = scan("--aggregator", aggregator.name, "--quiet")
    assert (result.exit_code, {row["region"] for row in rows(result)}) == (2, {"us-east-1"})
    [line] = result.stderr.splitlines()
    assert line.startswith(
        f"express-path: aggregator {aggregator.name} eu-west-1: ec2:DescribePrefixLists in eu-west-1"
    )
    sandbox.faults.deny("ec2", "DescribePrefixLists")
    result = scan("--aggregator", aggregator.name, "--quiet")
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)


def test_a_subnet_without_a_configuration_counts(aggregator: Aggregator, builder: Builder) -> None:
    """The route table names it, so its finding stays."""
    network = Private(builder)
    aggregator.copy()
    aggregator.items["AWS::EC2::Subnet"] = [
        {**item, "configuration": None} for item in aggregator.items["AWS::EC2::Subnet"]
    ]
    found = {row["subnetId"]: row["reason"] for row in rows(scan("--aggregator", aggregator.name))}
    assert found[network.subnet] == "NAT_GATEWAY"


@pytest.mark.parametrize("options", [(), ("--region", "eu-west-1"), ("--region", "us-east-1", "--region", "eu-west-1")])
def test_what_it_does_not_hold_is_named(aggregator: Aggregator, options: tuple[str, ...]) -> None:
    """A Region that is not aggregated or not recorded is named as failed, and the status is 2."""
    if options:
        aggregator.copy()
    result = scan("--aggregator", aggregator.name, "--quiet", *options)
    assert result.exit_code == 2
    assert bool(result.stdout) is ("us-east-1" in options)
    [line] = result.stderr.splitlines()
    lacking = f"aggregator {aggregator.name} eu-west-1" if options else f"aggregator {aggregator.name}"
    assert line.startswith(f"express-path: {lacking}: it contains no subnet (")


def test_an_unknown_aggregator_is_one_line(aggregator: Aggregator) -> None:
    """The line tells how to list those that there are."""
    result = scan("--aggregator", f"not-{aggregator.name}")
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"aggregator not-{aggregator.name} in us-east-1: " in line
    assert "describe-configuration-aggregators" in line


def test_its_own_region_is_no_option(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a Region in the settings the hint leads there, as --region would only narrow what is read."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    result = scan("--aggregator", aggregator.name, "--region", "us-east-1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "(set AWS_REGION to the aggregator's" in result.stderr
    assert "--all-regions" not in result.stderr


def test_regions_narrow_the_query(sandbox: Sandbox, aggregator: Aggregator) -> None:
    """--region keeps the other Regions' items from being read."""
    aggregator.copy()
    aggregator.copy(region="eu-west-1")
    found = rows(scan("--aggregator", aggregator.name, "--region", "eu-west-1"))
    assert {row["region"] for row in found} == {"eu-west-1"}
    assert {row["region"] for row in rows(scan("--aggregator", aggregator.name))} == {sandbox.region, "eu-west-1"}
