"""The scheduled sweep: it reports only what AWS Config does not have yet."""

import pytest

from tests.support.network import Builder, Private
from tests.support.rule import Rule


def posted(rule: Rule) -> list[str]:
    """Run a sweep and return the subnets that were reported to AWS Config."""
    rule.sandbox.calls.clear()
    rule.sweep()
    puts = rule.sandbox.calls.of("config", "PutEvaluations")
    return [row["ComplianceResourceId"] for put in puts for row in put.parameters["Evaluations"]]


def test_first_sweep_posts_all_that_matter(rule: Rule, builder: Builder, vpc: Private) -> None:
    """New subnets are reported if they are COMPLIANT or NON_COMPLIANT. NOT_APPLICABLE is not reported."""
    second = Private(builder)
    builder.endpoint(second.vpc, second.table)
    builder.subnet(vpc.vpc)
    assert rule.sweep() == {
        vpc.subnet: "NAT_GATEWAY",
        vpc.public_subnet: "INTERNET_GATEWAY",
        second.subnet: "ENDPOINT",
        second.public_subnet: "INTERNET_GATEWAY",
    }
    assert {result.compliance for result in rule.held().values()} == {"COMPLIANT", "NON_COMPLIANT"}


def test_vanished_subnet_is_marked_once(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A subnet that was deleted without an event is NOT_APPLICABLE and DELETED, and the next sweep reports nothing."""
    rule.sweep()
    builder.ec2.delete_subnet(SubnetId=vpc.subnet)
    assert posted(rule) == [vpc.subnet]
    assert rule.held()[vpc.subnet][:2] == ("NOT_APPLICABLE", "DELETED")
    assert posted(rule) == []
    rule.loop.results.clean_up()
    assert posted(rule) == []


def test_subnet_that_lost_its_way_out_is_posted_once(rule: Rule, builder: Builder, vpc: Private) -> None:
    """NOT_APPLICABLE is reported only while AWS Config has another result for the subnet."""
    rule.sweep()
    builder.ec2.delete_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0")
    assert posted(rule) == [vpc.subnet]
    assert rule.held()[vpc.subnet][:2] == ("NOT_APPLICABLE", "NO_ROUTE")
    rule.loop.results.clean_up()
    assert vpc.subnet not in rule.held()
    assert posted(rule) == []


def test_subnet_made_during_the_sweep_is_not_taken_for_vanished(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A subnet whose verdict arrives during the sweep is not reported as deleted."""
    rule.sweep()
    made: list[str] = []
    rule.sandbox.faults.before("ec2", "DescribeSubnets", lambda: made.append(builder.subnet(vpc.vpc, vpc.table)))
    assert set(posted(rule)) == set(made)


@pytest.mark.usefixtures("vpc")
def test_rule_that_was_deleted_meanwhile_fails(rule: Rule) -> None:
    """If the rule does not exist, the invocation fails with a message."""
    rule.sandbox.client("config").delete_config_rule(ConfigRuleName=rule.loop.rule.name)
    with pytest.raises(Exception, match="config:GetComplianceDetailsByConfigRule failed with NoSuchConfigRule"):
        rule.sweep()
