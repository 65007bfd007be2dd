"""One network from what several accounts see of it.

If one account cannot see something, another account may show it. If they disagree about something, because one of them was
read earlier, each description of it is kept: which one is right is not known.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.claims import Claim, claims_of, unlisted_tables
from express_path.domain.network.resources import (
    BlockMode,
    Firewall,
    PrefixList,
    RouteTable,
    Subnet,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
)
from express_path.domain.network.snapshot import Described, Snapshot, express_name


class _Owned(Protocol):
    @property
    def owner_id(self) -> str:
        """The account that owns the resource."""


_Resource = TypeVar("_Resource", bound=_Owned)
_Record = TypeVar("_Record", bound=Described)
_Value = TypeVar("_Value")
_Item = TypeVar("_Item", bound=Hashable)
_Descriptions = dict[str, list[_Value]]
"""The distinct descriptions of each resource, by its id; the one that is preferred comes first."""


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Return the network of one Region from the snapshots of its accounts, seen from the first account.

    If several accounts see a resource, its owner's description is used, and `versions` has the others that differ.
    """
    first, *others = snapshots
    if not others:
        return first
    foreign = {subnet_id for snapshot in others for subnet_id in snapshot.subnets}
    merging = _Merging([snapshot.account_id for snapshot in snapshots])
    subnets = merging.keep(merging.of_owners([each.subnets for each in snapshots]), _subnets)
    tables = merging.keep(merging.of_owners([each.route_tables for each in snapshots]), _tables)
    return replace(
        first,
        foreign_subnet_ids=frozenset(foreign - first.subnets.keys()),
        vpcs={key: _vpc(found) for key, found in merging.of_owners([each.vpcs for each in snapshots]).items()},
        subnets=subnets,
        route_tables=tables,
        vpc_endpoints=merging.keep(merging.of_owners([each.vpc_endpoints for each in snapshots]), _endpoints),
        nat_gateways=merging.keep(_in_order([each.nat_gateways for each in snapshots]) or {}),
        prefix_lists=merging.keep(
            _in_order([each.prefix_lists for each in snapshots]) or {}, partial(_prefix_lists, first.region)
        ),
        firewalls=merging.optional([each.firewalls for each in snapshots], _firewall),
        others_with_ipv6_lists=frozenset(each.account_id for each in others if each.lists_ipv6_prefix_lists),
        network_interfaces=merging.optional([each.network_interfaces for each in snapshots]),
        instances=_firsts([each.instances for each in snapshots]) or {},
        transit_gateway_attachments=merging.optional(
            [each.transit_gateway_attachments for each in snapshots], _attachments
        ),
        transit_gateway_route_tables=merging.optional(
            [each.transit_gateway_route_tables for each in snapshots], _transit_gateway_tables
        ),
        transit_gateway_policy_tables=merging.optional([each.transit_gateway_policy_tables for each in snapshots]),
        transit_gateway_of_table=_firsts([each.transit_gateway_of_table for each in snapshots]),
        transit_gateway_connects=_connects([each.transit_gateway_connects for each in snapshots]),
        interfaces_listed_in=frozenset[str]().union(*(each.interfaces_listed_in for each in snapshots)),
        core_network_attachments=merging.optional([each.core_network_attachments for each in snapshots]),
        denied=_together(each.denied for each in snapshots),
        versions=merging.versions,
        disputed_tables=_disputed_tables(snapshots, subnets, tables),
        has_several_accounts=True,
    )


class _Merging:
    """Merges the resources of several accounts, and keeps the descriptions that differ."""

    def __init__(self, account_ids: Sequence[str]) -> None:
        """Start without any resource."""
        self._account_ids = account_ids
        self.versions: dict[str, tuple[Described, ...]] = {}

    def of_owners(self, views: Sequence[Mapping[str, _Resource]]) -> _Descriptions[_Resource]:
        """Return all descriptions of each resource, its owner's first."""
        found: _Descriptions[_Resource] = {}
        for account_id, view in zip(self._account_ids, views, strict=True):
            for key, resource in view.items():
                known = found.setdefault(key, [])
                known.insert(0 if resource.owner_id == account_id else len(known), resource)
        return found

    def keep(
        self, found: _Descriptions[_Record], unify: Callable[[list[_Record]], list[_Record]] | None = None
    ) -> dict[str, _Record]:
        """Return the preferred description of each resource, and keep the others that differ from it.

        unify adds to each description what only others show, and removes differences that are none.
        """
        kept = {}
        for key, descriptions in found.items():
            distinct = descriptions
            if len(descriptions) > 1:
                distinct = _distinct(unify(descriptions) if unify else descriptions)
            kept[key] = distinct[0]
            if len(distinct) > 1:
                self.versions[key] = tuple(distinct[1:])
        return kept

    def optional(
        self,
        views: Sequence[Mapping[str, _Record] | None],
        unify: Callable[[list[_Record]], list[_Record]] | None = None,
    ) -> dict[str, _Record] | None:
        """Return what `keep` returns; None if no account can read any of the resources."""
        found = _in_order(views)
        return None if found is None else self.keep(found, unify)


