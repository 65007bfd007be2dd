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
from express_path.errors import ApiError, RecordError
from express_path.fields import (
    flag,
    free_text,
    identifier,
    json_text,
    optional_identifier,
    plain_json,
    required_object,
    time,
    word,
)

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
    summary if is_oversized (see whole_item). diff is empty if the item was sent again, and None if there is none, or one of
    a form that is not known here.
    ordering_timestamp is the capture time of the item, or the creation time of the scheduled notification. left_scope means that the resource is no longer in the rule's scope.
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
    """Read an event. Raise RecordError that names the field which is missing or invalid.

    The item, or the scheduled notification, must be of the rule's own account.
    """
    plain_json(event, "event")
    invoking = json_text(event, "invokingEvent", "event")
    kind = word(invoking, "messageType", "invokingEvent", (_CHANGE, _OVERSIZED, _SCHEDULED))
    item, diff = None, None  # a scheduled notification has neither
    if kind == _SCHEDULED:
        ordering_timestamp = time(invoking, "notificationCreationTime", "invokingEvent")
    else:
        name = "configurationItem" if kind == _CHANGE else "configurationItemSummary"
        item = required_object(invoking, name, "invokingEvent")
        if item.get("configurationItemCaptureTime") is not None:
            ordering_timestamp = time(item, "configurationItemCaptureTime", f"invokingEvent.{name}")
        else:  # the event's own time is the nearest one that is later
            ordering_timestamp = time(invoking, "notificationCreationTime", "invokingEvent")
    # AWS Config's own sample of a change has no difference at all, and that of an item that it sends again is null.
    if kind == _CHANGE and "configurationItemDiff" in invoking:
        item_diff = invoking["configurationItemDiff"]
        if item_diff is None:
            item_diff = {}
        diff = item_diff if isinstance(item_diff, Mapping) else None
    about_account = invoking if item is None else item
    account_id = about_account.get("awsAccountId") or event.get("accountId")
    if event.get("accountId") not in (None, account_id):
        raise RecordError("event", "awsAccountId", account_id, f"the account of the rule, {event['accountId']}")
    # AWS Config omits ruleParameters if the rule has none.
    has_parameters = event.get("ruleParameters") not in (None, "")
    return ConfigEvent(
        account_id=identifier({"accountId": account_id}, "accountId", "event"),
        rule_name=free_text(event, "configRuleName", "event"),
        result_token=free_text(event, "resultToken", "event"),
        parameters=json_text(event, "ruleParameters", "event") if has_parameters else {},
        ordering_timestamp=ordering_timestamp,
        # AWS Config always sends it; events written by hand may omit it.
        left_scope=flag(event, "eventLeftScope", "event"),
        item=item,
        diff=diff,
        is_oversized=kind == _OVERSIZED,
    )


Item = Mapping[str, Any]


class Leaf(NamedTuple):
    """A value that is neither an object nor a list, with the last part of its name in lower case."""

    name: str
    value: object


_DELETED = ("ResourceDeleted", "ResourceDeletedNotRecorded")


def check_item(item: Item, resource_types: Collection[str]) -> None:
    """Raise RecordError if an item is not of one of the types, which the rule's scope names, or has an id of no form.

    Its status may be any: one that is not known here is neither a deletion nor an update.
    """
    word(item, "resourceType", "configurationItem", resource_types)
    optional_identifier(item, "resourceId", "configurationItem")


def is_deleted(item: Item) -> bool:
    """Return whether the item reports that its resource was deleted."""
    return item.get("configurationItemStatus") in _DELETED


def is_update(item: Item) -> bool:
    """Return whether the item reports a change of a resource that AWS Config knew before."""
    return item.get("configurationItemStatus") == "OK"


def configuration_of(item: Item) -> Item:
    """Return an item's configuration; empty if it has none, or one of a form that is not known here."""
    configuration = item.get("configuration")
    if isinstance(configuration, str):
        try:
            return json_text(item, "configuration", "configurationItem")
        except RecordError:
            return {}
    return configuration if isinstance(configuration, Mapping) else {}


def configuration_leaves(item: Item) -> Iterator[Leaf]:
    """Yield every value of an item's configuration."""
    return leaves(configuration_of(item))


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
    """Return the changes of a configurationItemDiff by property, as far as they have a form that is known here."""
    changed = (diff or {}).get("changedProperties")
    listed = changed.items() if isinstance(changed, Mapping) else ()
    return {name: change for name, change in listed if isinstance(change, Mapping)}


def is_readable(diff: Item | None) -> bool:
    """Return whether a configurationItemDiff has the form that AWS documents, so that it shows everything that changed.

    https://docs.aws.amazon.com/config/latest/developerguide/example-sns-notification.html
    """
    if diff is None:
        return False
    if diff == {}:
        return True
    changed = diff.get("changedProperties")
    if not isinstance(changed, Mapping) or len(changed_properties(diff)) != len(changed):
        return False
    return all("previousValue" in change and "updatedValue" in change for change in changed.values())


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


def whole_item(config: "ConfigServiceClient", summary: Mapping[str, Any], until: datetime) -> RecordedItem:
    """Fetch the item of a configurationItemSummary; only the summary if AWS Config never recorded the resource.

    Raise ApiError. until is the capture time: a later item is not returned, so a delayed notification is evaluated by its
    own item.
    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html
    """
    try:
        with calling("config:GetResourceConfigHistory"):
            response = config.get_resource_config_history(
                resourceType=summary["resourceType"], resourceId=summary["resourceId"], laterTime=until, limit=2
            )
    except ApiError as error:
        if error.code == "ResourceNotDiscoveredException":
            return RecordedItem(summary)
        raise
    newest_first = response.get("configurationItems")
    if not newest_first:
        return RecordedItem(summary)
    return RecordedItem({**newest_first[0], **summary}, newest_first[1] if len(newest_first) > 1 else None)
