"""Routing: which route table governs a subnet, and which of its routes wins for each address."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from express_path.domain.network.addresses import BITS, Cidr, Family, nat64
from express_path.domain.network.resources import (
    ASSOCIATION_STATES,
    AnyRouteTable,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Unknown

_EXISTING = ("available", "pending")
"""The states of an endpoint that is associated with route tables. One that is deleted may still name deleted tables."""
_GONE = ("failed", "deleting", "deleted")
"""The states of a NAT gateway without a route table of its own: EC2 lists those that are deleted for an hour
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-working-with.html)."""
_TableIds = dict[str, tuple[str, ...]]


class Claims(NamedTuple):
    """The tables that claim each subnet, or to be the main table of each VPC, all by id; several contradict each other."""

    by_subnet: _TableIds
    main_by_vpc: _TableIds


class GoverningTables:
    """Finds the route table that governs a subnet of one snapshot."""

    def __init__(self, snapshot: Snapshot, claims: Claims | None) -> None:
        """Find what the associations claim, unless it is known from a snapshot with the same ones."""
        self._snapshot = snapshot
        self.claims = claims or claims_of(snapshot.route_tables.values())
        named = [
            (endpoint.vpc_id, endpoint.id, table_id)
            for endpoint in snapshot.vpc_endpoints.values()
            if endpoint.state in _EXISTING
            for table_id in endpoint.route_table_ids
        ]
        named += [
            (gateway.vpc_id, gateway.id, gateway.route_table_id)
            for gateway in snapshot.nat_gateways.values()
            if gateway.route_table_id and gateway.state not in _GONE
        ]
        unlisted = {
            (vpc_id, f"{resource_id} names {table_id}")
            for vpc_id, resource_id, table_id in named
            if table_id not in snapshot.route_tables
        }
        self._unlisted_by_vpc = dict(sorted(unlisted, reverse=True))

    def why_unknown(self, subnet: Subnet) -> tuple[str, Unknown | None]:
        """Return why the route table that governs a subnet cannot be determined, and what is not known, if that is a read."""
        claiming = sorted(table.id for table in self.claiming_tables(subnet))
        if claiming:
            return f"{' and '.join(claiming)} both claim the subnet: associate it with one of them", None
        unlisted = self._unlisted_table(subnet)
        if unlisted:
            note = f"{unlisted}, which is not listed and may govern the subnet (ec2:DescribeRouteTables)"
            return note, Unknown.PERMISSION
        return "its route table cannot be seen (ec2:DescribeRouteTables)", Unknown.PERMISSION

    def _unlisted_table(self, subnet: Subnet) -> str:
        """Return what names a table that is not listed and may be the subnet's own; empty if its own table is known.

        An association with an endpoint is no evidence for a route, but it shows that the list of tables is partial. So
        does a regional NAT gateway's own table.
        """
        for table_id in sorted(subnet.table_ids):
            if table_id not in self._snapshot.route_tables:
                return f"{subnet.id} names {table_id}"
        return "" if subnet.id in self.claims.by_subnet else self._unlisted_by_vpc.get(subnet.vpc_id, "")

    def claiming_tables(self, subnet: Subnet) -> tuple[RouteTable, ...]:
        """Return the route tables that claim a subnet with the same right: one, unless none can be seen or EC2 errs.

        An association with the subnet takes precedence over the main table of its VPC, and one in state `associating`
        over one in state `associated`. What else is associated with a table, such as a gateway, does not matter: the
        table of a regional NAT gateway governs the subnets that are associated with it
        (https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html).
        """
        if self._unlisted_table(subnet):
            return ()
        table_ids = self.claims.by_subnet.get(subnet.id) or self.claims.main_by_vpc.get(subnet.vpc_id, ())
        return tuple(map(self._snapshot.route_tables.__getitem__, table_ids))

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the route table that governs a subnet; None if none can be seen, or if several claim it."""
        claiming = self.claiming_tables(subnet)
        return claiming[0] if len(claiming) == 1 else None

    def governed_subnets(self, table: RouteTable) -> Sequence[Subnet]:
        """Return the subnets that a table governs, in the order of the snapshot."""
        return self._governed.get(table.id, ())

    @cached_property
    def _governed(self) -> Mapping[str, Sequence[Subnet]]:
        """The subnets by the id of each table that claims them: a change of either table may settle which one it is."""
        found: defaultdict[str, list[Subnet]] = defaultdict(list)
        for subnet in self._snapshot.subnets.values():
            for table in self.claiming_tables(subnet):
                found[table.id].append(subnet)
        return dict(found)


