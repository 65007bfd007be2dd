"""Read the events with which AWS Config invokes a rule, strictly.

Shapes: https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from express_path.domain.network.ids import wrong_form
from express_path.errors import EventError
from express_path.events.checks import checked, checked_json, time_of

TEST_TOKEN = "TESTMODE"  # noqa: S105  # the rule development kit's token for events that must not store results
_CHANGE = "ConfigurationItemChangeNotification"
_OVERSIZED = "OversizedConfigurationItemChangeNotification"
_SCHEDULED = "ScheduledNotification"


@dataclass(frozen=True, slots=True)
class ConfigEvent:
    """One invocation of a rule.

    parameters are the rule's own, as text; the rule parses them. item is None in a scheduled notification, and only a
    summary if is_oversized (see history.whole_item). ordering_timestamp is the capture time of the item, or the
    creation time of the scheduled notification. left_scope means that the resource is no longer in the rule's scope.
    """

    account_id: str
    rule_name: str
    result_token: str
    parameters: Mapping[str, object]
    ordering_timestamp: datetime
    left_scope: bool
    item: Mapping[str, Any] | None = None
    diff: Mapping[str, Any] | None = None
    is_oversized: bool = False

    @property
    def is_test(self) -> bool:
        """Return whether AWS Config checks the evaluations without storing them (TestMode)."""
        return self.result_token == TEST_TOKEN


def parse_event(event: Mapping[str, Any]) -> ConfigEvent:
    """Read an event. Raise EventError that names the field which is missing or invalid."""
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
    """Return the event; cause is the item or the notification, which must be of the rule's own account."""
    account_id = cause.get("awsAccountId") or event.get("accountId")
    if event.get("accountId") not in (None, account_id):
        raise EventError("awsAccountId", account_id, f"the account of the rule, {event['accountId']}")
    return ConfigEvent(
        account_id=_account(account_id),
        rule_name=_text(event, "configRuleName"),
        result_token=_text(event, "resultToken"),
        parameters=_parameters(event),
        ordering_timestamp=time,
        left_scope=_boolean(event, "eventLeftScope"),
        **why,
    )


def _parameters(event: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the rule's parameters. AWS Config omits ruleParameters if the rule has none."""
    parameters = event.get("ruleParameters")
    return {} if parameters in (None, "") else checked_json(parameters, "ruleParameters")


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


def _account(found: object) -> str:
    allowed = wrong_form(found if isinstance(found, str) else "", "accountId")
    if not isinstance(found, str) or allowed:
        raise EventError("accountId", found, allowed)
    return found


def _boolean(event: Mapping[str, Any], field: str) -> bool:
    """Return a field that AWS Config always sends as true or false; events written by hand may omit it (false)."""
    found = event.get(field, False)
    if not isinstance(found, bool):
        raise EventError(field, found, "true or false")
    return found


def _time(source: Mapping[str, Any], field: str) -> datetime:
    return time_of(source.get(field.rpartition(".")[2]), f"invokingEvent.{field}")
