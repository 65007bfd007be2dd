"""Turn AWS Config's configuration items into changes of the network."""

from collections.abc import Mapping

from express_path.adapters.config_rule.events import (
    Item,
    changed_properties,
    check_item,
    configuration_leaves,
    diff_leaves,
    is_deleted,
    is_update,
    leaves,
    resource_ids,
)
from express_path.domain.verdict.fanout import ChangedResource, ResourceType

_ATTACHED_TYPES = ("AWS::EC2::NetworkInterface", "AWS::EC2::Instance")
"""The resource types that come and go in a subnet without any effect on its routes."""


def change_of(item: Item, diff: Item | None, previous: Item | None = None) -> ChangedResource:
    """Return the change that an item reports. previous is the item recorded before it, if known.

    Raise RecordError if the item lacks its type or id, or has a type that the rule does not evaluate.
    A firewall is named by its ARN, and has no VPC here, because it may have endpoints in several.
    """
    check_item(item, tuple(ResourceType))
    now = list(configuration_leaves(item))
    before = [*diff_leaves(diff, "previousValue"), *configuration_leaves(previous or {})]
    updated = list(diff_leaves(diff, "updatedValue"))
    related = list(leaves(item.get("relationships")))
    resource_type = ResourceType(item["resourceType"])
    is_firewall = resource_type is ResourceType.FIREWALL
    arn = item.get("ARN") or item.get("arn")
    excluded = (
        resource_ids("subnet", [*now, *before]) if resource_type is ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION else ()
    )
    return ChangedResource(
        resource_type=resource_type,
        resource_id=str(arn) if is_firewall and arn else item["resourceId"],
        vpc_id=None if is_firewall else next(resource_ids("vpc", [*now, *related, *before]), None),
        owner_id=next((str(value) for name, value in now if name == "ownerid" and value), None),
        earlier_subnet_ids=frozenset(resource_ids("subnet", before)),
        main_changed=("main", True) in (*before, *updated),
        deleted=is_deleted(item),
        subnet_id=next(iter(excluded), None),
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
    if diff is None or not is_update(item) or changed_properties(diff):
        return False
    return diff.get("changeType") in (None, "UPDATE")


def cannot_change_path(item: Item, diff: Item | None) -> bool:
    """Return whether an item reports a change that cannot change any verdict, so that nothing needs to be read.

    - A subnet's item which only reports that a network interface or an instance in it was created or deleted. AWS
      Config records one for each (https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect
      relationships).
    - An interface endpoint's item, because no route can lead to an interface endpoint.
    - An update of a directory bucket.
    """
    match item.get("resourceType"):
        case ResourceType.DIRECTORY_BUCKET:
            return is_update(item) and (diff or {}).get("changeType") == "UPDATE"
        case ResourceType.VPC_ENDPOINT:
            known = [*configuration_leaves(item), *diff_leaves(diff, "previousValue")]
            return ("vpcendpointtype", "Interface") in known
        case ResourceType.SUBNET:
            changed = changed_properties(diff)
            only_attached = bool(changed) and all(_is_attached(name, change) for name, change in changed.items())
            return is_update(item) and only_attached
        case _:
            return False


def _is_attached(name: str, change: Item) -> bool:
    """Return whether a subnet's changed property is an interface, an instance, or the count of free addresses."""
    if name.lower().endswith(".availableipaddresscount"):
        return True
    sides = [change.get(side) for side in ("previousValue", "updatedValue")]
    types = [side["resourceType"] for side in sides if isinstance(side, Mapping) and side.get("resourceType")]
    is_relationship = name.lower().startswith("relationships")
    return is_relationship and bool(types) and all(resource_type in _ATTACHED_TYPES for resource_type in types)
