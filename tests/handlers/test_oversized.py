"""Oversized items: the event has only a summary, and the item comes from GetResourceConfigHistory."""

import pytest

from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Rule


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


@pytest.fixture
def rule(sandbox: Sandbox, vpc: Private) -> Rule:
    """Return a rule that has evaluated the network. From then on, every item is oversized."""
    assert vpc.subnet
    rule = Rule(sandbox)
    rule.take_as_known()
    rule.loop.oversized_above = 0
    return rule


def test_item_is_fetched(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The item for the summary names the VPC, and the function reads only that VPC."""
    builder.endpoint(vpc.vpc, vpc.table)
    rule.sandbox.calls.clear()
    assert rule.changes(of=vpc.table) == {vpc.subnet: "ENDPOINT"}
    [history] = rule.sandbox.calls.of("config", "GetResourceConfigHistory")
    assert (history.parameters["resourceType"], history.parameters["resourceId"]) == (
        "AWS::EC2::RouteTable",
        vpc.table,
    )
    filters = [call.parameters.get("Filters") for call in rule.sandbox.calls.of("ec2", "DescribeSubnets")]
    assert filters == [[{"Name": "vpc-id", "Values": [vpc.vpc]}]]


def test_earlier_associations_come_from_the_item_before(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A summary has no diff: the previous item contains the subnets that a table governed before."""
    [association] = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"][0]["Associations"]
    builder.ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NO_ROUTE"}


def test_main_table_comes_from_the_item_before(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The previous item also shows that a table is no longer the main one."""
    former = builder.main_table(vpc.vpc)
    implicit = builder.subnet(vpc.vpc)
    rule.take_as_known()
    builder.make_main(vpc.vpc, vpc.table)
    assert rule.changes(of=former)[implicit] == "NAT_GATEWAY"


def test_deleted_table_is_found_in_the_history(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The history contains the last item of a deleted route table."""
    [association] = builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"][0]["Associations"]
    builder.ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    builder.ec2.delete_route_table(RouteTableId=vpc.table)
    assert rule.changes(of=vpc.table) == {vpc.subnet: "NO_ROUTE"}


def test_item_as_of_the_notification_is_fetched(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A late notification uses the item of its own time and the one before it, not later ones."""
    second = builder.subnet(vpc.vpc, vpc.table)
    rule.only_for = vpc.table
    rule.loop.notice()
    [association] = [
        row
        for row in builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"][0]["Associations"]
        if row["SubnetId"] == second
    ]
    builder.ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    rule.loop.notice()
    deliveries = rule.loop.deliver()
    answers = [delivery.answer for delivery in deliveries if vpc.table in delivery.event["invokingEvent"]]
    assert {second: "NO_ROUTE"}.items() <= rule.answers(answers[-1:]).items()


@pytest.mark.parametrize("kind", ["table", "endpoint"])
def test_item_that_is_not_recorded_any_more(rule: Rule, builder: Builder, vpc: Private, kind: str) -> None:
    """If the history has no item, the whole account is read."""
    resource = vpc.table if kind == "table" else builder.endpoint(vpc.vpc, vpc.table)
    builder.tag(resource, "Name", "changed")
    rule.loop.notice()
    rule.loop.results.history.clear()
    rule.sandbox.calls.clear()
    found = rule.changes(of=resource)
    assert vpc.subnet in found
    assert "Filters" not in rule.sandbox.calls.of("ec2", "DescribeSubnets")[0].parameters


def test_summary_of_a_deleted_subnet_needs_no_network(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A summary of a deleted subnet is enough."""
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    rule.sandbox.calls.clear()
    assert rule.changes(of=vpc.subnet) == {vpc.subnet: "DELETED"}
    assert rule.sandbox.calls.of("ec2") == []
