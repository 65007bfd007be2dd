"""The rule without its handler: services and an event go in, an answer comes out, nothing is reported or logged."""

import os
from datetime import UTC, datetime
from typing import Any

import pytest

from express_path.adapters.config_rule.events import ConfigEvent
from express_path.evaluation import RuleServices, evaluate
from express_path.handlers.evaluate import compose_services
from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Rule

CAPTURED = datetime(2026, 2, 13, 5, 48, 51, 341000, UTC)


@pytest.fixture
def services(sandbox: Sandbox) -> RuleServices:
    """Return services for the sandbox's account."""
    del sandbox  # the environment leads there
    return compose_services(os.environ)


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """Return a VPC with a private subnet behind a NAT gateway, and a public one."""
    return Private(builder)


def event_of(rule_name: str, item: dict[str, Any] | None, diff: dict[str, Any] | None = None) -> ConfigEvent:
    """Return an event of a rule; without an item, a scheduled one."""
    return ConfigEvent("123456789012", rule_name, "token", {}, CAPTURED, left_scope=False, item=item, diff=diff)


def test_answer_has_verdicts_and_what_to_report(sandbox: Sandbox, services: RuleServices, vpc: Private) -> None:
    """The answer has the verdict, the result to report with the event's time, and the network that was read."""
    item = {"resourceType": "AWS::EC2::Subnet", "resourceId": vpc.subnet, "configurationItemStatus": "OK"}
    event = event_of("rule", item)
    sandbox.calls.clear()
    answer = evaluate(services, event)
    [verdict] = answer.verdicts
    [(subnet_id, result)] = answer.results(event).items()
    assert (verdict.subnet_id, verdict.reason) == (vpc.subnet, "NAT_GATEWAY")
    assert (subnet_id, result.compliance) == (vpc.subnet, "NON_COMPLIANT")
    assert (result.annotation, result.ordering_timestamp) == (verdict.annotation, CAPTURED)
    assert answer.snapshot is not None
    assert vpc.table in answer.snapshot.route_tables
    assert sandbox.calls.of("config") == []


def test_change_that_cannot_matter_is_answered_without_a_call(sandbox: Sandbox, services: RuleServices) -> None:
    """The answer is empty and gives the reason, which the handler logs."""
    configuration = {"vpcEndpointType": "Interface", "vpcId": "vpc-1"}
    item = {"resourceType": "AWS::EC2::VPCEndpoint", "resourceId": "vpce-1", "configuration": configuration}
    sandbox.calls.clear()
    answer = evaluate(services, event_of("rule", item))
    assert (answer.verdicts, answer.snapshot, answer.denied) == ([], None, ())
    assert answer.note == "nothing to evaluate: this change cannot change a path"
    assert list(sandbox.calls) == []


def test_denied_reads_are_in_the_answer(
    rule: Rule, services: RuleServices, builder: Builder, vpc: Private, capsys: pytest.CaptureFixture[str]
) -> None:
    """An optional read that is denied is part of the answer, so the handler can log it."""
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    builder.ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway, VpcId=vpc.vpc, SubnetIds=[vpc.subnet])
    builder.route(vpc.table, "192.0.2.0/24", TransitGatewayId=gateway)
    rule.sandbox.faults.deny("ec2", "DescribeTransitGatewayAttachments")
    answer = evaluate(services, event_of(rule.loop.rule.name, None))
    assert answer.denied == ("ec2:DescribeTransitGatewayAttachments",)
    assert vpc.subnet in {verdict.subnet_id for verdict in answer.verdicts}
    assert capsys.readouterr().out == ""


@pytest.fixture
def rule(sandbox: Sandbox) -> Rule:
    """Return a deployed rule whose stored results a scheduled event reads."""
    return Rule(sandbox)
