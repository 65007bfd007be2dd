"""Security Hub for tests: AWS Config's results, the events about them, and the function that writes findings."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from config_rule_sandbox.config.deployment import deploy_rule
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.security_hub.findings import findings_of
from config_rule_sandbox.server import Sandbox
from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.domain.verdict.summary import Summary
from express_path.events.schema import PublishedVerdict, RuleRun, SweepCompleted, VerdictChanged
from express_path.events.writer import EventEntry, changed_entry, completed_entry
from express_path_integrations.handlers.security_hub import compose_services, handler
from express_path_integrations.updating import IntegrationServices
from tests.support.rule import RULE, Context

START = datetime(2026, 11, 22, tzinfo=UTC)
LATER = START + timedelta(days=365)
"""The time at which the function runs first, so that no event is from the future."""
ACCOUNT, REGION = "123456789012", "us-east-1"
SUBNET = "AWS::EC2::Subnet"
Finding = dict[str, Any]


def at(minute: int) -> datetime:
    """Return a time, in minutes after the start of the test."""
    return START + timedelta(minutes=minute)


TAGS = {"owner": "payments", "note": " ", "aws:cloudformation:stack-name": "network"}


def published(subnet_id: str, reason: Reason, table_id: str = "rtb-1") -> PublishedVerdict:
    """Return a verdict as the rule's events contain it, with a path, a route table, and a remedy if it fails."""
    compliance = RuleParameters().compliance_of(reason)
    if compliance is not Compliance.NON_COMPLIANT:
        return _published(subnet_id, None, compliance, reason, f"{reason}: all is well")
    annotation = f"{reason}: S3 Express traffic crosses a NAT gateway; route 0.0.0.0/0 -> nat-1 in {table_id}"
    path = (Hop(TargetKind.NAT_GATEWAY, "nat-1", "0.0.0.0/0"),)
    remedy = Remedy("Associate rtb-1 with vpce-1.", "aws ec2 modify-vpc-endpoint --vpc-endpoint-id vpce-1")
    return replace(_published(subnet_id, table_id, compliance, reason, annotation, path), remedy=remedy, tags=TAGS)


def _published(subnet_id: str, table_id: str | None, *more: Any) -> PublishedVerdict:
    return PublishedVerdict(Verdict(ACCOUNT, REGION, "vpc-1", subnet_id, "use1-az1", table_id, *more))


class Hub:
    """Security Hub and AWS Config in the sandbox, with the function."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Enable Security Hub and deploy the rule."""
        self.sandbox = sandbox
        sandbox.client("securityhub").enable_security_hub()
        deploy_rule(sandbox, RULE)
        self.results = results_of(sandbox.account_id, sandbox.region)
        self.store = findings_of(sandbox.account_id, sandbox.region)
        self._services: IntegrationServices | None = None
        self.clock = LATER
        sandbox.calls.clear()

    def run(self, time: datetime, **changes: str) -> RuleRun:
        """Return the invocation of the rule at a time."""
        known = {"account_id": self.sandbox.account_id, "region": self.sandbox.region, "rule_name": RULE.name}
        return RuleRun(**{**known, **changes}, ordering_timestamp=time)

    def store_result(self, subnet_id: str, reason: Reason, time: datetime, table_id: str = "rtb-1") -> PublishedVerdict:
        """Store what the rule reports to AWS Config."""
        seen = published(subnet_id, reason, table_id)
        seconds = time.timestamp()
        compliance, annotation = seen.verdict.compliance.value, seen.verdict.annotation
        self.results.store(Result(RULE.name, (SUBNET, subnet_id), compliance, seconds, seconds, seconds, annotation))
        return seen

    def evaluate(self, subnet_id: str, reason: Reason, time: datetime) -> dict[str, Any]:
        """Report a verdict to AWS Config as the rule does, and return the rule's event."""
        verdict = self.store_result(subnet_id, reason, time)
        return self.event(changed_entry(VerdictChanged(self.run(time), verdict)))

    def sweep_completed(self, time: datetime) -> dict[str, Any]:
        """Return the event at the end of a sweep."""
        return self.event(completed_entry(SweepCompleted(self.run(time), 1, Summary(0, {}, {}))))

    def event(self, entry: EventEntry) -> dict[str, Any]:
        """Return an event as EventBridge delivers it."""
        return {
            "version": "0",
            "source": entry.source,
            "detail-type": entry.detail_type,
            "account": self.sandbox.account_id,
            "region": self.sandbox.region,
            "time": entry.time.isoformat(),
            "resources": list(entry.resources),
            "detail": json.loads(entry.detail),
        }

    def compliance_change(self, subnet_id: str, time: datetime) -> dict[str, Any]:
        """Return AWS Config's own event, without a result that could be used."""
        qualifier = {"configRuleName": RULE.name, "resourceType": SUBNET, "resourceId": subnet_id}
        identifier = {"evaluationResultQualifier": qualifier, "orderingTimestamp": time.isoformat()}
        detail = {
            "resourceId": subnet_id,
            "resourceType": SUBNET,
            "awsRegion": self.sandbox.region,
            "awsAccountId": self.sandbox.account_id,
            "configRuleName": RULE.name,
            "messageType": "ComplianceChangeNotification",
            "newEvaluationResult": {"evaluationResultIdentifier": identifier, "complianceType": "COMPLIANT"},
        }
        return {"source": "aws.config", "detail-type": "Config Rules Compliance Change", "detail": detail}

    def deliver(self, *events: dict[str, Any]) -> list[str]:
        """Invoke the function with messages, and return the IDs of those that failed; the first one has the ID 0."""
        self._services = self._services or replace(
            compose_services(self.environment, self.sandbox.account_id), now=self.now
        )
        answer = handler(messages(events), Context(), self._services)
        return [row["itemIdentifier"] for row in answer["batchItemFailures"]]

    def now(self) -> datetime:
        """Return the time of the function's clock, which is later at each look."""
        self.clock += timedelta(seconds=1)
        return self.clock

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the function."""
        return {"RULE_NAME": RULE.name, "AWS_REGION": self.sandbox.region}

    def finding(self, subnet_id: str) -> Finding:
        """Return the one finding of a subnet."""
        [found] = [row for row in self.ours() if row["Resources"][0]["Id"].endswith(f"/{subnet_id}")]
        return found

    def ours(self) -> list[Finding]:
        """Return the findings that the function imported."""
        return [row for row in self.store.all() if not row["ProductArn"].endswith("product/aws/config")]

    def live(self) -> dict[str, str]:
        """Return the reason of every finding that asks for work, by subnet."""
        return {
            row["Resources"][0]["Id"].rpartition("/")[2]: self.reason(row)
            for row in self.ours()
            if row["RecordState"] == "ACTIVE" and row["Workflow"]["Status"] in ("NEW", "NOTIFIED")
            if row["Compliance"]["Status"] != "PASSED"
        }

    def reason(self, finding: Finding) -> str:
        """Return the reason that we wrote into a finding, empty if we did not."""
        return str(finding["ProductFields"].get("express-path/reason", ""))

    def writes(self) -> list[str]:
        """Return the operations that wrote findings since the last call of this method, and forget all calls."""
        written = [call.operation for call in self.sandbox.calls.of("securityhub") if call.mutating]
        self.sandbox.calls.clear()
        return written


def messages(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what a queue invokes a function with."""
    records = [
        {"messageId": str(number), "body": json.dumps(event), "eventSource": "aws:sqs"}
        for number, event in enumerate(events)
    ]
    return {"Records": records}
