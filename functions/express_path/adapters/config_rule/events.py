"""The events by which AWS Config invokes the rule, read strictly.

Shapes: https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from express_path.adapters.config_rule.event_checks import checked, checked_json
from express_path.domain.verdict.parameters import RuleParameters, parse_parameters
from express_path.errors import EventError

TEST_TOKEN = "TESTMODE"  # noqa: S105  # the rule development kit's convention for an event that must report nothing
EPOCH_YEAR = 1970
"""No item is older, and AWS Config takes times as seconds since then."""
_CHANGE = "ConfigurationItemChangeNotification"
_OVERSIZED = "OversizedConfigurationItemChangeNotification"
_SCHEDULED = "ScheduledNotification"


@dataclass(frozen=True, slots=True)
class ConfigEvent:
    """One invocation: on behalf of whom, under which parameters, with which answer token, and why.

    item is None for the scheduled notification. Where is_oversized, item is only a summary and must be fetched.
    ordering_timestamp is that of the change, or of the notification.
    """

    account_id: str
    rule_name: str
    result_token: str
    parameters: RuleParameters
    ordering_timestamp: datetime
    left_scope: bool
    item: Mapping[str, Any] | None = None
    diff: Mapping[str, Any] | None = None
    is_oversized: bool = False

    @property
    def is_test(self) -> bool:
        """Whether AWS Config should check the evaluations and store none."""
        return self.result_token == TEST_TOKEN


def parse_event(event: Mapping[str, Any]) -> ConfigEvent:
    """Read an event; raises EventError or ParameterError before anything is evaluated."""
    checked(event, "event")
    invoking = checked_json(event.get("invokingEvent"), "invokingEvent")
    message_type = invoking.get("messageType")
    readers = {_CHANGE: _of_change, _OVERSIZED: _of_oversized, _SCHEDULED: _of_schedule}
    if not isinstance(message_type, str) or message_type not in readers:
        raise EventError("invokingEvent.messageType", message_type, "one of " + ", ".join(readers))
    return readers[message_type](event, invoking)


def _of_change(event: Mapping[str, Any], invoking: Mapping[str, Any]) -> ConfigEvent:
    item = _object(invoking, "configurationItem")
    diff = invoking.get("configurationItemDiff")
    if diff is not None and not isinstance(diff, Mapping):
        raise EventError("invokingEvent.configurationItemDiff", diff, "an object or null")
    return _event(event, item, _time(item, "configurationItem.configurationItemCaptureTime"), item=item, diff=diff)


def _of_oversized(event: Mapping[str, Any], invoking: Mapping[str, Any]) -> ConfigEvent:
    summary = _object(invoking, "configurationItemSummary")
    captured = _time(summary, "configurationItemSummary.configurationItemCaptureTime")
    return _event(event, summary, captured, item=summary, is_oversized=True)


def _of_schedule(event: Mapping[str, Any], invoking: Mapping[str, Any]) -> ConfigEvent:
    return _event(event, invoking, _time(invoking, "notificationCreationTime"))


def _event(
    event: Mapping[str, Any],
    cause: Mapping[str, Any],
    time: datetime,
    **why: Any,  # noqa: ANN401  # fields of ConfigEvent
) -> ConfigEvent:
    """The event whose cause, an item or a notification, happened in the account of the rule."""
    account_id = cause.get("awsAccountId") or event.get("accountId")
    if event.get("accountId") not in (None, account_id):
        raise EventError("awsAccountId", account_id, f"the account of the rule, {event['accountId']}")
    return ConfigEvent(
        account_id=_text({"accountId": account_id}, "accountId"),
        rule_name=_text(event, "configRuleName"),
        result_token=_text(event, "resultToken"),
        parameters=_parameters(event),
        ordering_timestamp=time,
        left_scope=_boolean(event, "eventLeftScope"),
        **why,
    )


def _parameters(event: Mapping[str, Any]) -> RuleParameters:
    """AWS Config leaves ruleParameters out where the rule has none."""
    given = event.get("ruleParameters")
    return parse_parameters({} if given in (None, "") else checked_json(given, "ruleParameters"))


def _object(invoking: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = invoking.get(field)
    if not isinstance(found, Mapping):
        raise EventError(f"invokingEvent.{field}", found, "an object")
    return found


def _text(event: Mapping[str, Any], field: str) -> str:
    found = event.get(field)
    if not isinstance(found, str) or not found:
        raise EventError(field, found, "a non-empty string")
    return found


def _boolean(event: Mapping[str, Any], field: str) -> bool:
    """A field that AWS Config always sends as true or false; absent, as in events made by hand, means false."""
    found = event.get(field, False)
    if not isinstance(found, bool):
        raise EventError(field, found, "true or false")
    return found


def _time(source: Mapping[str, Any], field: str) -> datetime:
    found = source.get(field.rpartition(".")[2])
    try:
        time = datetime.fromisoformat(found) if isinstance(found, str) else None
        is_usable = time is not None and time.tzinfo is not None and time.astimezone(UTC).year >= EPOCH_YEAR
    except (ValueError, OverflowError) as error:
        raise EventError(f"invokingEvent.{field}", found, "a time such as 2026-01-31T12:00:00.000Z") from error
    if time is None or not is_usable:
        raise EventError(f"invokingEvent.{field}", found, "a time such as 2026-01-31T12:00:00.000Z")
    return time
