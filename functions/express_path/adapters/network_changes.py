"""Turn AWS Config's configuration items into changes of the network."""

from collections.abc import Mapping

from express_path.adapters.config_rule.events import (
    Item,
    changed_properties,
    check_item,
    configuration_leaves,
    configuration_of,
    diff_leaves,
    is_deleted,
    is_readable,
    is_update,
    leaves,
    resource_ids,
)
from express_path.domain.verdict.fanout import ChangedResource, ResourceType

_ATTACHED_TYPES = ("AWS::EC2::NetworkInterface", "AWS::EC2::Instance")
"""The resource types that come and go in a subnet without any effect on its routes."""


def change_of(item: Item, diff: Item | None, previous: Item | None = None) -> ChangedResource:
    """Return the change that an item reports. previous is the item recorded before it, if known.

    Raise RecordError if the item has a type that the rule does not evaluate. A firewall is named by its ARN, and has no VPC here, because
    it may have endpoints in several.
    """
    check_item(item, tuple(ResourceType))
    now = list(configuration_leaves(item))
    before = [*diff_leaves(diff, "previousValue"), *configuration_leaves(previous or {})]
    updated = list(diff_leaves(diff, "updatedValue"))
    related = list(leaves(item.get("relationships")))
    resource_type = ResourceType(item["resourceType"])
    is_firewall = resource_type is ResourceType.FIREWALL
    arns = (str(item.get(name) or "") for name in ("ARN", "arn", "resourceId"))
    arn = next((arn for arn in arns if arn.startswith("arn:")), "")
    excluded_subnet_id = None
    if resource_type is ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION:
        excluded_subnet_id = next(iter(resource_ids("subnet", [*now, *before])), None)
    earlier_subnet_ids = None
    if _shows_associations(item, diff, previous):
        earlier_subnet_ids = frozenset(resource_ids("subnet", before))
    vpc_ids = {*resource_ids("vpc", [*now, *related])} or {*resource_ids("vpc", before)}
    vpc_id = None
    # An item that names several contradicts itself, so that its VPC is not known.
    if len(vpc_ids) == 1 and not is_firewall:
        [vpc_id] = vpc_ids
    return ChangedResource(
        resource_type=resource_type,
        resource_id=arn if is_firewall else str(item.get("resourceId") or ""),
        vpc_id=vpc_id,
        owner_id=next((str(value) for name, value in now if name == "ownerid" and value), None),
        earlier_subnet_ids=earlier_subnet_ids,
        main_changed=("main", True) in (*before, *updated),
        deleted=is_deleted(item),
        subnet_id=excluded_subnet_id,
        is_appliance_endpoint=("vpcendpointtype", "GatewayLoadBalancer") in (*now, *before),
        may_be_regional=resource_type is ResourceType.NAT_GATEWAY and not any(resource_ids("subnet", [*now, *before])),
    )


def shows_no_change(item: Item, diff: Item | None) -> bool:
    """Return whether an item was sent again, or recorded again with nothing changed. None: the event does not say.

    AWS Config sends the last item of each resource in scope, with an empty difference, when somebody creates or updates
    the rule, or starts an evaluation (https://docs.aws.amazon.com/config/latest/APIReference/API_StartConfigRulesEvaluation.html).
    It records subnets again when their route table changes (https://docs.aws.amazon.com/config/latest/developerguide/faq.html).
    The item of a resource that AWS Config discovered is a change: with an empty difference, it may be the first one.
    """
    if diff is None or not is_readable(diff) or not is_update(item) or changed_properties(diff):
        return False
    return diff.get("changeType") in (None, "UPDATE")


def _shows_associations(item: Item, diff: Item | None, previous: Item | None) -> bool:
    """Return whether it is known which associations a route table had before: from the difference, or the item before.

    Other resources have none, and neither has a table that AWS Config discovered.
    """
    if (
        item.get("resourceType") != ResourceType.ROUTE_TABLE
        or item.get("configurationItemStatus") == "ResourceDiscovered"
    ):
        return True
    if diff is None:
        return previous is not None and _is_known_table(configuration_of(previous))
    changes = changed_properties(diff).items()
    sides = [(name.lower().split("."), change[side]) for name, change in changes for side in _SIDES if side in change]
    return is_readable(diff) and all(_is_known_side(parts, value) for parts, value in sides)


_SIDES = ("previousValue", "updatedValue")


def _is_known_side(parts: list[str], value: object) -> bool:
    """Return whether one side of a property's change shows which associations it is about, if it is about any."""
    match parts:
        case ["configuration"]:
            return value is None or (isinstance(value, Mapping) and _is_known_table(value))
        case ["configuration", "associations"]:
            return value is None or (isinstance(value, list) and all(map(_is_known_association, value)))
        case ["configuration", "associations", _]:
            return value is None or _is_known_association(value)
        case ["configuration", "associations", _, "main"]:
            return value is None or isinstance(value, bool)
        case ["configuration", "associations", _, "subnetid"]:
            return value is None or any(resource_ids("subnet", leaves(value, "subnetid")))
    return True


def _is_known_table(configuration: Item) -> bool:
    """Return whether the configuration of a route table shows its associations."""
    values = [value for name, value in configuration.items() if name.lower() == "associations"]
    return bool(values) and all(isinstance(value, list) and all(map(_is_known_association, value)) for value in values)


def _is_known_association(value: object) -> bool:
    """Return whether an association shows what it is with: a subnet, a gateway, or the whole VPC."""
    if not isinstance(value, Mapping):
        return False
    named_leaves = list(leaves(value))
    names_gateway = any(name == "gatewayid" and value for name, value in named_leaves)
    return names_gateway or ("main", True) in named_leaves or any(resource_ids("subnet", named_leaves))


def cannot_change_path(item: Item, diff: Item | None) -> bool:
    """Return whether an item reports a change that cannot change any verdict, so that nothing needs to be read.

    - A subnet's item which only reports that a network interface or an instance in it was created or deleted. AWS
      Config records one for each (https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect
      relationships).
    - An update of a directory bucket.
    """
    match item.get("resourceType"):
        case ResourceType.DIRECTORY_BUCKET:
            return is_update(item) and (diff or {}).get("changeType") == "UPDATE"
        case ResourceType.SUBNET:
            changed = changed_properties(diff)
            only_attached = bool(changed) and all(_is_attached(name, change) for name, change in changed.items())
            return is_update(item) and is_readable(diff) and only_attached
        case _:
            return False


def _is_attached(name: str, change: Item) -> bool:
    """Return whether a subnet's changed property is an interface, an instance, or the count of free addresses."""
    if name.lower().endswith(".availableipaddresscount"):
        return True
    sides = [change[side] for side in _SIDES if change.get(side) is not None]
    types = [side.get("resourceType") if isinstance(side, Mapping) else None for side in sides]
    is_relationship = name.lower().startswith("relationships")
    return is_relationship and bool(types) and all(resource_type in _ATTACHED_TYPES for resource_type in types)