def claims_of(tables: Iterable[RouteTable]) -> Claims:
    """Return what the associations of these tables claim, as far as they count."""
    by_subnet: dict[str, _TableIds] = {state: {} for state in ASSOCIATION_STATES}
    main_by_vpc: dict[str, _TableIds] = {state: {} for state in ASSOCIATION_STATES}
    for table in tables:
        for association in table.associations:
            if not association.counts:
                continue
            if association.subnet_id:
                _claim(by_subnet[association.state], association.subnet_id, table.id)
            elif association.main:
                _claim(main_by_vpc[association.state], table.vpc_id, table.id)
    return Claims(_by_precedence(by_subnet), _by_precedence(main_by_vpc))


def _by_precedence(claims_by_state: dict[str, _TableIds]) -> _TableIds:
    """Return the claims of all states. If several states have a claim, the first state in ASSOCIATION_STATES counts."""
    found: _TableIds = {}
    for state in reversed(ASSOCIATION_STATES):
        found.update(claims_by_state[state])
    return found


def _claim(claims: _TableIds, owner_id: str, table_id: str) -> None:
    """Record that a table claims a subnet or a VPC."""
    known = claims.get(owner_id, ())
    if table_id not in known:
        claims[owner_id] = (*known, table_id)


def overlap(one: Cidr, other: Cidr) -> bool:
    """Return whether two blocks have an address in common; one then contains the other."""
    return contains(one, other) or contains(other, one)


def contains(outer: Cidr, inner: Cidr) -> bool:
    """Return whether every address of the inner block is in the outer one."""
    return (
        outer.family is inner.family and outer.length <= inner.length and inner.shortened(outer.length) == outer.network
    )


class AddressSet(NamedTuple):
    """The addresses of a block that are in none of the holes, which are disjoint blocks inside it."""

    block: Cidr
    holes: tuple[Cidr, ...] = ()

    def under_nat64(self) -> "AddressSet":
        """Return the 64:ff9b:: addresses that stand for these IPv4 addresses."""
        return AddressSet(nat64(self.block), tuple(map(nat64, self.holes)))

    def blocks(self) -> Iterator[Cidr]:
        """Yield disjoint blocks that hold the same addresses."""
        if not self.holes:
            yield self.block
        elif self.block not in self.holes:
            length = self.block.length + 1
            upper = self.block.network | 1 << (BITS[self.block.family] - length)
            for network in (self.block.network, upper):
                holes = tuple(hole for hole in self.holes if hole.shortened(length) == network)
                yield from AddressSet(Cidr(self.block.family, network, length), holes).blocks()


def rank_of(route: Route) -> Rank:
    """Return a route's rank among routes of equal prefix length: a prefix list's route comes after static CIDR routes.

    https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
    """
    return route.rank if isinstance(route.destination, Cidr) else max(route.rank, Rank.PREFIX_LIST)


class RoutedBlocks(NamedTuple):
    """Addresses that share their winning routes: several if AWS picks one at random, none if no route matches."""

    addresses: AddressSet
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class UnreadableRoute:
    """A route whose prefix list cannot be read, so that it may match any address of its family.

    family is None if the prefix list's family is unknown too.
    """

    route: Route
    family: Family | None

    def may_match(self, family: Family) -> bool:
        """Return whether the route may match addresses of a family."""
        return self.family in (None, family)


_Prefixes = dict[int, dict[int, list[Route]]]
"""The winning routes to each exact prefix of one address family, by prefix length and then by network address."""


