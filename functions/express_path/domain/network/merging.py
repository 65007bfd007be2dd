"""Merge the snapshots of several accounts in one Region: another account may see what one account cannot."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from express_path.domain.network.resources import Firewall, PrefixList, TransitGatewayAttachment
from express_path.domain.network.snapshot import Snapshot


class _Owned(Protocol):
    @property
    def owner_id(self) -> str:
        """The account that owns the resource."""


_Resource = TypeVar("_Resource", bound=_Owned)
_Value = TypeVar("_Value")


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Return the network of one Region from the snapshots of its accounts, seen from the first account.

    If several accounts see a resource, its owner's description is used.
    """
    first, *others = snapshots
    if not others:
        return first
    foreign = {subnet_id for snapshot in others for subnet_id in snapshot.subnets}
    account_ids = [snapshot.account_id for snapshot in snapshots]
    return replace(
        first,
        foreign_subnet_ids=frozenset(foreign - first.subnets.keys()),
        vpcs=_owners_view(account_ids, [snapshot.vpcs for snapshot in snapshots]),
        subnets=_owners_view(account_ids, [snapshot.subnets for snapshot in snapshots]),
        route_tables=_owners_view(account_ids, [snapshot.route_tables for snapshot in snapshots]),
        vpc_endpoints=_owners_view(account_ids, [snapshot.vpc_endpoints for snapshot in snapshots]),
        nat_gateways=_first_view([snapshot.nat_gateways for snapshot in snapshots]),
        prefix_lists=_prefix_lists([snapshot.prefix_lists for snapshot in snapshots]),
        firewalls=_firewalls([snapshot.firewalls for snapshot in snapshots]),
        lists_ipv6_prefix_lists=any(snapshot.lists_ipv6_prefix_lists for snapshot in snapshots),
        network_interfaces=_optional_view([snapshot.network_interfaces for snapshot in snapshots]),
        instances=_first_view([snapshot.instances for snapshot in snapshots]),
        transit_gateway_attachments=_attachments([snapshot.transit_gateway_attachments for snapshot in snapshots]),
        transit_gateway_route_tables=_optional_view([snapshot.transit_gateway_route_tables for snapshot in snapshots]),
    )


def _owners_view(account_ids: Sequence[str], views: Sequence[Mapping[str, _Resource]]) -> dict[str, _Resource]:
    """Return every resource as its owner describes it, else as the first account that lists it does."""
    found: dict[str, _Resource] = {}
    for account_id, view in zip(account_ids, views, strict=True):
        for key, resource in view.items():
            if key not in found or resource.owner_id == account_id:
                found[key] = resource
    return found


def _first_view(views: Sequence[Mapping[str, _Value]]) -> dict[str, _Value]:
    """Return every resource as the first account that lists it describes it."""
    found: dict[str, _Value] = {}
    for view in reversed(views):
        found.update(view)
    return found


def _optional_view(views: Sequence[Mapping[str, _Value] | None]) -> dict[str, _Value] | None:
    readable = [view for view in views if view is not None]
    return _first_view(readable) if readable else None


def _prefix_lists(views: Sequence[Mapping[str, PrefixList]]) -> dict[str, PrefixList]:
    """Combine prefix lists: one account may read the entries, and another the name and the owner."""
    found: dict[str, PrefixList] = {}
    for view in views:
        for key, prefix_list in view.items():
            known = found.get(key, prefix_list)
            described = known if known.name else prefix_list
            found[key] = replace(described, cidrs=prefix_list.cidrs if known.cidrs is None else known.cidrs)
    return found


def _firewalls(views: Sequence[Mapping[str, Firewall] | None]) -> dict[str, Firewall] | None:
    """Combine firewalls: one account may see the firewall, and another an endpoint in its own VPC."""
    readable = [view for view in views if view is not None]
    found: dict[str, Firewall] = {}
    for view in readable:
        for arn, firewall in view.items():
            known = found.get(arn, firewall)
            endpoint_ids = dict.fromkeys((*known.endpoint_ids, *firewall.endpoint_ids))
            found[arn] = replace(
                known,
                endpoint_ids=tuple(endpoint_ids),
                nat_gateway_ids={**firewall.nat_gateway_ids, **known.nat_gateway_ids},
            )
    return found if readable else None


def _attachments(
    views: Sequence[Mapping[str, TransitGatewayAttachment] | None],
) -> dict[str, TransitGatewayAttachment] | None:
    """Combine attachments: a transit gateway's owner sees associations, and a VPC's owner the attachment's subnets."""
    readable = [view for view in views if view is not None]
    found: dict[str, TransitGatewayAttachment] = {}
    for view in readable:
        for key, attachment in view.items():
            known = found.get(key, attachment)
            found[key] = replace(
                known,
                route_table_id=known.route_table_id or attachment.route_table_id,
                subnet_ids=known.subnet_ids or attachment.subnet_ids,
                appliance_mode=known.appliance_mode or attachment.appliance_mode,
            )
    return found if readable else None
