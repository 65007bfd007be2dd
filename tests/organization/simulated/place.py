"""The rule as it is deployed in one account and Region of the simulation."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from boto3 import Session
from botocore.config import Config

from express_path import evaluation
from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import SnapshotReader
from express_path.handlers import evaluate
from express_path_integrations import updating
from express_path_integrations.adapters.security_hub import OwnFindings
from express_path_integrations.findings import RuleScope
from express_path_integrations.handlers import security_hub
from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import read
from sandbox.cloudwatch import extracted
from sandbox.config_items.direct import acting_in
from sandbox.config_loop import ConfigLoop
from sandbox.event_sources import Polled, poll
from sandbox.server import Sandbox
from sandbox.stacksets import deploy
from tests.organization.simulated.network import Network
from tests.organization.simulated.trouble import Outage, StoppedError, Trouble
from tests.support.rule import RULE, Context

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
BUS = f"express-path-{RULE.name}"
"""The event bus that template.yaml creates."""
CONSUMER = "consumer"
"""The name of the function of the organization's own consumer."""
LOGGERS = (evaluate.logger, security_hub.logger)
ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
"""The SDK's own retries would wait, so they are off: a fault here is one that outlasts them."""


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
    session: Session
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
        self._seen = self.sandbox.seen_from(*self.key)
        self.network = Network(self._seen, self.random)
        self._account = account = Account(self.sandbox, *self.key)
        account.call("events", "create_event_bus", Name=BUS)
        stack = deploy(self.sandbox, _template(), {}, *self.key)
        self.urls: Mapping[str, str] = {name: row.physical_id for name, row in stack.resources.items()}
        account.call("securityhub", "enable_security_hub")
        account.call("events", "put_rule", Name=CONSUMER, EventBusName=BUS, EventPattern='{"source": ["express-path"]}')
        target = {"Id": CONSUMER, "Arn": f"arn:aws:lambda:{self.region}:{self.account_id}:function:{CONSUMER}"}
        account.call("events", "put_targets", Rule=CONSUMER, EventBusName=BUS, Targets=[target])
        self.aws = Aws(self.session, ONE_ATTEMPT, self.region, self.sandbox.credentials(self.account_id))
        scope = RuleScope(*self.key, RULE.name)
        self._services = evaluation.RuleServices(self.aws, SnapshotReader(self.aws), BUS)
        self._findings = updating.IntegrationServices(self.aws, scope, OwnFindings(self.aws.security_hub, scope))
        with acting_in(self.account_id):
            self.loop = ConfigLoop(self._seen, self._evaluate, rule=RULE)
            self.loop.baseline()
        self.loop.take()

    def look(self) -> list[dict[str, Any]]:
        """Let AWS Config record what changed, and return the invoking events."""
        with acting_in(self.account_id):
            self.loop.notice()
        return self.loop.take()

    def _evaluate(self, event: dict[str, Any]) -> Any:  # a function may return anything
        """Invoke the rule's function once."""
        with self.trouble.around("rule", self.outage), _output() as printed:
            self.sandbox.calls.clear()
            try:
                answer = evaluate.handler(event, Context(), self._services)
            except StoppedError:
                self.unpublished |= self._posted()
                raise
        datapoints = list(extracted(printed.getvalue().splitlines()))
        self.sandbox.metrics.add(datapoints, self.key)
        if '"events not published"' in printed.getvalue():
            self.unpublished |= self._posted()
        self.gauges |= {point.name: point.value for point in datapoints}
        return answer

    def poll_security_hub(self) -> Polled:
        """Let Lambda poll the queue of Security Hub's function, and invoke it. Sometimes it stops when it is done."""

        def invoke(event: dict[str, Any]) -> dict[str, Any]:
            with self.trouble.around("security hub", self.outage), _output():
                answer: dict[str, Any] = security_hub.handler(event, Context(), self._findings)
                if self.trouble.often("stopped after its work", 0.05):
                    raise StoppedError("the function was stopped after its work")
                return answer

        with acting_in(self.account_id):
            return poll(self._seen, self.urls["SecurityHubQueue"], invoke)

    def take_failed_messages(self) -> bool:
        """Delete messages from the queue of failed messages, as an operator does; return whether there were any."""
        queue = {"QueueUrl": self.urls["FailedMessagesQueue"]}
        messages = self._account.call("sqs", "receive_message", MaxNumberOfMessages=10, **queue).get("Messages", [])
        for message in messages:
            self._account.call("sqs", "delete_message", ReceiptHandle=message["ReceiptHandle"], **queue)
        return bool(messages)

    def stored(self, subnet_id: str) -> Mapping[str, Any] | None:
        """Return AWS Config's stored result for a subnet."""
        subnet = {"ResourceType": "AWS::EC2::Subnet", "ResourceId": subnet_id}
        rows = self._account.call("config", "get_compliance_details_by_resource", **subnet)
        return next(iter(rows["EvaluationResults"]), None)

    def _posted(self) -> set[str]:
        """Return the subnets that the last invocation reported."""
        calls = self.sandbox.calls.of("config", "PutEvaluations")
        return {row["ComplianceResourceId"] for call in calls for row in call.parameters["Evaluations"]}


@contextmanager
def _output() -> Iterator[io.StringIO]:
    """Collect what the functions print and log."""
    printed = io.StringIO()
    handlers: list[Any] = [logger.registered_handler for logger in LOGGERS]
    streams = [handler.stream for handler in handlers]
    for handler in handlers:
        handler.stream = printed
    try:
        with redirect_stdout(printed):
            yield printed
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.stream = stream
