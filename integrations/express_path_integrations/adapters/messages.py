"""Read the messages of a queue: events of the rule and of AWS Config, as EventBridge sends them.

A queue invokes the function with a list of records
(https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html). Each body is one event.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from express_path.errors import RecordError
from express_path.events.parser import parse_verdict_event
from express_path.events.schema import SOURCE, PublishedVerdict, RuleRun, VerdictChanged, VerdictSnapshot
from express_path.fields import Description, identifier, json_text, required_object, time
from express_path_integrations.dated_verdicts import DatedVerdict
from express_path_integrations.findings import RuleScope

COMPLIANCE_CHANGE = "Config Rules Compliance Change"
"""https://docs.aws.amazon.com/config/latest/developerguide/monitor-config-with-cloudwatchevents.html"""
CLOCK_SKEW = timedelta(minutes=5)
"""How far ahead an event's time may be. An event from the future would hide every later one."""


@dataclass(frozen=True, slots=True)
class News:
    """What one message says: changed verdicts, verdicts of a sweep, subnets to look up in AWS Config, or a sweep's end.

    swept_at is the time of a sweep that is complete.
    """

    changed: tuple[DatedVerdict, ...] = ()
    snapshot: tuple[DatedVerdict, ...] = ()
    triggers: tuple[DatedVerdict, ...] = ()
    swept_at: datetime | None = None


def parse_message(message: Description, scope: RuleScope, now: datetime) -> News:
    """Read one message. Events of other rules, accounts, and Regions are no news. Raise RecordError."""
    event = json_text(message, "body", "message")
    if event.get("source") == SOURCE:
        return _of_rule(event, scope, now)
    if event.get("detail-type") != COMPLIANCE_CHANGE:
        allowed = f"an event of express-path, or {COMPLIANCE_CHANGE}"
        raise RecordError("event", "detail-type", event.get("detail-type"), allowed)
    return _of_config(event, scope)


def _of_rule(event: Description, scope: RuleScope, now: datetime) -> News:
    parsed = parse_verdict_event(event)
    run = parsed.run
    if (run.account_id, run.region, run.rule_name) != (scope.account_id, scope.region, scope.rule_name):
        return News()
    if run.ordering_timestamp > now + CLOCK_SKEW:
        found = run.ordering_timestamp.isoformat()
        raise RecordError("detail", "orderingTimestamp", found, "a time that is not in the future")
    if isinstance(parsed, VerdictChanged):
        return News(changed=(_dated_verdict(run, parsed.new),))
    if isinstance(parsed, VerdictSnapshot):
        return News(snapshot=tuple(_dated_verdict(run, published) for published in parsed.verdicts))
    return News(swept_at=run.ordering_timestamp)


def _dated_verdict(run: RuleRun, published: PublishedVerdict) -> DatedVerdict:
    verdict = published.verdict
    return DatedVerdict(verdict.subnet_id, run.ordering_timestamp, verdict, published.remedy, tags=published.tags)


def _of_config(event: Description, scope: RuleScope) -> News:
    """Return the subnet to look up. The result in the event is not used, because such events are best effort."""
    detail = required_object(event, "detail", "event")
    named = (detail.get("awsAccountId"), detail.get("awsRegion"), detail.get("configRuleName"))
    if named != (scope.account_id, scope.region, scope.rule_name):
        return News()
    subnet_id = identifier({"subnetId": detail.get("resourceId")}, "subnetId", "detail")
    result = required_object(detail, "newEvaluationResult", "detail")
    identified = required_object(result, "evaluationResultIdentifier", "detail.newEvaluationResult")
    at = time(identified, "orderingTimestamp", "detail.newEvaluationResult.evaluationResultIdentifier")
    return News(triggers=(DatedVerdict(subnet_id, at, None),))
