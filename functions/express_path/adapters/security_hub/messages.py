"""Read the messages of the queue: events of the rule, of AWS Config, and of Security Hub, as EventBridge sends them.

A queue invokes the function with a list of records
(https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html). Each body is one event.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from express_path.adapters.security_hub.records import native_finding
from express_path.adapters.security_hub.rule_findings import RuleScope
from express_path.domain.findings.observations import Observation
from express_path.domain.network.ids import wrong_form
from express_path.errors import EventError
from express_path.events.checks import checked, checked_json, time_of
from express_path.events.parser import parse_verdict_event, verdict_of
from express_path.events.schema import (
    SOURCE,
    PublishedVerdict,
    RuleRun,
    SweepCompleted,
    VerdictChanged,
    VerdictSnapshot,
)

COMPLIANCE_CHANGE = "Config Rules Compliance Change"
"""https://docs.aws.amazon.com/config/latest/developerguide/monitor-config-with-cloudwatchevents.html"""
FINDINGS_IMPORTED = "Security Hub Findings - Imported"
"""https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-cwe-event-formats.html"""


@dataclass(frozen=True, slots=True)
class News:
    """What one message says: verdicts, subnets to look up in AWS Config, and the time of a sweep that is complete."""

    observations: tuple[Observation, ...] = ()
    triggers: tuple[Observation, ...] = ()
    swept_at: datetime | None = None


def parse_message(body: object, scope: RuleScope) -> News:
    """Read one message. Events of other rules, accounts, and Regions are no news. Raise EventError."""
    event = checked_json(body, "Records.body")
    if event.get("source") == SOURCE:
        return _of_rule(event, scope)
    readers = {COMPLIANCE_CHANGE: _of_config, FINDINGS_IMPORTED: _of_security_hub}
    detail_type = event.get("detail-type")
    if not isinstance(detail_type, str) or detail_type not in readers:
        raise EventError("detail-type", detail_type, "an event of express-path, or one of " + ", ".join(readers))
    return readers[detail_type](event, scope)


def _of_rule(event: Mapping[str, Any], scope: RuleScope) -> News:
    parsed = parse_verdict_event(event)
    run = parsed.run
    if (run.account_id, run.region, run.rule_name) != (scope.account_id, scope.region, scope.rule_name):
        return News()
    if isinstance(parsed, VerdictChanged):
        return News((_observation(run, parsed.new),))
    if isinstance(parsed, VerdictSnapshot):
        # The findings of other subnets are closed when the sweep is complete.
        seen = (_observation(run, verdict) for verdict in parsed.verdicts)
        return News(tuple(observation for observation in seen if observation.fails))
    return _of_sweep(parsed)


def _of_sweep(sweep: SweepCompleted) -> News:
    return News(swept_at=sweep.run.ordering_timestamp)


def _observation(run: RuleRun, found: PublishedVerdict) -> Observation:
    return Observation(found.subnet_id, run.ordering_timestamp, verdict_of(run, found), found.remedy)


def _of_config(event: Mapping[str, Any], scope: RuleScope) -> News:
    """Return the subnet to look up. The result in the event is not used, because such events are best effort."""
    detail = checked(event.get("detail"), "detail")
    named = (detail.get("awsAccountId"), detail.get("awsRegion"), detail.get("configRuleName"))
    if named != (scope.account_id, scope.region, scope.rule_name):
        return News()
    subnet_id = detail.get("resourceId")
    if not isinstance(subnet_id, str) or wrong_form(subnet_id, "subnetId"):
        raise EventError("detail.resourceId", subnet_id, "the ID of a subnet")
    result = checked(detail.get("newEvaluationResult"), "detail.newEvaluationResult")
    identifier = checked(
        result.get("evaluationResultIdentifier"), "detail.newEvaluationResult.evaluationResultIdentifier"
    )
    return News(
        triggers=(Observation(subnet_id, time_of(identifier.get("orderingTimestamp"), "orderingTimestamp"), None),)
    )


def _of_security_hub(event: Mapping[str, Any], scope: RuleScope) -> News:
    """Return the subnets whose native finding does not agree with what we added; most events are our own updates."""
    findings = checked(event.get("detail"), "detail").get("findings")
    if not isinstance(findings, list):
        raise EventError("detail.findings", findings, "a list of findings")
    triggers = []
    for row in findings:
        found = checked(row, "detail.findings")
        named = (found.get("AwsAccountId"), found.get("Region"), found.get("Title"))
        if named != (scope.account_id, scope.region, scope.rule_name):
            continue
        finding = native_finding(found)
        if not finding.is_settled:
            triggers.append(Observation(finding.subnet_id, time_of(event.get("time"), "time"), None))
    return News(triggers=tuple(triggers))
