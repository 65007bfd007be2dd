"""From a change of the network to findings: the templates' EventBridge rules, queue, and function, with lost events."""

import pytest

from config_rule_sandbox.server import Sandbox
from integrations.tests.delivery import BUS, Delivery
from tests.support.network import Builder, Private
from tests.support.rule import Rule

pytestmark = pytest.mark.slow


@pytest.fixture
def delivery(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Delivery:
    """Return the integrations; the rule publishes on the bus that its template creates."""
    monkeypatch.setenv("EVENT_BUS_NAME", BUS)
    sandbox.client("events").create_event_bus(Name=BUS)
    return Delivery(sandbox)


def test_change_of_the_network_reaches_the_findings(delivery: Delivery, sandbox: Sandbox, builder: Builder) -> None:
    """The rule's own events match the template's patterns, and the findings follow the verdict of the subnet."""
    rule, vpc = Rule(sandbox), Private(builder)
    rule.changes()
    assert delivery.settle() > 0
    state, text = delivery.findings()[vpc.subnet]
    assert state == "ACTIVE"
    assert f"-> {vpc.nat} in {vpc.table}" in text
    builder.tag(vpc.subnet, "express-path:exclude", "yes")
    rule.changes()
    delivery.settle()
    found = delivery.findings()[vpc.subnet]
    assert found[0] == "ARCHIVED"
    assert "EXCLUDED" in found[1]
    rule.loop.results.clean_up()
    rule.sweep()
    assert delivery.settle() > 0
    assert delivery.findings()[vpc.subnet] == found


def test_the_next_sweep_makes_lost_events_good_exactly_once(
    delivery: Delivery, sandbox: Sandbox, builder: Builder
) -> None:
    """While EventBridge takes nothing, subnets are added, fixed, and deleted; one sweep later, everybody knows."""
    rule = Rule(sandbox)
    added, fixed, gone, kept = (Private(builder) for _ in range(4))
    builder.endpoint(added.vpc, added.table)
    rule.sweep()
    delivery.settle()
    before = delivery.findings()
    assert {fixed.subnet, gone.subnet, kept.subnet} <= before.keys()
    assert added.subnet not in before

    sandbox.eventbridge.fail_entries("InternalFailure")
    [endpoint] = sandbox.client("ec2").describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [added.vpc]}])[
        "VpcEndpoints"
    ]
    sandbox.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[endpoint["VpcEndpointId"]])
    builder.endpoint(fixed.vpc, fixed.table)
    sandbox.client("ec2").delete_subnet(SubnetId=gone.subnet)
    rule.sweep()
    rule.loop.results.clean_up()
    assert delivery.findings() == before

    sandbox.eventbridge.succeed()
    rule.sweep()
    held = hold(delivery)
    delivery.settle()
    after = delivery.findings()
    assert {name: after[name][0] for name in (added.subnet, fixed.subnet, gone.subnet, kept.subnet)} == {
        added.subnet: "ACTIVE",
        fixed.subnet: "ARCHIVED",
        gone.subnet: "ARCHIVED",
        kept.subnet: "ACTIVE",
    }
    for body in reversed(held):
        delivery.sqs.send_message(QueueUrl=delivery.queue, MessageBody=body)
    delivery.settle()
    rule.sweep()
    delivery.settle()
    assert delivery.findings() == after


def hold(delivery: Delivery) -> list[str]:
    """Return the messages that wait in the queue, and leave them there."""
    messages = delivery.sqs.receive_message(QueueUrl=delivery.queue, MaxNumberOfMessages=10)["Messages"]
    for message in messages:
        delivery.sqs.change_message_visibility(
            QueueUrl=delivery.queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
        )
    return [message["Body"] for message in messages]
