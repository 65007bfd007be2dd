"""Merging what several accounts see of one Region: what one cannot see, another's snapshot may show."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from express_path.domain.network.resources import PrefixList, TransitGatewayAttachment
from express_path.domain.network.snapshot import Snapshot


class _Owned(Protocol):
    @property
    def owner_id(self) -> str:
        """The account that the resource belongs to."""


_Resource = TypeVar("_Resource", bound=_Owned)
_Value = TypeVar("_Value")


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The whole network of one Region out of the snapshots of its accounts, seen from the first of them.

    Of a resource that several accounts see, its owner's description counts.
    """
    if len(snapshots) == 1:
        return snapshots[0]
    return replace(
        snapshots[0],
        foreign_subnet_ids=frozenset(key for each in snapshots[1:] for key in each.subnets) - {*snapshots[0].subnets},
        vpcs=_owners_view([(each.account_id, each.vpcs) for each in snapshots]),
        subnets=_owners_view([(each.account_id, each.subnets) for each in snapshots]),
        route_tables=_owners_view([(each.account_id, each.route_tables) for each in snapshots]),
        vpc_endpoints=_owners_view([(each.account_id, each.vpc_endpoints) for each in snapshots]),
        nat_gateways=_first_view([each.nat_gateways for each in snapshots]),
        prefix_lists=_prefix_lists([each.prefix_lists for each in snapshots]),
        network_interfaces=_optional_view([each.network_interfaces for each in snapshots]),
        instances=_first_view([each.instances for each in snapshots]),
        transit_gateway_attachments=_attachments([each.transit_gateway_attachments for each in snapshots]),
        transit_gateway_route_tables=_optional_view([each.transit_gateway_route_tables for each in snapshots]),
    )


def _owners_view(views: Sequence[tuple[str, Mapping[str, _Resource]]]) -> dict[str, _Resource]:
    found: dict[str, _Resource] = {}
    for account_id, view in views:
        for key, resource in view.items():
            if key not in found or resource.owner_id == account_id:
                found[key] = resource
    return found


def _first_view(views: Sequence[Mapping[str, _Value]]) -> dict[str, _Value]:
    found: dict[str, _Value] = {}
    for view in reversed(views):
        found.update(view)
    return found


def _optional_view(views: Sequence[Mapping[str, _Value] | None]) -> dict[str, _Value] | None:
    readable = [view for view in views if view is not None]
    return _first_view(readable) if readable else None


def _prefix_lists(views: Sequence[Mapping[str, PrefixList]]) -> dict[str, PrefixList]:
    """One account may read a list's entries and another its name and owner: each completes the other."""
    found: dict[str, PrefixList] = {}
    for view in views:
        for key, record in view.items():
            known = found.get(key, record)
            described = known if known.name else record
            found[key] = replace(described, cidrs=record.cidrs if known.cidrs is None else known.cidrs)
    return found


def _attachments(
    views: Sequence[Mapping[str, TransitGatewayAttachment] | None],
) -> dict[str, TransitGatewayAttachment] | None:
    """A transit gateway's owner sees associations, a VPC's owner its attachment's subnets: each completes the other."""
    readable = [view for view in views if view is not None]
    found: dict[str, TransitGatewayAttachment] = {}
    for view in readable:
        for key, record in view.items():
            known = found.get(key, record)
            found[key] = replace(
                known,
                route_table_id=known.route_table_id or record.route_table_id,
                subnet_ids=known.subnet_ids or record.subnet_ids,
                appliance_mode=known.appliance_mode or record.appliance_mode,
            )
    return found if readable else None
