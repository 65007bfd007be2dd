"""The integrations' EventBridge rules, queue, and function, as their template wires them."""

import json
from typing import Any

from config_rule_sandbox.aws_lambda.event_sources import poll
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.security_hub.findings import findings_of
from config_rule_sandbox.server import Sandbox
from express_path_integrations.handlers import security_hub
from tests.support.rule import Context
from tests.support.template import INTEGRATIONS, expanded

BUS = "express-path-s3express-no-nat-path"


class Delivery:
    """The queue and the EventBridge rules, and the function behind them. The rule's bus must exist."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Deploy them, and enable Security Hub."""
        self.sandbox = sandbox
        template = expanded(INTEGRATIONS)
        sandbox.client("securityhub").enable_security_hub()
        self.sqs: Client = sandbox.client("sqs")
        events: Client = sandbox.client("events")
        policy = json.dumps(template.deployed(template.properties("SecurityHubQueuePolicy")["PolicyDocument"]))
        queue = template.deployed("<SecurityHubQueue>")
        self.queue = self.sqs.create_queue(QueueName=queue, Attributes={"Policy": policy})["QueueUrl"]
        for logical_id, resource in template.resources.items():
            if resource["Type"] == "AWS::Events::Rule":
                properties = template.deployed(resource["Properties"])
                bus, rule = properties.get("EventBusName", "default"), template.deployed(f"<{logical_id}>")
                events.put_rule(Name=rule, EventBusName=bus, EventPattern=json.dumps(properties["EventPattern"]))
                [target] = properties["Targets"]
                targets = [{"Id": target["Id"], "Arn": target["Arn"]}]
                events.put_targets(Rule=rule, EventBusName=bus, Targets=targets)
        variables = template.deployed(template.properties("SecurityHubFunction")["Environment"]["Variables"])
        self.services = security_hub.compose_services({**variables, "AWS_REGION": sandbox.region}, sandbox.account_id)

    def settle(self) -> int:
        """Deliver everything until the queue is empty, and return the number of messages."""
        delivered = 0
        while True:
            polled = poll(self.sandbox, self.queue, self.invoke)
            assert polled.error is None
            assert polled.returned == ()
            if not polled.deleted:
                return delivered
            delivered += len(polled.deleted)

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """Invoke the function."""
        answer: dict[str, Any] = security_hub.handler(event, Context(), self.services)
        return answer

    def findings(self) -> dict[str, tuple[str, str]]:
        """Return the record state and the text of each finding in Security Hub, by subnet."""
        rows = findings_of(self.sandbox.account_id, self.sandbox.region).all()
        return {row["Resources"][0]["Id"].rpartition("/")[2]: (row["RecordState"], row["Description"]) for row in rows}
