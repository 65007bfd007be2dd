"""One network from what several accounts see of it.

If one account cannot see something, another account may show it. If they disagree about something, because one of them was
read earlier, each description of it is kept: which one is right is not known.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

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
    first, *more = snapshots
    if not more:
        return first
    foreign = {subnet_id for snapshot in more for subnet_id in snapshot.subnets}
    merging = _Merging([snapshot.account_id for snapshot in snapshots])
    subnets = merging.keep(merging.of_owners([snapshot.subnets for snapshot in snapshots]), _subnets)
    tables = merging.keep(merging.of_owners([snapshot.route_tables for snapshot in snapshots]), _tables)
    return replace(
        first,
        foreign_subnet_ids=frozenset(foreign - first.subnets.keys()),
        vpcs={
            vpc_id: _vpc(descriptions)
            for vpc_id, descriptions in merging.of_owners([snapshot.vpcs for snapshot in snapshots]).items()
        },
        subnets=subnets,
        route_tables=tables,
        vpc_endpoints=merging.keep(merging.of_owners([snapshot.vpc_endpoints for snapshot in snapshots]), _endpoints),
        nat_gateways=merging.keep(_in_order([snapshot.nat_gateways for snapshot in snapshots]) or {}),
        prefix_lists=merging.keep(
            _in_order([snapshot.prefix_lists for snapshot in snapshots]) or {}, partial(_prefix_lists, first.region)
        ),
        firewalls=merging.optional([snapshot.firewalls for snapshot in snapshots], _firewall),
        others_with_ipv6_lists=frozenset(snapshot.account_id for snapshot in more if snapshot.lists_ipv6_prefix_lists),
        network_interfaces=merging.optional([snapshot.network_interfaces for snapshot in snapshots]),
        instances=_firsts([snapshot.instances for snapshot in snapshots]) or {},
        transit_gateway_attachments=merging.optional(
            [snapshot.transit_gateway_attachments for snapshot in snapshots], _attachments
        ),
        transit_gateway_route_tables=merging.optional(
            [snapshot.transit_gateway_route_tables for snapshot in snapshots], _transit_gateway_tables
        ),
        transit_gateway_policy_tables=merging.optional(
            [snapshot.transit_gateway_policy_tables for snapshot in snapshots]
        ),
        transit_gateway_of_table=_firsts([snapshot.transit_gateway_of_table for snapshot in snapshots]),
        transit_gateway_connects=_connects([snapshot.transit_gateway_connects for snapshot in snapshots]),
        interfaces_listed_in=frozenset[str]().union(*(snapshot.interfaces_listed_in for snapshot in snapshots)),
        core_network_attachments=merging.optional([snapshot.core_network_attachments for snapshot in snapshots]),
        denied=_together(snapshot.denied for snapshot in snapshots),
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
        descriptions: _Descriptions[_Resource] = {}
        for account_id, view in zip(self._account_ids, views, strict=True):
            for key, resource in view.items():
                its_descriptions = descriptions.setdefault(key, [])
                its_descriptions.insert(0 if resource.owner_id == account_id else len(its_descriptions), resource)
        return descriptions

    def keep(
        self, by_id: _Descriptions[_Record], unify: Callable[[list[_Record]], list[_Record]] | None = None
    ) -> dict[str, _Record]:
        """Return the preferred description of each resource, and keep the others that differ from it.

        unify adds to each description what only others show, and removes differences that are none.
        """
        kept = {}
        for key, descriptions in by_id.items():
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
        by_id = _in_order(views)
        return None if by_id is None else self.keep(by_id, unify)


def _in_order(views: Sequence[Mapping[str, _Value] | None]) -> _Descriptions[_Value] | None:
    """Return all descriptions of each resource, in the order of the accounts; None if no account can read any."""
    readable = [view for view in views if view is not None]
    by_id: _Descriptions[_Value] = {}
    for view in readable:
        for key, resource in view.items():
            by_id.setdefault(key, []).append(resource)
    return by_id if readable else None


def _firsts(views: Sequence[Mapping[str, _Value] | None]) -> dict[str, _Value] | None:
    """Return the first description of each resource; None if no account can read any of the resources."""
    by_id = _in_order(views)
    return None if by_id is None else {key: descriptions[0] for key, descriptions in by_id.items()}


def _connects(views: Sequence[Mapping[str, frozenset[str]] | None]) -> dict[str, frozenset[str]] | None:
    """Return every transport attachment that an account shows of a Connect attachment; empty if none shows it."""
    by_id = _in_order(views)
    if by_id is None:
        return None
    shown = {key: frozenset[str]().union(*transports) for key, transports in by_id.items()}
    return {key: transports - {""} or transports for key, transports in shown.items()}


def _vpc(descriptions: list[Vpc]) -> Vpc:
    """Return a VPC. Its mode can only close a regional NAT gateway, so the one that closes least has the worst result."""
    order = list(BlockMode)
    return replace(descriptions[0], block_mode=min((vpc.block_mode for vpc in descriptions), key=order.index))


def _subnets(descriptions: list[Subnet]) -> list[Subnet]:
    """Return descriptions that differ in the zone, the mode of Block Public Access, and the tables that they name.

    Tags are those that the owner sees. A kind of address that one account shows counts, because it can only add ways out.
    """
    first = replace(
        descriptions[0],
        ipv6_native=all(subnet.ipv6_native for subnet in descriptions),
        has_ipv6=any(subnet.has_ipv6 for subnet in descriptions),
        dns64=any(subnet.dns64 for subnet in descriptions),
        blocks=tuple(sorted({block for subnet in descriptions for block in subnet.blocks})),
    )
    distinct = {(subnet.availability_zone_id, subnet.block_mode, subnet.table_ids): None for subnet in descriptions}
    return [
        replace(first, availability_zone_id=zone, block_mode=mode, table_ids=table_ids)
        for zone, mode, table_ids in distinct
    ]


def _tables(descriptions: list[RouteTable]) -> list[RouteTable]:
    """Return descriptions that differ in their routes only. `disputed_tables` has what their associations say."""
    distinct = {frozenset(table.routes): table.routes for table in reversed(descriptions)}
    return [replace(descriptions[0], routes=routes) for routes in reversed(distinct.values())]


def _endpoints(descriptions: list[VpcEndpoint]) -> list[VpcEndpoint]:
    """Return descriptions with the tags that the owner sees; the order of what they list does not matter."""
    first = descriptions[0]
    return [
        replace(
            endpoint,
            tags=first.tags,
            owner_id=first.owner_id,
            subnet_ids=tuple(sorted(endpoint.subnet_ids)),
            route_table_ids=tuple(sorted(endpoint.route_table_ids)),
        )
        for endpoint in descriptions
    ]


def _prefix_lists(region: str, descriptions: list[PrefixList]) -> list[PrefixList]:
    """Return descriptions with different entries: one account may read those, and another the name and the owner.

    S3 Express's list has one description, with the entries that any account shows: each may be an address of the service.
    """
    named = min(descriptions, key=lambda row: (not row.aws_owned, not row.name))
    names = _together((row.name, *row.other_names) for row in (named, *descriptions) if row.name)
    named = replace(named, name=names[0] if names else "", other_names=names[1:])
    readable = [row for row in descriptions if row.cidrs is not None]
    if not readable:
        return [named]
    if express_name(named, region):
        cidrs = _together(row.cidrs or () for row in readable)
        return [_with_blocks(named, cidrs, is_partial=any(row.is_partial for row in readable))]
    distinct = {(frozenset(row.cidrs or ()), row.is_partial): row for row in reversed(readable)}
    return [_with_blocks(named, row.cidrs or (), is_partial=row.is_partial) for row in reversed(distinct.values())]


def _with_blocks(named: PrefixList, cidrs: tuple[Cidr, ...], *, is_partial: bool) -> PrefixList:
    """Return a list with its blocks, whose family is that of the list."""
    family = next((cidr.family for cidr in cidrs), named.family)
    return replace(named, cidrs=cidrs, family=family, is_partial=is_partial)


def _firewall(descriptions: list[Firewall]) -> list[Firewall]:
    """Return descriptions that differ in the endpoints that the firewall itself names. It translates if any says so.

    The endpoints of associations add up: one account may see the firewall, and another an endpoint in its own VPC.
    """
    gateways: dict[str, str] = {}
    for firewall in reversed(descriptions):
        gateways |= firewall.nat_gateway_ids
    first = replace(
        descriptions[0],
        is_proxy=any(firewall.is_proxy for firewall in descriptions),
        forwards=all(firewall.forwards for firewall in descriptions),
        nat_gateway_ids=gateways,
        associated=_together(firewall.associated for firewall in descriptions),
    )
    named = dict.fromkeys(tuple(sorted(firewall.endpoint_ids)) for firewall in descriptions)
    return [replace(first, endpoint_ids=endpoint_ids) for endpoint_ids in named]


def _attachments(descriptions: list[TransitGatewayAttachment]) -> list[TransitGatewayAttachment]:
    """Return descriptions, each with what it lacks from the others.

    A transit gateway's owner sees associations, and a VPC's owner the attachment's subnets. An association that has no
    effect, because of its state, is none that is lacking.
    """
    shown_associations = [_association(attachment) for attachment in descriptions if _shows_association(attachment)]
    shown_subnets: list[tuple[str, ...] | None] = [
        attachment.subnet_ids for attachment in descriptions if attachment.subnet_ids
    ]
    appliance_mode = any(attachment.appliance_mode for attachment in descriptions)
    completed = []
    for attachment in descriptions:
        its_associations = [_association(attachment)]
        if not _shows_association(attachment):
            its_associations = shown_associations or [_NO_ASSOCIATION]
        its_subnets = [attachment.subnet_ids] if attachment.subnet_ids else shown_subnets or [None]
        for route_table_id, policy_table_id, is_certain in its_associations:
            for subnet_ids in its_subnets:
                completed.append(
                    replace(
                        attachment,
                        route_table_id=route_table_id,
                        policy_table_id=policy_table_id,
                        is_association_certain=is_certain,
                        subnet_ids=tuple(sorted(subnet_ids)) if subnet_ids else None,
                        appliance_mode=appliance_mode,
                        shows_association=bool(shown_associations),
                    )
                )
    return completed


class _Association(NamedTuple):
    """The route table and the policy table with which an attachment is associated, and whether that is certain."""

    route_table_id: str | None
    policy_table_id: str | None
    is_certain: bool


_NO_ASSOCIATION = _Association(None, None, is_certain=True)


def _association(attachment: TransitGatewayAttachment) -> _Association:
    return _Association(attachment.route_table_id, attachment.policy_table_id, attachment.is_association_certain)


def _shows_association(attachment: TransitGatewayAttachment) -> bool:
    return attachment.shows_association or bool(attachment.route_table_id or attachment.policy_table_id)


def _transit_gateway_tables(descriptions: list[TransitGatewayRouteTable]) -> list[TransitGatewayRouteTable]:
    """Return descriptions with different routes; the order of routes does not matter."""
    distinct = {(frozenset(table.routes), table.truncated): table for table in reversed(descriptions)}
    return list(reversed(distinct.values()))


def _distinct(records: Iterable[_Record]) -> list[_Record]:
    """Return records that differ, in their order."""
    distinct: list[_Record] = []
    for record in records:
        if record not in distinct:
            distinct.append(record)
    return distinct


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
    said_of: dict[str, dict[Claim, None]] = {}
    partial = {vpc_id for snapshot in snapshots for vpc_id in _partly_listed(snapshot, tables)}
    for snapshot in snapshots:
        claims = claims_of(snapshot.route_tables.values(), snapshot.subnets)
        partial_here = _partly_listed(snapshot, tables)
        for subnet in snapshot.subnets.values():
            claim = claims.claim_on(subnet)
            if claim.table_ids:
                said_of.setdefault(subnet.id, {})[claim] = None
            if claim.table_ids and claim.by_main and subnet.vpc_id in partial - partial_here:
                said_of[subnet.id][claim._replace(by_main=False)] = None
    claims = claims_of(tables.values(), subnets)
    usual = {subnet.id: (claims.claim_on(subnet),) for subnet in subnets.values()}
    return {
        subnet_id: tuple(claims_said)
        for subnet_id, claims_said in said_of.items()
        if tuple(claims_said) != usual[subnet_id]
    }


def _partly_listed(snapshot: Snapshot, tables: Mapping[str, RouteTable]) -> set[str]:
    """Return the VPCs whose tables an account lists in part, as its own endpoints and NAT gateways show."""
    return {*unlisted_tables(snapshot.vpc_endpoints.values(), snapshot.nat_gateways.values(), tables)}
