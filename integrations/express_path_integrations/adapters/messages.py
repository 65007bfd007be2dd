"""Read the messages of a queue: events of the rule and of AWS Config, as EventBridge sends them.

A queue invokes the function with a list of records
(https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html). Each body is one event. Anyone who can put events on the
bus, or messages in the queue, can write them, so they only say where to look.
"""

from dataclasses import dataclass
from datetime import datetime

from express_path.errors import RecordError
from express_path.events.parser import parse_verdict_event
from express_path.events.schema import SOURCE, SweepCompleted, VerdictChanged
from express_path.fields import Description, identifier, json_text, not_in_future, required_object
from express_path_integrations.findings import RuleScope

COMPLIANCE_CHANGE = "Config Rules Compliance Change"
"""https://docs.aws.amazon.com/config/latest/developerguide/monitor-config-with-cloudwatchevents.html"""


@dataclass(frozen=True, slots=True)
class News:
    """What one message says: which subnet to look up in AWS Config, if any, or that a sweep is complete."""

    subnet_id: str = ""
    swept: bool = False


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
    not_in_future(run.ordering_timestamp, now, "orderingTimestamp", "detail")
    if isinstance(parsed, VerdictChanged):
        return News(parsed.new.verdict.subnet_id)
    return News(swept=isinstance(parsed, SweepCompleted))


def _of_config(event: Description, scope: RuleScope) -> News:
    """Return the subnet to look up. The result in the event is not used, because such events are best effort."""
    detail = required_object(event, "detail", "event")
    named = (detail.get("awsAccountId"), detail.get("awsRegion"), detail.get("configRuleName"))
    if named != (scope.account_id, scope.region, scope.rule_name):
        return News()
    return News(identifier({"subnetId": detail.get("resourceId")}, "subnetId", "detail"))