def _in_order(views: Sequence[Mapping[str, _Value] | None]) -> _Descriptions[_Value] | None:
    """Return all descriptions of each resource, in the order of the accounts; None if no account can read any."""
    readable = [view for view in views if view is not None]
    found: _Descriptions[_Value] = {}
    for view in readable:
        for key, resource in view.items():
            found.setdefault(key, []).append(resource)
    return found if readable else None


def _firsts(views: Sequence[Mapping[str, _Value] | None]) -> dict[str, _Value] | None:
    """Return the first description of each resource; None if no account can read any of the resources."""
    found = _in_order(views)
    return None if found is None else {key: descriptions[0] for key, descriptions in found.items()}


def _connects(views: Sequence[Mapping[str, frozenset[str]] | None]) -> dict[str, frozenset[str]] | None:
    """Return every transport attachment that an account shows of a Connect attachment; empty if none shows it."""
    found = _in_order(views)
    if found is None:
        return None
    shown = {key: frozenset[str]().union(*transports) for key, transports in found.items()}
    return {key: transports - {""} or transports for key, transports in shown.items()}


def _vpc(descriptions: list[Vpc]) -> Vpc:
    """Return a VPC. Its mode can only close a regional NAT gateway, so the one that closes least has the worst result."""
    order = list(BlockMode)
    return replace(descriptions[0], block_mode=min((each.block_mode for each in descriptions), key=order.index))


def _subnets(descriptions: list[Subnet]) -> list[Subnet]:
    """Return descriptions that differ in the zone, the mode of Block Public Access, and the tables that they name.

    Tags are those that the owner sees. A kind of address that one account shows counts, because it can only add ways out.
    """
    first = replace(
        descriptions[0],
        ipv6_native=all(each.ipv6_native for each in descriptions),
        has_ipv6=any(each.has_ipv6 for each in descriptions),
        dns64=any(each.dns64 for each in descriptions),
        blocks=tuple(sorted({block for each in descriptions for block in each.blocks})),
    )
    found = {(each.availability_zone_id, each.block_mode, each.table_ids): None for each in descriptions}
    return [
        replace(first, availability_zone_id=zone, block_mode=mode, table_ids=table_ids)
        for zone, mode, table_ids in found
    ]


def _tables(descriptions: list[RouteTable]) -> list[RouteTable]:
    """Return descriptions that differ in their routes only. `disputed_tables` has what their associations say."""
    distinct = {frozenset(each.routes): each.routes for each in reversed(descriptions)}
    return [replace(descriptions[0], routes=routes) for routes in reversed(distinct.values())]


def _endpoints(descriptions: list[VpcEndpoint]) -> list[VpcEndpoint]:
    """Return descriptions with the tags that the owner sees; the order of what they list does not matter."""
    first = descriptions[0]
    return [
        replace(
            each,
            tags=first.tags,
            owner_id=first.owner_id,
            subnet_ids=tuple(sorted(each.subnet_ids)),
            route_table_ids=tuple(sorted(each.route_table_ids)),
        )
        for each in descriptions
    ]


def _prefix_lists(region: str, descriptions: list[PrefixList]) -> list[PrefixList]:
    """Return descriptions with different entries: one account may read those, and another the name and the owner.

    S3 Express's list has one description, with the entries that any account shows: each may be an address of the service.
    """
    named = min(descriptions, key=lambda each: (not each.aws_owned, not each.name))
    names = _together((each.name, *each.other_names) for each in (named, *descriptions) if each.name)
    named = replace(named, name=names[0] if names else "", other_names=names[1:])
    readable = [each for each in descriptions if each.cidrs is not None]
    if not readable:
        return [named]
    if express_name(named, region):
        cidrs = _together(each.cidrs or () for each in readable)
        return [_with_blocks(named, cidrs, is_partial=any(each.is_partial for each in readable))]
    distinct = {(frozenset(each.cidrs or ()), each.is_partial): each for each in reversed(readable)}
    return [_with_blocks(named, each.cidrs or (), is_partial=each.is_partial) for each in reversed(distinct.values())]


def _with_blocks(named: PrefixList, cidrs: tuple[Cidr, ...], *, is_partial: bool) -> PrefixList:
    """Return a list with its blocks, whose family is that of the list."""
    family = next((cidr.family for cidr in cidrs), named.family)
    return replace(named, cidrs=cidrs, family=family, is_partial=is_partial)


