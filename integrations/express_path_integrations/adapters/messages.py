"""Read the messages of a queue: events of the rule and of AWS Config, as EventBridge sends them.

A queue invokes the function with a list of records
(https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html). Each body is one event.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from express_path.domain.network.ids import wrong_form
from express_path.errors import EventError
from express_path.events.checks import checked, checked_json, time_of
from express_path.events.parser import parse_verdict_event, verdict_of
from express_path.events.schema import (
    SOURCE,
    PublishedVerdict,
    RuleRun,
    VerdictChanged,
    VerdictSnapshot,
)
from express_path_integrations.findings import RuleScope
from express_path_integrations.observations import Observation

COMPLIANCE_CHANGE = "Config Rules Compliance Change"
"""https://docs.aws.amazon.com/config/latest/developerguide/monitor-config-with-cloudwatchevents.html"""
CLOCK_SKEW = timedelta(minutes=5)
"""How far ahead an event's time may be. An event from the future would hide every later one."""


@dataclass(frozen=True, slots=True)
class News:
    """What one message says: changed verdicts, verdicts of a sweep, subnets to look up in AWS Config, or a sweep's end.

    swept_at is the time of a sweep that is complete.
    """

    changed: tuple[Observation, ...] = ()
    snapshot: tuple[Observation, ...] = ()
    triggers: tuple[Observation, ...] = ()
    swept_at: datetime | None = None


def parse_message(body: object, scope: RuleScope, now: datetime) -> News:
    """Read one message. Events of other rules, accounts, and Regions are no news. Raise EventError."""
    event = checked_json(body, "Records.body")
    if event.get("source") == SOURCE:
        return _of_rule(event, scope, now)
    if event.get("detail-type") != COMPLIANCE_CHANGE:
        raise EventError("detail-type", event.get("detail-type"), f"an event of express-path, or {COMPLIANCE_CHANGE}")
    return _of_config(event, scope)


def _of_rule(event: Mapping[str, Any], scope: RuleScope, now: datetime) -> News:
    parsed = parse_verdict_event(event)
    run = parsed.run
    if (run.account_id, run.region, run.rule_name) != (scope.account_id, scope.region, scope.rule_name):
        return News()
    if run.ordering_timestamp > now + CLOCK_SKEW:
        raise EventError(
            "detail.orderingTimestamp", run.ordering_timestamp.isoformat(), "a time that is not in the future"
        )
    if isinstance(parsed, VerdictChanged):
        return News(changed=(_observation(run, parsed.new),))
    if isinstance(parsed, VerdictSnapshot):
        return News(snapshot=tuple(_observation(run, verdict) for verdict in parsed.verdicts))
    return News(swept_at=run.ordering_timestamp)


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
