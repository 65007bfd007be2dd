"""Read what AWS Config sends to a rule, strictly: events, and the configuration items in them.

Shapes of events: https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html

Items in events and items from the API spell some keys differently, `configuration` is an object or a JSON string, and
some resource types use camelCase and others PascalCase
(https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences").
So values are found by the last part of their name, without case.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import calling
from express_path.domain.network.ids import wrong_form
from express_path.errors import ApiError, EventError
from express_path.events.checks import checked, checked_json, time_of

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

TEST_TOKEN = "TESTMODE"  # noqa: S105  # the rule development kit's token for events that must not store results
_CHANGE = "ConfigurationItemChangeNotification"
_OVERSIZED = "OversizedConfigurationItemChangeNotification"
_SCHEDULED = "ScheduledNotification"


@dataclass(frozen=True, slots=True)
class ConfigEvent:
    """One invocation of a rule.

    parameters are the rule's own, as text; the rule parses them. item is None in a scheduled notification, and only a
    summary if is_oversized (see whole_item). ordering_timestamp is the capture time of the item, or the
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


Item = Mapping[str, Any]


class Leaf(NamedTuple):
    """A value that is neither an object nor a list, with the last part of its name in lower case."""

    name: str
    value: object


_DELETED = frozenset({"ResourceDeleted", "ResourceDeletedNotRecorded"})
_STATUSES = ("OK", "ResourceDiscovered", "ResourceNotRecorded", *sorted(_DELETED))


def check_item(item: Item, resource_types: Collection[str]) -> None:
    """Raise EventError if an item is not of one of the types, or lacks its resource's id or a known status."""
    resource_type = item.get("resourceType")
    if resource_type not in tuple(resource_types):
        raise EventError("configurationItem.resourceType", resource_type, "one of " + ", ".join(resource_types))
    resource_id = item.get("resourceId")
    if not isinstance(resource_id, str) or wrong_form(resource_id, "resourceId"):
        raise EventError("configurationItem.resourceId", resource_id, "the resource's id")
    status = item.get("configurationItemStatus")
    if status not in _STATUSES:
        raise EventError("configurationItem.configurationItemStatus", status, "one of " + ", ".join(_STATUSES))


def is_deleted(item: Item) -> bool:
    """Return whether the item reports that its resource was deleted."""
    return item.get("configurationItemStatus") in _DELETED


def is_update(item: Item) -> bool:
    """Return whether the item reports a change of a resource that AWS Config knew before."""
    return item.get("configurationItemStatus") == "OK"


def configuration_leaves(item: Item) -> Iterator[Leaf]:
    """Yield every value of an item's configuration. Raise EventError if that is not an object."""
    configuration = item.get("configuration")
    field = "configurationItem.configuration"
    if isinstance(configuration, str):
        return leaves(checked_json(configuration, field))
    return leaves({} if configuration is None else checked(configuration, field))


def leaves(value: object, name: str = "") -> Iterator[Leaf]:
    """Yield every value nested in a value; name is the value's own."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, str(key).lower())
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, name)
    else:
        yield Leaf(name, value)


def diff_leaves(diff: Item | None, side: str) -> Iterator[Leaf]:
    """Yield every value on one side of a configurationItemDiff: previousValue or updatedValue."""
    for name, change in changed_properties(diff).items():
        yield from leaves(change.get(side), name.rpartition(".")[2].lower())


def changed_properties(diff: Item | None) -> Mapping[str, Item]:
    """Return the changes of a configurationItemDiff by property, empty if there is no diff. Raise EventError."""
    field = "configurationItemDiff.changedProperties"
    changed = (diff or {}).get("changedProperties")
    if changed is None:
        return {}
    if not isinstance(changed, Mapping):
        raise EventError(field, changed, "an object")
    for name, change in changed.items():
        if not isinstance(change, Mapping):
            raise EventError(f"{field}.{name}", change, "an object with previousValue and updatedValue")
    return changed


def resource_ids(kind: str, values: Iterable[Leaf]) -> Iterator[str]:
    """Yield the ids of one kind of resource, such as vpc, found by field name: values of tags may look like ids."""
    for name, value in values:
        if name in (f"{kind}id", "resourceid") and isinstance(value, str) and value.startswith(f"{kind}-"):
            yield value


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """A whole configuration item, and the one recorded before it, None if there is none."""

    item: Mapping[str, Any]
    previous: Mapping[str, Any] | None = None


def whole_item(config: "ConfigServiceClient", summary: Mapping[str, Any]) -> RecordedItem:
    """Fetch the item of a configurationItemSummary; only the summary if AWS Config never recorded the resource.

    Raise ApiError. A later item is not returned, so a delayed notification is evaluated by its own item.
    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html
    """
    try:
        with calling("config:GetResourceConfigHistory"):
            response = config.get_resource_config_history(
                resourceType=summary["resourceType"],
                resourceId=summary["resourceId"],
                laterTime=datetime.fromisoformat(summary["configurationItemCaptureTime"]),
                limit=2,
            )
    except ApiError as error:
        if error.code == "ResourceNotDiscoveredException":
            return RecordedItem(summary)
        raise
    newest_first = response["configurationItems"]
    if not newest_first:
        return RecordedItem(summary)
    return RecordedItem({**newest_first[0], **summary}, newest_first[1] if len(newest_first) > 1 else None)