class RoutingIndex:
    """A route table's destinations as integers, by family, prefix length, and network: a lookup parses no text."""

    def __init__(self, routes: Iterable[Route], prefix_lists: Mapping[str, PrefixList]) -> None:
        """Expand prefix lists and keep, for each exact prefix, the routes of the best rank."""
        self._prefixes: dict[Family, _Prefixes] = {Family.IPV4: {}, Family.IPV6: {}}
        self.unreadable: list[UnreadableRoute] = []
        for route in routes:
            self._add(route, prefix_lists)
        self._longest_first = {family: sorted(prefixes, reverse=True) for family, prefixes in self._prefixes.items()}

    def _add(self, route: Route, prefix_lists: Mapping[str, PrefixList]) -> None:
        if isinstance(route.destination, Cidr):
            self._keep(route.destination, route)
            return
        prefix_list = prefix_lists.get(route.destination)
        if prefix_list is None or prefix_list.cidrs is None:
            self.unreadable.append(UnreadableRoute(route, prefix_list.family if prefix_list else None))
            return
        for block in prefix_list.cidrs:
            self._keep(block, route)

    def _keep(self, block: Cidr, route: Route) -> None:
        """Keep a route to a block, unless routes of a better rank lead there."""
        networks = self._prefixes[block.family].setdefault(block.length, {})
        winners = networks.get(block.network)
        if winners is None:  # the usual case
            networks[block.network] = [route]
            return
        best, *others = sorted((*winners, route), key=rank_of)
        ties = (rank_of(best), Rank.SYSTEM)
        networks[block.network] = [best, *(other for other in others if rank_of(other) in ties)]

    def split(self, block: Cidr) -> Iterator[RoutedBlocks]:
        """Split a block by the prefixes of this table: each address belongs to the longest prefix that matches it.

        https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
        """
        inside = sorted(self._inside(block), key=lambda prefix: (prefix.network, prefix.length))
        if not inside:  # the usual case
            yield RoutedBlocks(AddressSet(block), self._routes_covering(block))
            return
        open_prefixes = [_OpenPrefix(block, self._routes_covering(block))]
        for prefix in inside:
            while not contains(open_prefixes[-1].block, prefix):
                yield from open_prefixes.pop().remaining()
            open_prefixes[-1].holes.append(prefix)
            open_prefixes.append(_OpenPrefix(prefix, self._routes_to(prefix)))
        while open_prefixes:
            yield from open_prefixes.pop().remaining()

    def _inside(self, block: Cidr) -> Iterator[Cidr]:
        """Yield the prefixes that are longer than a block and inside it."""
        shift = BITS[block.family] - block.length
        wanted = block.network >> shift
        for length, networks in self._prefixes[block.family].items():
            if length > block.length:
                yield from (Cidr(block.family, network, length) for network in networks if network >> shift == wanted)

    def _routes_covering(self, block: Cidr) -> tuple[Route, ...]:
        """Return the routes to the longest prefix that contains a whole block."""
        prefixes = self._prefixes[block.family]
        for length in self._longest_first[block.family]:
            if length <= block.length:
                winners = prefixes[length].get(block.shortened(length))
                if winners:
                    return tuple(winners)
        return ()

    def _routes_to(self, prefix: Cidr) -> tuple[Route, ...]:
        return tuple(self._prefixes[prefix.family][prefix.length][prefix.network])

    def has_routes(self, family: Family) -> bool:
        """Return whether any route could carry addresses of this family: local routes and blackholes cannot."""
        return any(route.target_id != "local" and not route.is_blackhole for route in self._routes_of(family))

    def has_other_than_local(self, family: Family) -> bool:
        """Return whether any route of this family, or one whose family is unknown, is not local."""
        return any(route.target_id != "local" for route in self._routes_of(family))

    def _routes_of(self, family: Family) -> Iterator[Route]:
        for networks in self._prefixes[family].values():
            yield from chain.from_iterable(networks.values())
        yield from (unread.route for unread in self.unreadable if unread.may_match(family))


@dataclass(slots=True)
class _OpenPrefix:
    """A block that is being split, and the longer prefixes found in it so far."""

    block: Cidr
    routes: tuple[Route, ...]
    holes: list[Cidr] = field(default_factory=list)

    def remaining(self) -> Iterator[RoutedBlocks]:
        """Yield the addresses of the block that no longer prefix matches, if there are any."""
        if sum(hole.size for hole in self.holes) < self.block.size:
            yield RoutedBlocks(AddressSet(self.block, tuple(self.holes)), self.routes)


class RoutingIndexes:
    """Builds and keeps the routing index of each route table, with or without routes to gateway endpoints."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Start without any index."""
        self._snapshot = snapshot
        self._of_all_routes: dict[str, RoutingIndex] = {}
        self._without_gateway_endpoints: dict[str, RoutingIndex] = {}

    def index_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> RoutingIndex:
        """Return the index of a table's routes."""
        indexes = self._without_gateway_endpoints if skip_gateway_endpoints else self._of_all_routes
        index = indexes.get(table.id)
        if index is None:
            routes = self.routes_of(table, skip_gateway_endpoints=skip_gateway_endpoints)
            index = indexes[table.id] = RoutingIndex(routes, self._snapshot.prefix_lists)
        return index

    def routes_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> list[Route]:
        """Return a table's routes, with or without those to gateway endpoints."""
        return [route for route in table.routes if not (skip_gateway_endpoints and self._is_gateway_endpoint(route))]

    def _is_gateway_endpoint(self, route: Route) -> bool:
        endpoint = self._snapshot.vpc_endpoints.get(route.target_id)
        return endpoint is not None and endpoint.endpoint_type == "gateway"