def _firewall(descriptions: list[Firewall]) -> list[Firewall]:
    """Return descriptions that differ in the endpoints that the firewall itself names. It translates if any says so.

    The endpoints of associations add up: one account may see the firewall, and another an endpoint in its own VPC.
    """
    gateways: dict[str, str] = {}
    for each in reversed(descriptions):
        gateways |= each.nat_gateway_ids
    first = replace(
        descriptions[0],
        is_proxy=any(each.is_proxy for each in descriptions),
        forwards=all(each.forwards for each in descriptions),
        nat_gateway_ids=gateways,
        associated=_together(each.associated for each in descriptions),
    )
    named = dict.fromkeys(tuple(sorted(each.endpoint_ids)) for each in descriptions)
    return [replace(first, endpoint_ids=endpoint_ids) for endpoint_ids in named]


def _attachments(descriptions: list[TransitGatewayAttachment]) -> list[TransitGatewayAttachment]:
    """Return descriptions, each with what it lacks from the others.

    A transit gateway's owner sees associations, and a VPC's owner the attachment's subnets. An association that has no
    effect, because of its state, is none that is lacking.
    """
    associations = [_association(each) for each in descriptions if _shows_association(each)]
    subnets: list[tuple[str, ...] | None] = [each.subnet_ids for each in descriptions if each.subnet_ids]
    return [
        replace(
            each,
            route_table_id=route_table_id,
            policy_table_id=policy_table_id,
            is_association_certain=is_certain,
            subnet_ids=tuple(sorted(subnet_ids)) if subnet_ids else None,
            appliance_mode=any(each.appliance_mode for each in descriptions),
            shows_association=bool(associations),
        )
        for each in descriptions
        for route_table_id, policy_table_id, is_certain in (
            [_association(each)] if _shows_association(each) else associations or [(None, None, True)]
        )
        for subnet_ids in ([each.subnet_ids] if each.subnet_ids else subnets or [None])
    ]


def _association(attachment: TransitGatewayAttachment) -> tuple[str | None, str | None, bool]:
    """Return the route table and the policy table with which an attachment is associated, and whether that is certain."""
    return attachment.route_table_id, attachment.policy_table_id, attachment.is_association_certain


def _shows_association(attachment: TransitGatewayAttachment) -> bool:
    return attachment.shows_association or bool(attachment.route_table_id or attachment.policy_table_id)


def _transit_gateway_tables(descriptions: list[TransitGatewayRouteTable]) -> list[TransitGatewayRouteTable]:
    """Return descriptions with different routes; the order of routes does not matter."""
    distinct = {(frozenset(each.routes), each.truncated): each for each in reversed(descriptions)}
    return list(reversed(distinct.values()))


def _distinct(records: Iterable[_Record]) -> list[_Record]:
    """Return records that differ, in their order."""
    found: list[_Record] = []
    for record in records:
        if record not in found:
            found.append(record)
    return found


def _together(parts: Iterable[Iterable[_Item]]) -> tuple[_Item, ...]:
    """Return everything in the parts, each once, in their order."""
    return tuple(dict.fromkeys(item for part in parts for item in part))


def _disputed_tables(
    snapshots: Sequence[Snapshot], subnets: Mapping[str, Subnet], tables: Mapping[str, RouteTable]
) -> dict[str, tuple[Claim, ...]]:
    """Return the claims of accounts on each subnet, unless they are what the merged tables say.

    An account that lists a subnet also lists its table: an association with it, or else the main table of the VPC. One that
    lists neither says nothing. If only other accounts show that the list of a VPC's tables is partial, the main table may
    govern a subnet all the same.
    """
    found: dict[str, dict[Claim, None]] = {}
    partial = {vpc_id for snapshot in snapshots for vpc_id in _partly_listed(snapshot, tables)}
    for snapshot in snapshots:
        claims = claims_of(snapshot.route_tables.values(), snapshot.subnets)
        partial_here = _partly_listed(snapshot, tables)
        for subnet in snapshot.subnets.values():
            claim = claims.claim_on(subnet)
            if claim.table_ids:
                found.setdefault(subnet.id, {})[claim] = None
            if claim.table_ids and claim.by_main and subnet.vpc_id in partial - partial_here:
                found[subnet.id][claim._replace(by_main=False)] = None
    claims = claims_of(tables.values(), subnets)
    usual = {subnet.id: (claims.claim_on(subnet),) for subnet in subnets.values()}
    return {subnet_id: tuple(said) for subnet_id, said in found.items() if tuple(said) != usual[subnet_id]}


def _partly_listed(snapshot: Snapshot, tables: Mapping[str, RouteTable]) -> set[str]:
    """Return the VPCs whose tables an account lists in part, as its own endpoints and NAT gateways show."""
    return {*unlisted_tables(snapshot.vpc_endpoints.values(), snapshot.nat_gateways.values(), tables)}
