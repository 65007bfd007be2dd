"""AWS Config's configuration items into changes, whichever of their shapes they come in.

Items in events and items from the API spell some keys differently, `configuration` is an object or a JSON string, and
some types are camelCase and others PascalCase
(https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences").
So values are looked up by the last part of their name, without case.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from express_path.adapters.config_rule.event_checks import checked, checked_json
from express_path.domain.verdict.fanout import Change, ResourceType
from express_path.errors import EventError

Item = Mapping[str, Any]
Leaf = tuple[str, object]

_DELETED = frozenset({"ResourceDeleted", "ResourceDeletedNotRecorded"})
_STATUSES = ("OK", "ResourceDiscovered", "ResourceNotRecorded", *sorted(_DELETED))
_COMES_AND_GOES = ("AWS::EC2::NetworkInterface", "AWS::EC2::Instance")


def change_of(item: Item, diff: Item | None, earlier: Item | None = None) -> Change:
    """The change that an item tells of; diff is its configurationItemDiff, earlier the item before it where known.

    Raises EventError where the item lacks its type or id, or is of a type that the rule does not follow.
    """
    resource_type = item.get("resourceType")
    if resource_type not in tuple(ResourceType):
        raise EventError("configurationItem.resourceType", resource_type, "one of " + ", ".join(ResourceType))
    resource_id = item.get("resourceId")
    if not isinstance(resource_id, str) or not resource_id:
        raise EventError("configurationItem.resourceId", resource_id, "the resource's id")
    status = item.get("configurationItemStatus")
    if status not in _STATUSES:
        raise EventError("configurationItem.configurationItemStatus", status, "one of " + ", ".join(_STATUSES))
    now = list(_leaves(_configuration(item)))
    before = [*_diff_leaves(diff, "previousValue"), *_leaves(_configuration(earlier or {}))]
    updated = list(_diff_leaves(diff, "updatedValue"))
    related = list(_leaves(item.get("relationships")))
    return Change(
        resource_type=ResourceType(resource_type),
        resource_id=resource_id,
        vpc_id=next(_ids("vpc", [*now, *related, *before]), None),
        owner_id=next((str(value) for name, value in now if name == "ownerid" and value), None),
        earlier_subnet_ids=frozenset(_ids("subnet", before)),
        main_changed=("main", True) in (*before, *updated),
        deleted=status in _DELETED,
    )


def cannot_change_path(item: Item, diff: Item | None) -> bool:
    """Whether an item tells of something that can change no verdict, so that nothing needs to be read.

    That is a subnet's item that only says that a network interface or instance in it came or went: every such change
    makes one (https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect relationships). And it is an
    interface endpoint's, to which no route can lead, and a directory bucket's that was there before.
    """
    if item.get("resourceType") == ResourceType.DIRECTORY_BUCKET:
        return item.get("configurationItemStatus") == "OK" and (diff or {}).get("changeType") == "UPDATE"
    if item.get("resourceType") == ResourceType.VPC_ENDPOINT:
        known = [*_leaves(_configuration(item)), *_diff_leaves(diff, "previousValue")]
        return ("vpcendpointtype", "Interface") in known
    changed = _changed_properties(diff)
    attachments_only = bool(changed) and all(_is_attachment(name, change) for name, change in changed.items())
    is_update = item.get("configurationItemStatus") == "OK"
    return is_update and item.get("resourceType") == ResourceType.SUBNET and attachments_only


def _is_attachment(name: str, change: Item) -> bool:
    if name.lower().endswith(".availableipaddresscount"):
        return True
    sides = [change.get(side) for side in ("previousValue", "updatedValue")]
    types = [side["resourceType"] for side in sides if isinstance(side, Mapping) and side.get("resourceType")]
    return name.lower().startswith("relationships") and bool(types) and all(each in _COMES_AND_GOES for each in types)


def _changed_properties(diff: Item | None) -> Mapping[str, Item]:
    """The changes of a configurationItemDiff by property; none where there is no diff."""
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


def _configuration(item: Item) -> object:
    configuration = item.get("configuration")
    field = "configurationItem.configuration"
    if isinstance(configuration, str):
        return checked_json(configuration, field)
    return None if configuration is None else checked(configuration, field)


def _leaves(value: object, name: str = "") -> Iterator[Leaf]:
    """Every scalar in a nested value, under the last part of its name in lower case."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _leaves(below, str(key).lower())
    elif isinstance(value, list):
        for below in value:
            yield from _leaves(below, name)
    else:
        yield name, value


def _diff_leaves(diff: Item | None, side: str) -> Iterator[Leaf]:
    for name, change in _changed_properties(diff).items():
        yield from _leaves(change.get(side), name.rpartition(".")[2].lower())


def _ids(kind: str, leaves: Iterable[Leaf]) -> Iterator[str]:
    """The ids of one kind of resource, by field: the values of tags may look like ids."""
    for name, value in leaves:
        if name in (f"{kind}id", "resourceid") and isinstance(value, str) and value.startswith(f"{kind}-"):
            yield value
