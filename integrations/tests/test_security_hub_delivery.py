"""From a change of the network to the finding: the template's EventBridge rules and queue, and both functions."""

import json

import pytest

from express_path.handlers.security_hub import compose_services, handler
from sandbox.event_sources import poll
from sandbox.security_hub import findings_of
from sandbox.security_hub.announcements import announce
from sandbox.security_hub.config_integration import forward_results
from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.rule import Context, Rule
from tests.support.template import expanded

pytestmark = pytest.mark.slow


class Delivery:
    """The template's queue and EventBridge rules of a mode, and the function behind them."""

    def __init__(self, sandbox: Sandbox, mode: str) -> None:
        """Deploy them, and enable Security Hub."""
        self.sandbox, template = sandbox, expanded(SecurityHubMode=mode)
        sandbox.client("securityhub").enable_security_hub()
        sqs, events = sandbox.client("sqs"), sandbox.client("events")
        name = template.deployed("<SecurityHubQueue>")
        self.queue_url = sqs.create_queue(QueueName=name)["QueueUrl"]
        for logical_id, resource in template.resources.items():
            if resource["Type"] == "AWS::Events::Rule" and logical_id.startswith("SecurityHub"):
                properties = template.deployed(resource["Properties"])
                events.put_rule(Name=logical_id, EventPattern=json.dumps(properties["EventPattern"]))
                [target] = properties["Targets"]
                events.put_targets(Rule=logical_id, Targets=[{"Id": target["Id"], "Arn": target["Arn"]}])
        variables = template.properties("SecurityHubFunction")["Environment"]["Variables"]
        self.services = compose_services({**variables, "AWS_REGION": sandbox.region}, sandbox.account_id)

    def settle(self) -> int:
        """Deliver everything until the queue is empty, and return the number of messages."""
        delivered = 0
        while True:
            announce(self.sandbox.account_id, self.sandbox.region)
            polled = poll(self.sandbox, self.queue_url, lambda event: handler(event, Context(), self.services))
            assert polled.error is None
            assert polled.returned == ()
            if not polled.deleted:
                return delivered
            delivered += len(polled.deleted)

    def findings(self) -> dict[str, tuple[str, str, str]]:
        """Return record state, workflow status, and text of each finding that names a reason, by subnet."""
        found = {}
        for row in findings_of(self.sandbox.account_id, self.sandbox.region).all():
            text = row.get("Note", {}).get("Text", "") if "aws/config" in row["ProductArn"] else row["Description"]
            if text:
                subnet_id = row["Resources"][0]["Id"].rpartition("/")[2]
                found[subnet_id] = (row["RecordState"], row["Workflow"]["Status"], text)
        return found


@pytest.mark.parametrize(
    ("mode", "closed"), [("ENRICH", ("ACTIVE", "RESOLVED")), ("RICH", ("ARCHIVED", "NEW"))], ids=["ENRICH", "RICH"]
)
def test_change_of_the_network_reaches_the_finding(
    sandbox: Sandbox, builder: Builder, mode: str, closed: tuple[str, str]
) -> None:
    """The rule's own events match the template's patterns, and the finding follows the verdict of the subnet."""
    delivery, rule, vpc = Delivery(sandbox, mode), Rule(sandbox), Private(builder)
    rule.changes()
    if mode == "ENRICH":
        forward_results(sandbox.account_id, sandbox.region)
    assert delivery.settle() > 0
    assert rule.sweep() == {}
    delivery.settle()
    record_state, workflow, text = delivery.findings()[vpc.subnet]
    assert (record_state, workflow) == ("ACTIVE", "NEW")
    assert vpc.nat in text
    assert vpc.table in text
    builder.tag(vpc.subnet, "express-path:exclude", "yes")
    rule.changes()
    delivery.settle()
    state = delivery.findings()[vpc.subnet]
    assert state[:2] == closed
    assert "EXCLUDED" in state[2]
    rule.loop.results.clean_up()
    rule.sweep()
    assert delivery.settle() >= 2
    assert delivery.findings()[vpc.subnet] == state
