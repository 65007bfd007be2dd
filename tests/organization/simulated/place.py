"""The rule as it is deployed in one account and Region of the simulation."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from config_rule_sandbox.aws_lambda.event_sources import Polled, poll
from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stack_sets import deploy
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudwatch.printed import extracted
from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox
from express_path import evaluation
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.verdict.fanout import ResourceType
from express_path.handlers import evaluate
from express_path_integrations import updating
from express_path_integrations.adapters.security_hub import OwnFindings
from express_path_integrations.findings import RuleScope
from express_path_integrations.handlers import security_hub
from tests.organization.simulated.network import Network
from tests.organization.simulated.runtime import Context, Runtime
from tests.organization.simulated.trouble import Outage, StoppedError, Trouble

RULE_NAME = "s3express-no-nat-path"
RULE = RuleDefinition(RULE_NAME, "express-path-evaluate", tuple(kind.value for kind in ResourceType))
TEMPLATE = Path(__file__).parents[3] / "integrations" / "template.yaml"
DEPLOYED = (
    "SecurityHubQueue",
    "SecurityHubQueuePolicy",
    "FailedMessagesQueue",
    "FailedMessagesQueuePolicy",
    "SecurityHubVerdicts",
    "SecurityHubComplianceChanges",
)
"""The queues, their policies, and the rules of EventBridge that the simulation deploys of the integrations. The functions run here."""
BUS = f"express-path-{RULE_NAME}"
"""The event bus that template.yaml creates."""
CONSUMER = "consumer"
"""The name of the function of the organization's own consumer."""


@cache
def _template() -> str:
    """Return the part of the integrations' template that is deployed, as JSON."""
    whole = read(TEMPLATE.read_text(encoding="utf-8"))
    resources = {logical_id: whole["Resources"][logical_id] for logical_id in DEPLOYED}
    return json.dumps({"Parameters": whole["Parameters"], "Conditions": whole["Conditions"], "Resources": resources})


@dataclass
class Place:
    """One account and Region: its network, AWS Config with the rule, and the queues and functions of the stacks."""

    sandbox: Sandbox
    runtime: Runtime
    trouble: Trouble
    outage: Outage
    account_id: str
    region: str
    random: Random
    gauges: dict[str, float] = field(default_factory=dict)
    unpublished: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Build the network and deploy the rule."""
        self.key = (self.account_id, self.region)
        self._seen = self.sandbox.seen_from(self.account_id, self.region)
        self._context = Context(self.account_id, self.region)
        self.network = Network(self.sandbox, self.account_id, self.region, self.random)
        account = Account(self.sandbox, *self.key)
        account.call("events", "create_event_bus", Name=BUS)
        stack = deploy(self.sandbox, _template(), {}, *self.key)
        self.urls: Mapping[str, str] = {name: row.physical_id for name, row in stack.resources.items()}
        account.call("securityhub", "enable_security_hub")
        account.call("events", "put_rule", Name=CONSUMER, EventBusName=BUS, EventPattern='{"source": ["express-path"]}')
        target = {"Id": CONSUMER, "Arn": f"arn:aws:lambda:{self.region}:{self.account_id}:function:{CONSUMER}"}
        account.call("events", "put_targets", Rule=CONSUMER, EventBusName=BUS, Targets=[target])
        self._compose()
        with acting_in(self.account_id):
            self.loop = ConfigLoop(self._seen, self.evaluate, rule=RULE)
            self.loop.baseline()
        self.loop.take()

    def _compose(self) -> None:
        """Make the services of the functions, as their cold starts do."""
        aws = self.runtime.aws(self.region)
        scope = RuleScope(self.account_id, self.region, RULE_NAME)
        self.services = evaluation.RuleServices(aws, SnapshotReader(aws), BUS)
        self._findings = updating.IntegrationServices(aws, scope, OwnFindings(aws.security_hub, scope))

    def look(self) -> list[dict[str, Any]]:
        """Let AWS Config record what changed, and return the invoking events."""
        with acting_in(self.account_id):
            self.loop.notice()
        return self.loop.take()

    def evaluate(self, event: dict[str, Any]) -> Any:  # a function may return anything
        """Invoke the rule's function once."""
        with self.trouble.around("rule", self.outage):
            try:
                answer, printed = self.runtime.invoke(
                    self.account_id, lambda: evaluate.handler(event, self._context, self.services)
                )
            except StoppedError:
                self.unpublished |= set(self._posted())
                raise
        datapoints = list(extracted(printed.splitlines()))
        self.sandbox.metrics.add(datapoints, (self.account_id, self.region))
        if '"events not published"' in printed:
            self.unpublished |= set(self._posted())
        self.gauges |= {point.name: point.value for point in datapoints}
        return answer

    def poll_security_hub(self) -> Polled:
        """Let Lambda poll the queue of Security Hub's function, and invoke it. Sometimes it stops when it is done."""

        def handle(event: dict[str, Any]) -> dict[str, Any]:
            answer = security_hub.handler(event, self._context, self._findings)
            if self.trouble.often("stopped after its work", 0.05):
                raise StoppedError("the function was stopped after its work")
            return answer

        return self._poll("SecurityHubQueue", "security hub", handle)

    def purge_failed_messages(self) -> int:
        """Purge the queue of failed messages, as an operator does; return how many there were."""
        sqs: Client = direct_client(self.sandbox, "sqs", self.region)
        url, purged = self.urls["FailedMessagesQueue"], 0
        with acting_in(self.account_id):
            while messages := sqs.receive_message(QueueUrl=url).get("Messages", []):
                for message in messages:
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                    purged += 1
        return purged

    def stored(self, subnet_id: str) -> Mapping[str, Any] | None:
        """Return AWS Config's stored result for a subnet."""
        config: Client = direct_client(self.sandbox, "config", self.region)
        with acting_in(self.account_id):
            rows = config.get_compliance_details_by_resource(ResourceType="AWS::EC2::Subnet", ResourceId=subnet_id)
        return next(iter(rows["EvaluationResults"]), None)

    def _posted(self) -> list[str]:
        """Return the subnets that the last invocation reported."""
        calls = self.sandbox.calls.of("config", "PutEvaluations")
        return [row["ComplianceResourceId"] for call in calls for row in call.parameters["Evaluations"]]

    def _poll(self, queue: str, function: str, handle: Callable[[dict[str, Any]], dict[str, Any]]) -> Polled:
        def invoke(event: dict[str, Any]) -> dict[str, Any]:
            with self.trouble.around(function, self.outage):
                answer: dict[str, Any] = self.runtime.invoke(self.account_id, lambda: handle(event))[0]
                return answer

        with acting_in(self.account_id):
            return poll(self._seen, self.urls[queue], invoke)
