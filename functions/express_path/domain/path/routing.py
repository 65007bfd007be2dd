"""Which route table governs a subnet, and which of its routes wins for which addresses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from express_path.domain.network.addresses import BITS, Cidr, Family
from express_path.domain.network.resources import ASSOCIATION_STATES, PrefixList, Rank, Route, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot


class GoverningTables:
    """Answers which route table is in force for a subnet of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Index the associations that count, of tables that may govern a subnet."""
        self._explicit: _Claims = {}
        self._main: _Claims = {}
        regional = {gateway.route_table_id for gateway in snapshot.nat_gateways.values()}
        for table in snapshot.route_tables.values():
            if table.id not in regional:
                self._index(table)

    def _index(self, table: RouteTable) -> None:
        for each in table.associations:
            if not each.counts or each.gateway_id:
                continue
            if each.subnet_id:
                _claim(self._explicit, (each.subnet_id, each.state), table)
            elif each.main:
                _claim(self._main, (table.vpc_id, each.state), table)

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """The explicitly associated table, else the main one of the subnet's own VPC; of two, the one `associating`.

        None where neither can be seen, or where several tables claim to be the one. An association with a gateway
        routes what comes in there, never what leaves a subnet, and the table of a regional NAT gateway governs none
        (https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html).
        """
        for claims, key in ((self._explicit, subnet.id), (self._main, subnet.vpc_id)):
            for state in ASSOCIATION_STATES:
                if (key, state) in claims:
                    return claims[key, state]
        return None


_Claims = dict[tuple[str, str], RouteTable | None]
"""The table that an association in some state gives a subnet or a VPC, None where several tables claim to be it."""


def _claim(claims: _Claims, key: tuple[str, str], table: RouteTable) -> None:
    """Note that a table governs; a second one makes it unknown, as lists read while an association moves may show."""
    if claims.setdefault(key, table) is not table:
        claims[key] = None


def overlap(one: Cidr, other: Cidr) -> bool:
    """Whether two blocks have an address in common; then one contains the other."""
    return contains(one, other) or contains(other, one)


def contains(outer: Cidr, inner: Cidr) -> bool:
    """Whether every address of the inner block is in the outer one."""
    return (
        outer.family is inner.family and outer.length <= inner.length and inner.shortened(outer.length) == outer.network
    )


class AddressSet(NamedTuple):
    """Addresses: those of a block that are in none of the holes, which are disjoint blocks inside it."""

    block: Cidr
    holes: tuple[Cidr, ...] = ()

    def blocks(self) -> Iterator[Cidr]:
        """The same addresses as disjoint blocks."""
        if not self.holes:
            yield self.block
        elif self.block not in self.holes:
            length = self.block.length + 1
            upper = self.block.network | 1 << (BITS[self.block.family] - length)
            for network in (self.block.network, upper):
                half = Cidr(self.block.family, network, length)
                yield from AddressSet(
                    half, tuple(hole for hole in self.holes if hole.shortened(length) == network)
                ).blocks()


class RoutedBlocks(NamedTuple):
    """Addresses that share their winning routes: several where AWS picks one at random, none where none matches."""

    region: AddressSet
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A route whose prefix list cannot be read, and which may therefore match any address of its family."""

    route: Route
    family: Family | None


class RoutingIndex:
    """A route table's destinations as integers, by family, prefix length and network: a lookup parses nothing."""

    def __init__(self, routes: Iterable[Route], prefix_lists: Mapping[str, PrefixList]) -> None:
        """Expand prefix lists and keep, for each exact prefix, the routes of the best rank."""
        self._prefixes: dict[tuple[Family, int], dict[int, tuple[Rank, list[Route]]]] = {}
        self.unreadable: list[Unreadable] = []
        for route in routes:
            self._add(route, prefix_lists)
        self._longest_first = sorted(self._prefixes, key=lambda each: -each[1])

    def _add(self, route: Route, prefix_lists: Mapping[str, PrefixList]) -> None:
        if isinstance(route.destination, Cidr):
            self._keep(route.destination, route.rank, route)
            return
        prefix_list = prefix_lists.get(route.destination)
        if prefix_list is None or prefix_list.cidrs is None:
            self.unreadable.append(Unreadable(route, prefix_list.family if prefix_list else None))
            return
        for block in prefix_list.cidrs:
            self._keep(block, max(route.rank, Rank.PREFIX_LIST), route)

    def _keep(self, block: Cidr, rank: Rank, route: Route) -> None:
        networks = self._prefixes.setdefault((block.family, block.length), {})
        best, routes = networks.get(block.network, (rank, []))
        if rank < best:
            routes = []
        if rank <= best:
            routes.append(route)
            networks[block.network] = (rank, routes)

    def parts(self, block: Cidr) -> Iterator[RoutedBlocks]:
        """Split a block into the parts that different prefixes of this table decide, longest prefix first in force.

        https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
        """
        inside = sorted(self._inside(block), key=lambda each: (each.network, each.length))
        open_blocks = [_Cover(block, self._covering(block))]
        for each in inside:
            while not contains(open_blocks[-1].block, each):
                yield from open_blocks.pop().rest()
            open_blocks[-1].holes.append(each)
            open_blocks.append(_Cover(each, self._at(each)))
        while open_blocks:
            yield from open_blocks.pop().rest()

    def _inside(self, block: Cidr) -> Iterator[Cidr]:
        shift = BITS[block.family] - block.length
        wanted = block.network >> shift
        for (family, length), networks in self._prefixes.items():
            if family is block.family and length > block.length:
                yield from (Cidr(family, network, length) for network in networks if network >> shift == wanted)

    def _covering(self, block: Cidr) -> tuple[Route, ...]:
        for family, length in self._longest_first:
            if family is block.family and length <= block.length:
                found = self._prefixes[family, length].get(block.shortened(length))
                if found:
                    return tuple(found[1])
        return ()

    def _at(self, block: Cidr) -> tuple[Route, ...]:
        return tuple(self._prefixes[block.family, block.length][block.network][1])

    def has_routes(self, family: Family) -> bool:
        """Whether any route could carry addresses of this family somewhere: local ones and blackholes cannot."""
        read = (
            route
            for (of_family, _), networks in self._prefixes.items()
            if of_family is family
            for _, routes in networks.values()
            for route in routes
        )
        unread = (each.route for each in self.unreadable if each.family in (None, family))
        return any(route.target_id != "local" and not route.is_blackhole for route in chain(read, unread))


@dataclass(slots=True)
class _Cover:
    """A block being split, and the longer prefixes that take addresses out of it."""

    block: Cidr
    routes: tuple[Route, ...]
    holes: list[Cidr] = field(default_factory=list)

    def rest(self) -> Iterator[RoutedBlocks]:
        """The part that no longer prefix takes out of the block, if any address is left."""
        if sum(hole.size for hole in self.holes) < self.block.size:
            yield RoutedBlocks(AddressSet(self.block, tuple(self.holes)), self.routes)
