"""AWS Config's configuration items into changes, whichever of their shapes they come in.

Items in events and items from the API spell some keys differently, `configuration` is an object or a JSON string, and
some types are camelCase and others PascalCase
(https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences").
So values are looked up by the last part of their name, without case.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from express_path.domain.fanout import Change, ResourceType
from express_path.errors import EventError

Item = Mapping[str, Any]
Leaf = tuple[str, object]

_DELETED = frozenset({"ResourceDeleted", "ResourceDeletedNotRecorded"})
_COMES_AND_GOES = frozenset({"AWS::EC2::NetworkInterface", "AWS::EC2::Instance"})


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
    now = list(_leaves(_configuration(item)))
    before = [*_diff_leaves(diff, "previousValue"), *_leaves(_configuration(earlier or {}))]
    updated = list(_diff_leaves(diff, "updatedValue"))
    related = list(_leaves(item.get("relationships")))
    return Change(
        resource_type=ResourceType(resource_type),
        resource_id=resource_id,
        vpc_id=next(_ids("vpc-", [*now, *related, *before]), None),
        earlier_subnet_ids=frozenset(_ids("subnet-", before)),
        main_changed=("main", True) in (*before, *updated),
        deleted=item.get("configurationItemStatus") in _DELETED,
    )


def turns_no_path(item: Item, diff: Item | None) -> bool:
    """Whether an item tells of something that can turn no path, so that nothing need be read.

    That is a subnet's item that only says that a network interface or instance in it came or went: every such change
    makes one (https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect relationships). And it is an
    interface endpoint's, to which no route can lead.
    """
    if item.get("configurationItemStatus") != "OK":
        return False
    if item.get("resourceType") == ResourceType.VPC_ENDPOINT:
        return ("vpcendpointtype", "Interface") in _leaves(_configuration(item))
    changed = (diff or {}).get("changedProperties") or {}
    attachments_only = bool(changed) and all(_is_attachment(name, change) for name, change in changed.items())
    return item.get("resourceType") == ResourceType.SUBNET and attachments_only


def _is_attachment(name: str, change: Item) -> bool:
    if name.lower().endswith(".availableipaddresscount"):
        return True
    sides = [change.get(side) or {} for side in ("previousValue", "updatedValue")]
    types = {side.get("resourceType") for side in sides if isinstance(side, Mapping)} - {None}
    return name.lower().startswith("relationships") and bool(types) and types <= _COMES_AND_GOES


def _configuration(item: Item) -> object:
    configuration = item.get("configuration")
    if not isinstance(configuration, str):
        return configuration
    try:
        return json.loads(configuration)
    except ValueError as error:
        raise EventError("configurationItem.configuration", configuration, "an object, or JSON text of one") from error


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
    for name, change in ((diff or {}).get("changedProperties") or {}).items():
        yield from _leaves((change or {}).get(side), str(name).rpartition(".")[2].lower())


def _ids(prefix: str, leaves: Iterable[Leaf]) -> Iterator[str]:
    return (value for _, value in leaves if isinstance(value, str) and value.startswith(prefix))
