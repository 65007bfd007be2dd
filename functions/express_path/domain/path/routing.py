"""Routing: which route table governs a subnet, and which of its routes wins for each address."""

from collections import ChainMap, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import NamedTuple, cast

from express_path.domain.network.addresses import BITS, Cidr, Family, nat64
from express_path.domain.network.claims import UNKNOWN_TABLE, Claim, Claims, claims_of
from express_path.domain.network.resources import (
    STOPPED,
    AnyRouteTable,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Unknown


class GoverningTables:
    """Finds the route table that governs a subnet of one snapshot."""

    def __init__(self, snapshot: Snapshot, claims: Claims | None) -> None:
        """Find what the associations claim, unless it is known from a snapshot with the same ones."""
        self._snapshot = snapshot
        self.claims = claims or claims_of(snapshot.route_tables.values(), snapshot.subnets)

    def why_unknown(self, subnet: Subnet) -> tuple[str, Unknown | None]:
        """Return why the route table that governs a subnet cannot be determined, and what is not known, if that is a read."""
        claiming = sorted(table.id for table in self.claiming_tables(subnet))
        if subnet.id in self._snapshot.disputed_tables:
            if not all(self._tables_of(claim, subnet) for claim in self._claims_on(subnet)):
                claiming.append("one that is not known")
            return f"accounts disagree about its route table: {' or '.join(claiming)}", None
        if claiming:
            return f"{' and '.join(claiming)} both claim the subnet: associate it with one of them", None
        claim = self.claims.claim_on(subnet)
        unknown = self.claims.unknown.get(subnet.vpc_id)
        if claim.by_main and unknown and unknown.subnet_id:
            return f"{unknown.table_id} is associated with {unknown.subnet_id}, which may be the subnet", None
        if claim.by_main and unknown:
            note = f"{unknown.table_id} does not show all its associations, so it may govern the subnet"
            return f"{note} (ec2:DescribeRouteTables)", Unknown.PERMISSION
        if UNKNOWN_TABLE in claim.table_ids:
            return f"the state of its association with {claim.table_ids[-1]} is not known", None
        unlisted = self._unlisted_table(subnet, claim)
        if unlisted:
            note = f"{unlisted}, which is not listed and may govern the subnet (ec2:DescribeRouteTables)"
            return note, Unknown.PERMISSION
        return "its route table cannot be seen (ec2:DescribeRouteTables)", Unknown.PERMISSION

    def _unlisted_table(self, subnet: Subnet, claim: Claim) -> str:
        """Return what names a table that is not listed and may be the subnet's own; empty if its own table is known.

        An association with an endpoint is no evidence for a route, but it shows that the list of tables is partial. So
        does a regional NAT gateway's own table.
        """
        for table_id in sorted(subnet.table_ids):
            if table_id not in self._snapshot.route_tables:
                return f"{subnet.id} names {table_id}"
        return self._snapshot.partly_listed_vpcs.get(subnet.vpc_id, "") if claim.by_main else ""

    def claiming_tables(self, subnet: Subnet) -> tuple[RouteTable, ...]:
        """Return the route tables that claim a subnet with the same right: one, unless none can be seen or EC2 errs.

        An association with the subnet takes precedence over the main table of its VPC, and one in state `associating`
        over one in state `associated`. What else is associated with a table, such as a gateway, does not matter: the
        table of a regional NAT gateway governs the subnets that are associated with it
        (https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html).
        """
        claiming = [table for claim in self._claims_on(subnet) for table in self._tables_of(claim, subnet)]
        return tuple({table.id: table for table in claiming}.values())

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the route table that governs a subnet; None if none can be seen, or if several claim it."""
        claiming = self.claiming_tables(subnet)
        return claiming[0] if len(claiming) == 1 else None

    def possible_tables(self, subnet: Subnet) -> tuple[RouteTable | None, ...]:
        """Return the table that governs a subnet by the claim of each account: one, unless they disagree.

        None stands for a table that cannot be determined.
        """
        claiming = [self._tables_of(claim, subnet) for claim in self._claims_on(subnet)]
        possible = [tables[0] if len(tables) == 1 else None for tables in claiming]
        return tuple({table.id if table else "": table for table in possible}.values())

    def _claims_on(self, subnet: Subnet) -> Sequence[Claim]:
        return self._snapshot.disputed_tables.get(subnet.id) or (self.claims.claim_on(subnet),)

    def _tables_of(self, claim: Claim, subnet: Subnet) -> tuple[RouteTable, ...]:
        """Return the tables of a claim; none if one that is not listed may govern the subnet instead."""
        if UNKNOWN_TABLE in claim.table_ids or self._unlisted_table(subnet, claim):
            return ()
        listed = map(self._snapshot.route_tables.get, claim.table_ids)
        return tuple(table for table in listed if table is not None)

    def governed_subnets(self, table: RouteTable) -> Sequence[Subnet]:
        """Return the subnets that a table governs, in the order of the snapshot."""
        return self._governed.get(table.id, ())

    @cached_property
    def _governed(self) -> Mapping[str, Sequence[Subnet]]:
        """The subnets by the id of each table that claims them: a change of either table may settle which one it is."""
        by_table: defaultdict[str, list[Subnet]] = defaultdict(list)
        for subnet in self._snapshot.subnets.values():
            for table in self.claiming_tables(subnet):
                by_table[table.id].append(subnet)
        return dict(by_table)


def overlap(first: Cidr, second: Cidr) -> bool:
    """Return whether two blocks have an address in common; one then contains the other."""
    return contains(first, second) or contains(second, first)


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
    """A route whose prefix list cannot be read, or not in full, so that it may match any address of its family.

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
        if prefix_list is None or prefix_list.cidrs is None or prefix_list.is_partial:
            self.unreadable.append(UnreadableRoute(route, prefix_list.family if prefix_list else None))
        for block in (prefix_list.cidrs if prefix_list else None) or ():
            self._keep(block, route)

    def _keep(self, block: Cidr, route: Route) -> None:
        """Keep a route to a block, unless routes of a better rank lead there."""
        networks = self._prefixes[block.family].setdefault(block.length, {})
        winners = networks.get(block.network)
        if winners is None:  # the usual case
            networks[block.network] = [route]
            return
        best, *worse = sorted((*winners, route), key=rank_of)
        ties = (rank_of(best), Rank.SYSTEM)
        networks[block.network] = [best, *(kept for kept in worse if rank_of(kept) in ties)]

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


_MAX_COMBINATIONS = 16
"""How many combinations of descriptions of the prefix lists in a table are followed."""


class RoutingIndexes:
    """Builds and keeps the routing indexes of each route table, with or without routes to gateway endpoints."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Start without any index."""
        self._snapshot = snapshot
        self._of_all_routes: dict[str, tuple[RoutingIndex, ...]] = {}
        self._without_gateway_endpoints: dict[str, tuple[RoutingIndex, ...]] = {}

    def indexes_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> tuple[RoutingIndex, ...]:
        """Return an index of each set of routes that a table may have: one, unless accounts disagree."""
        known = self._without_gateway_endpoints if skip_gateway_endpoints else self._of_all_routes
        indexes = known.get(table.id)
        if indexes is None:
            indexes = known[table.id] = tuple(self._indexes(table, skip_gateway_endpoints=skip_gateway_endpoints))
        return indexes

    def _indexes(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> Iterator[RoutingIndex]:
        for version in self._snapshot.versions_of(table):
            routes = self._kept(version.routes, skip_gateway_endpoints=skip_gateway_endpoints)
            for prefix_lists in self._possible_lists(routes):
                yield RoutingIndex(routes, prefix_lists)

    def _possible_lists(self, routes: Iterable[Route]) -> Iterator[Mapping[str, PrefixList]]:
        """Yield each combination of the descriptions of prefix lists that the routes name: one, unless accounts disagree.

        If there are too many combinations, there is one mapping for each description: if a route wins by that, it also wins
        where each other list about which accounts disagree has only the entries that all of them show.
        """
        lists = self._snapshot.prefix_lists
        named = dict.fromkeys(route.destination for route in routes if isinstance(route.destination, str))
        described = {list_id: self._snapshot.versions_of(lists[list_id]) for list_id in named if list_id in lists}
        disputed = {list_id: versions for list_id, versions in described.items() if len(versions) > 1}
        snapshot_lists = cast("dict[str, PrefixList]", lists)
        if prod(map(len, disputed.values())) <= _MAX_COMBINATIONS:
            for combination in product(*disputed.values()):
                chosen = {version.id: version for version in combination}
                yield ChainMap(chosen, snapshot_lists) if chosen else lists
            return
        least = {list_id: _common_entries(versions) for list_id, versions in disputed.items()}
        for list_id, versions in disputed.items():
            for version in versions:
                yield ChainMap({list_id: version}, least, snapshot_lists)

    def routes_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> list[Route]:
        """Return the routes that a table may have, with or without those to gateway endpoints."""
        versions = self._snapshot.versions_of(table)
        routes = dict.fromkeys(route for version in versions for route in version.routes)
        return self._kept(routes, skip_gateway_endpoints=skip_gateway_endpoints)

    def _kept(self, routes: Iterable[Route], *, skip_gateway_endpoints: bool) -> list[Route]:
        return [
            replace(route, state=STOPPED) if route.is_blackhole and self._may_exist(route) else route
            for route in routes
            if not (skip_gateway_endpoints and self._is_gateway_endpoint(route))
        ]

    def _may_exist(self, route: Route) -> bool:
        """Return whether a route's target is an interface that is listed, or that would be if interfaces could be read."""
        if route.target_kind not in (TargetKind.NETWORK_INTERFACE, TargetKind.INSTANCE):
            return False
        return self._snapshot.network_interfaces is None or route.target_id in self._interface_ids

    @cached_property
    def _interface_ids(self) -> frozenset[str | None]:
        """The network interfaces that exist, and the instances that they are attached to."""
        interfaces = (self._snapshot.network_interfaces or {}).values()
        versions = [version for interface in interfaces for version in self._snapshot.versions_of(interface)]
        return frozenset({*(version.id for version in versions), *(version.instance_id for version in versions)})

    def _is_gateway_endpoint(self, route: Route) -> bool:
        endpoint = self._snapshot.vpc_endpoints.get(route.target_id)
        return endpoint is not None and endpoint.endpoint_type == "gateway"


def _common_entries(versions: Sequence[PrefixList]) -> PrefixList:
    """Return a list with the entries that all descriptions of it have."""
    first, *more_versions = versions
    common = [cidr for cidr in first.cidrs or () if all(cidr in (version.cidrs or ()) for version in more_versions)]
    return replace(first, cidrs=tuple(common))
