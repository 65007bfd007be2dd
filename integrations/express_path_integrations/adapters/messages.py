"""Read the messages of a queue: events of the rule and of AWS Config, as EventBridge sends them.

A queue invokes the function with a list of records
(https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html). Each body is one event. Anyone who can put events on the
bus, or messages in the queue, can write them, so they only say where to look.
"""

from dataclasses import dataclass
from datetime import datetime

from express_path.errors import RecordError
from express_path.events.schema import SCHEMA_VERSION, SOURCE, SWEEP_COMPLETED, VERDICT_CHANGED
from express_path.fields import Description, identifier, json_text, not_in_future, required_object, time, word
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
    """Read an event of the rule.

    The account and the Region of the detail must be those of the event, which EventBridge sets, and not whoever puts it
    on a bus.
    """
    detail_type = word(event, "detail-type", "event", (VERDICT_CHANGED, SWEEP_COMPLETED))
    detail = required_object(event, "detail", "event")
    if detail.get("schemaVersion") != SCHEMA_VERSION:
        raise RecordError("detail", "schemaVersion", detail.get("schemaVersion"), str(SCHEMA_VERSION))
    account_id, region, rule_name = (identifier(detail, name, "detail") for name in ("accountId", "region", "ruleName"))
    word(event, "account", "event", [account_id])
    word(event, "region", "event", [region])
    ordering_timestamp = time(detail, "orderingTimestamp", "detail")
    if (account_id, region, rule_name) != (scope.account_id, scope.region, scope.rule_name):
        return News()
    not_in_future(ordering_timestamp, now, "orderingTimestamp", "detail")
    if detail_type == SWEEP_COMPLETED:
        return News(swept=True)
    return News(identifier(detail, "subnetId", "detail"))


def _of_config(event: Description, scope: RuleScope) -> News:
    """Return the subnet to look up. The result in the event is not used, because such events are best effort."""
    detail = required_object(event, "detail", "event")
    named = (detail.get("awsAccountId"), detail.get("awsRegion"), detail.get("configRuleName"))
    if named != (scope.account_id, scope.region, scope.rule_name):
        return News()
    return News(identifier({"subnetId": detail.get("resourceId")}, "subnetId", "detail"))
