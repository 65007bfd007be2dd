"""A consumer of OCSF findings, with the bus, the table, and the function of the template."""

import json
from typing import Any

from express_path_integrations.adapters.ocsf import DETAIL_TYPE, SOURCE
from express_path_integrations.handlers.ocsf import compose_services, handler
from express_path_integrations.updating import IntegrationServices
from integrations.tests.hub import Hub, messages
from sandbox.cloudformation.account import Account
from sandbox.cloudformation.kinds import create_table
from sandbox.config_items.direct import direct_client
from sandbox.dynamic import Client
from sandbox.server import Sandbox
from tests.support.rule import Context
from tests.support.template import INTEGRATIONS, Expanded, expanded

QUEUE = "siem"


class Siem:
    """The consumer, and AWS Config's results and the rule's events, as `hub` makes them."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Deploy everything."""
        self.sandbox, self.hub = sandbox, Hub(sandbox)
        self.template = expanded(INTEGRATIONS, OcsfEvents="ON")
        deploy_ocsf(sandbox, self.template)
        self._services: IntegrationServices | None = None
        sandbox.calls.clear()

    @property
    def services(self) -> IntegrationServices:
        """The services of the function, made when they are needed first."""
        if self._services is None:
            variables = self.template.deployed(self.template.properties("OcsfFunction")["Environment"]["Variables"])
            environment = {**variables, "AWS_REGION": self.sandbox.region}
            made = compose_services(environment, self.sandbox.account_id)
            self._services = IntegrationServices(made.aws, made.scope, made.findings, self.hub.now)
        return self._services

    def deliver(self, *events: dict[str, Any]) -> list[str]:
        """Invoke the function with messages, and return the IDs of those that failed; the first one has the ID 0."""
        answer = handler(messages(events), Context(), self.services)
        return [row["itemIdentifier"] for row in answer["batchItemFailures"]]

    def findings(self) -> list[dict[str, Any]]:
        """Return the findings that arrived since the last call of this method."""
        return received(self.sandbox)


def deploy_ocsf(sandbox: Sandbox, template: Expanded) -> None:
    """Create the table, and the bus with its policy and a rule that sends all findings to a queue of the consumer."""
    events = direct_client(sandbox, "events")
    account = Account(sandbox, sandbox.account_id, sandbox.region)
    create_table(account, template.deployed("<OcsfTable>"), template.deployed(template.properties("OcsfTable")))
    create_queue(sandbox)
    bus = template.deployed("<OcsfBus>")
    events.create_event_bus(Name=bus)
    properties = template.deployed(template.properties("OcsfBusPolicy"))
    statement = {"Sid": properties["StatementId"], **properties["Statement"]}
    events.put_permission(EventBusName=bus, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    pattern = json.dumps({"source": [SOURCE], "detail-type": [DETAIL_TYPE]})
    events.put_rule(Name="siem", EventBusName=bus, EventPattern=pattern)
    arn = f"arn:aws:sqs:{sandbox.region}:{sandbox.account_id}:{QUEUE}"
    events.put_targets(Rule="siem", EventBusName=bus, Targets=[{"Id": "siem", "Arn": arn}])


def create_queue(sandbox: Sandbox) -> None:
    """Create the queue of the consumer, which takes messages from EventBridge."""
    events = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = {"Version": "2012-10-17", "Statement": [{**events, "Resource": "*"}]}
    direct_client(sandbox, "sqs").create_queue(QueueName=QUEUE, Attributes={"Policy": json.dumps(policy)})


def received(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return the findings that wait in the consumer's queue, and delete them."""
    sqs: Client = direct_client(sandbox, "sqs")
    url, found = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"], []
    while waiting := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in waiting:
            found.append(json.loads(message["Body"])["detail"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found
