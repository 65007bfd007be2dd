"""The scheduled sweep: it reports only what AWS Config does not have yet."""

import pytest

from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Rule


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A private and a public subnet."""
    return Private(builder)


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


def test_second_sweep_posts_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """If nothing changed, the stored results are read, and nothing is reported."""
    builder.subnet(vpc.vpc)
    rule.sweep()
    assert posted(rule) == []
    assert rule.sandbox.calls.of("config", "PutEvaluations") == []


def test_sweep_after_events_posts_nothing(rule: Rule, builder: Builder, vpc: Private) -> None:
    """A change event and the sweep give the same result, so neither replaces the other's."""
    builder.endpoint(vpc.vpc, vpc.table)
    builder.route(vpc.table, "192.0.2.0/30", NatGatewayId=vpc.nat)
    private_nat = builder.nat_gateway(vpc.subnet, ConnectivityType="private")
    builder.subnet(vpc.vpc, builder.table(vpc.vpc, NatGatewayId=private_nat))
    firewall = builder.appliance_endpoint(vpc.vpc, vpc.subnet)
    builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcEndpointId=firewall))
    builder.subnet(vpc.vpc)
    rule.changes()
    assert {result.reason for result in rule.held().values()} == {
        "PARTLY_NAT",
        "NAT_GATEWAY",
        "INTERNET_GATEWAY",
        "NO_ROUTE",
    } or {result.reason for result in rule.held().values()} > {"PARTLY_NAT", "NAT_GATEWAY", "INTERNET_GATEWAY"}
    assert posted(rule) == []


def test_one_change_is_one_evaluation(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The sweep finds a change that sent no event, and reports only that one."""
    Private(builder)
    rule.sweep()
    builder.endpoint(vpc.vpc, vpc.table)
    assert posted(rule) == [vpc.subnet]
    assert rule.held()[vpc.subnet][:2] == ("COMPLIANT", "ENDPOINT")


def test_another_deciding_route_is_a_change(rule: Rule, builder: Builder, vpc: Private) -> None:
    """The annotation names the deciding route, so a change of that route is reported."""
    rule.sweep()
    other = builder.nat_gateway(vpc.public_subnet)
    builder.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=other)
    assert posted(rule) == [vpc.subnet]
    assert other in rule.held()[vpc.subnet].annotation


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


def test_forgotten_results_are_posted_again(rule: Rule, vpc: Private) -> None:
    """After someone deletes the evaluation results, the sweep restores them."""
    rule.sweep()
    rule.sandbox.client("config").delete_evaluation_results(ConfigRuleName=rule.loop.rule.name)
    assert set(posted(rule)) == {vpc.subnet, vpc.public_subnet}


def test_changed_parameter_is_a_change(sandbox: Sandbox, vpc: Private) -> None:
    """After a deployment with other parameters, the next sweep reports the new verdicts."""
    Rule(sandbox).sweep()
    strict = Rule(sandbox, {"publicSubnets": "NON_COMPLIANT"})
    assert posted(strict) == [vpc.public_subnet]
    assert strict.held()[vpc.public_subnet][:2] == ("NON_COMPLIANT", "INTERNET_GATEWAY")


@pytest.mark.usefixtures("vpc")
def test_other_rules_are_not_looked_at(sandbox: Sandbox) -> None:
    """The results of another rule are not mistaken for this rule's."""
    first = Rule(sandbox)
    first.sweep()
    config = sandbox.client("config")
    config.put_config_rule(
        ConfigRule={
            "ConfigRuleName": "another",
            "Source": {"Owner": "AWS", "SourceIdentifier": "SUBNET_AUTO_ASSIGN_PUBLIC_IP_DISABLED"},
        }
    )
    evaluation = {
        "ComplianceResourceType": "AWS::EC2::Subnet",
        "ComplianceResourceId": "subnet-0",
        "ComplianceType": "COMPLIANT",
        "OrderingTimestamp": 100,
    }
    config.put_evaluations(Evaluations=[evaluation], ResultToken=first.loop.results.issue_token("another"))
    assert posted(first) == []


def test_what_config_holds_is_read_to_its_last_page(rule: Rule, builder: Builder, vpc: Private) -> None:
    """Stored results on all pages count: the sweep reports none again and treats no subnet as deleted."""
    builder.make_main(vpc.vpc, vpc.table)
    builder.many_subnets(vpc.vpc, 230)
    rule.sweep()
    assert len(rule.held()) == 232
    assert posted(rule) == []
    assert len(rule.sandbox.calls.of("config", "GetComplianceDetailsByConfigRule")) == 3


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
