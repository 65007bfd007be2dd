"""The integrations' EventBridge rules, queues, and functions, as their template wires them."""

import json
from collections.abc import Callable
from typing import Any

from express_path_integrations.handlers import ocsf, security_hub
from integrations.tests.siem import deploy_ocsf, received
from sandbox.dynamic import Client
from sandbox.event_sources import poll
from sandbox.security_hub import findings_of
from sandbox.server import Sandbox
from tests.support.rule import Context
from tests.support.template import INTEGRATIONS, expanded

BUS = "express-path-s3express-no-nat-path"


class Delivery:
    """The integrations' queues and EventBridge rules, and the functions behind them. The rule's bus must exist."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Deploy them, and enable Security Hub."""
        self.sandbox = sandbox
        template = expanded(INTEGRATIONS, SecurityHubMode="RICH", OcsfEvents="ON")
        sandbox.client("securityhub").enable_security_hub()
        self.sqs: Client = sandbox.client("sqs")
        events: Client = sandbox.client("events")
        deploy_ocsf(sandbox, template)
        self.queues: dict[str, str] = {}
        for name in ("SecurityHub", "Ocsf"):
            queue = template.deployed(f"<{name}Queue>")
            policy = template.deployed(template.properties(f"{name}QueuePolicy")["PolicyDocument"])
            self.queues[name] = self.sqs.create_queue(QueueName=queue, Attributes={"Policy": json.dumps(policy)})[
                "QueueUrl"
            ]
        for logical_id, resource in template.resources.items():
            if resource["Type"] == "AWS::Events::Rule":
                properties = template.deployed(resource["Properties"])
                bus, rule = properties.get("EventBusName", "default"), template.deployed(f"<{logical_id}>")
                events.put_rule(Name=rule, EventBusName=bus, EventPattern=json.dumps(properties["EventPattern"]))
                [target] = properties["Targets"]
                targets = [{"Id": target["Id"], "Arn": target["Arn"]}]
                events.put_targets(Rule=rule, EventBusName=bus, Targets=targets)
        self.handlers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        for name, module in (("SecurityHub", security_hub), ("Ocsf", ocsf)):
            variables = template.deployed(template.properties(f"{name}Function")["Environment"]["Variables"])
            services = module.compose_services({**variables, "AWS_REGION": sandbox.region}, sandbox.account_id)
            self.handlers[name] = lambda event, module=module, services=services: module.handler(
                event, Context(), services
            )

    def settle(self) -> int:
        """Deliver everything until the queues are empty, and return the number of messages."""
        delivered = 0
        for name, url in self.queues.items():
            while True:
                polled = poll(self.sandbox, url, self.handlers[name])
                assert polled.error is None
                assert polled.returned == ()
                if not polled.deleted:
                    break
                delivered += len(polled.deleted)
        return delivered

    def findings(self) -> dict[str, tuple[str, str]]:
        """Return the record state and the text of each finding in Security Hub, by subnet."""
        rows = findings_of(self.sandbox.account_id, self.sandbox.region).all()
        return {row["Resources"][0]["Id"].rpartition("/")[2]: (row["RecordState"], row["Description"]) for row in rows}

    def published(self) -> list[tuple[str, str, str]]:
        """Return subnet, activity, and status code of each OCSF finding since the last call of this method."""
        found = [
            (row["resources"][0]["name"], row["activity_name"], row["compliance"].get("status_code", ""))
            for row in received(self.sandbox)
        ]
        return sorted(found)
