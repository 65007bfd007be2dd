"""Read configuration items, in any of the shapes that AWS Config uses.

Items in events and items from the API spell some keys differently, `configuration` is an object or a JSON string, and
some resource types use camelCase and others PascalCase
(https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences").
So values are found by the last part of their name, without case.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from express_path.domain.network.ids import wrong_form
from express_path.errors import EventError
from express_path.events.checks import checked, checked_json

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
