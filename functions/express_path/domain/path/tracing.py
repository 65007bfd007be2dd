"""Tracing: from a subnet's route table, for every S3 Express address, to where its traffic leaves."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family, nat64
from express_path.domain.network.resources import PrefixList, Route, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.hops import (
    UNSEEN,
    follow_internet_gateway,
    follow_local,
    follow_nat_gateway,
    follow_unseen,
    follow_vpc_endpoint,
)
from express_path.domain.path.interfaces import follow_network_interface
from express_path.domain.path.onward import AnyRouteTable, Follow
from express_path.domain.path.outcomes import (
    MAX_ROUTE_TABLES,
    Outcome,
    Traced,
    TraceState,
    alternatives,
    hop_of,
    terminal,
    unresolved,
)
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet, GoverningTables, RoutedBlocks, RoutingIndex
from express_path.domain.path.transit import follow_attachment, follow_transit_gateway

FOLLOW: Mapping[TargetKind, Follow] = {
    TargetKind.LOCAL: follow_local,
    TargetKind.NAT_GATEWAY: follow_nat_gateway,
    TargetKind.INTERNET_GATEWAY: follow_internet_gateway,
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: follow_internet_gateway,
    TargetKind.VPC_ENDPOINT: follow_vpc_endpoint,
    TargetKind.NETWORK_INTERFACE: follow_network_interface,
    TargetKind.INSTANCE: follow_network_interface,
    TargetKind.TRANSIT_GATEWAY: follow_transit_gateway,
    TargetKind.TRANSIT_GATEWAY_ATTACHMENT: follow_attachment,
    **dict.fromkeys(UNSEEN, follow_unseen),
}
"""How each kind of route target is followed."""


class Families(NamedTuple):
    """By which addresses a subnet's hosts can reach a service."""

    ipv4: bool
    ipv6: bool
    dns64: bool


def families_of(subnet: Subnet) -> Families:
    """IPv4 unless the subnet is IPv6-native, IPv6 with an associated block, and with DNS64 also 64:ff9b:: addresses.

    The resolver answers with these in a dual-stack subnet too, and clients prefer IPv6
    (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html).
    """
    return Families(not subnet.ipv6_native, subnet.has_ipv6, subnet.has_ipv6 and subnet.dns64)


_BLACKHOLE = "blackhole: its target is gone; replace or delete the route"

_Decided = tuple[tuple[Traced, ...], frozenset[str]]
"""Where every address leads from a table, and the ids of the tables asked for it, that table among them."""


_Place = tuple[str, Cidr, str, bool, bool | None]
"""A route table's id, a block, and what of the circumstances matters from there on besides the tables before it."""


class Tracer:
    """Traces the paths of one snapshot; each route table is decided once, however many subnets it governs."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Index the snapshot's associations; tables are indexed when first asked for."""
        self.snapshot = snapshot
        self._governing = GoverningTables(snapshot)
        self._indexes: dict[tuple[str, bool], RoutingIndex] = {}
        self._decided: dict[tuple[str, Families, str, bool | None], _Decided] = {}
        self._remembered: dict[_Place, _Decided] = {}
        self._asked_now: set[str] = set()

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """The route table in force for a subnet, None where it cannot be seen."""
        return self._governing.governing_table(subnet)

    def paths(self, table: RouteTable, subnet: Subnet) -> tuple[Traced, ...]:
        """Where every S3 Express address leads from a subnet that this table governs."""
        return self._decide(table, subnet)[0]

    def _decide(self, table: RouteTable, subnet: Subnet) -> _Decided:
        zone = subnet.availability_zone_id if self.snapshot.transit_gateway_attachments else ""
        families = families_of(subnet)
        key = (table.id, families, zone, subnet.internet_closed)
        if key not in self._decided:
            # A table is asked even where there is no address to ask it for.
            self._asked_now = {table.id}
            state = TraceState(zone=zone, closed=subnet.internet_closed)
            paths = tuple(self._all_paths(table, families, state))
            self._decided[key] = (paths, frozenset(self._asked_now))
        return self._decided[key]

    def crosses(self, subnet: Subnet, target_id: str) -> bool:
        """Whether some S3 Express address leads from this subnet over a hop with that id."""
        table = self.governing_table(subnet)
        traced = self.paths(table, subnet) if table else ()
        return any(hop.id == target_id for each in traced for outcome in each.outcomes for hop in outcome.path)

    def consults(self, subnet: Subnet, table_id: str) -> bool:
        """Whether a route table has a say in where traffic from this subnet leaves, its own or one further on."""
        table = self.governing_table(subnet)
        return table is not None and table_id in self._decide(table, subnet)[1]

    def _all_paths(self, table: RouteTable, families: Families, state: TraceState) -> Iterator[Traced]:
        for prefix_list in self.snapshot.express_prefix_lists:
            is_ipv4 = prefix_list.family is Family.IPV4
            if prefix_list.cidrs is None:
                if families.ipv4 if is_ipv4 else families.ipv6:
                    yield self._unknown_addresses(table, prefix_list, prefix_list.family)
                if is_ipv4 and families.dns64:
                    yield self._unknown_addresses(table, prefix_list, Family.IPV6)
                continue
            for block in prefix_list.cidrs:
                if families.ipv4 if is_ipv4 else families.ipv6:
                    yield from self.trace(table, block, state)
                if is_ipv4 and families.dns64:
                    yield from map(_translated, self.trace(table, nat64(block), state))

    def _unknown_addresses(self, table: RouteTable, prefix_list: PrefixList, family: Family) -> Traced:
        outcome = Outcome(Reason.NO_ROUTE)
        if self._index(table, skip_gateway_endpoints=False).has_routes(family):
            note = f"the entries of prefix list {prefix_list.id} cannot be read (ec2:GetManagedPrefixListEntries)"
            outcome = Outcome(Reason.UNRESOLVED_EGRESS, note=note)
        return Traced(AddressSet(Cidr(family, 0, 0)), (outcome,))

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Iterator[Traced]:
        """Follow a block of addresses from a route table on; a table met twice is a loop."""
        self._asked_now.add(table.id)
        refusal = state.refusal(table.id, block.family)
        if refusal:
            yield Traced(AddressSet(block), (Outcome(Reason.UNRESOLVED_EGRESS, note=refusal),))
            return
        yield from self.follow(table, block, state) if not state.tables else self._recall(table, block, state)

    def _recall(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> tuple[Traced, ...]:
        """Follow a block from a route table that others lead to, once for all the paths that meet there.

        The tables before it matter only where the path may come back to one of them, or may grow too long.
        """
        place = (table.id, block, state.zone, state.skip_gateway_endpoints, state.closed)
        before = {table_id for table_id, _ in state.tables}
        known = self._remembered.get(place)
        if known is None or not _independent(known[1], before):
            earlier, self._asked_now = self._asked_now, {table.id}
            known = (tuple(self.follow(table, block, state)), frozenset(self._asked_now))
            self._asked_now = earlier
            if _independent(known[1], before):
                self._remembered[place] = known
        self._asked_now |= known[1]
        return known[0]

    def follow(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Iterator[Traced]:
        """Follow a block by the routes of one table, whatever was followed from it before."""
        vpc_id = table.vpc_id if isinstance(table, RouteTable) else state.vpc_id
        onward = state._replace(tables=state.tables | {(table.id, block.family)}, vpc_id=vpc_id)
        index = self._index(table, skip_gateway_endpoints=state.skip_gateway_endpoints)
        for part in index.parts(block):
            yield from self._follow_part(part, index, onward)

    def _index(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> RoutingIndex:
        key = (table.id, skip_gateway_endpoints)
        if key not in self._indexes:
            routes = [each for each in table.routes if not (skip_gateway_endpoints and self._is_gateway_endpoint(each))]
            self._indexes[key] = RoutingIndex(routes, self.snapshot.prefix_lists)
        return self._indexes[key]

    def _is_gateway_endpoint(self, route: Route) -> bool:
        endpoint = self.snapshot.vpc_endpoints.get(route.target_id)
        return endpoint is not None and endpoint.endpoint_type == "gateway"

    def _follow_part(self, part: RoutedBlocks, index: RoutingIndex, state: TraceState) -> Iterator[Traced]:
        unreadable = _unreadable_rivals(part, index)
        followed = [self._follow_route(route, part.region, state) for route in part.routes]
        if len(followed) == 1 and not unreadable:
            yield from followed[0]
            return
        for each in alternatives(followed or [[Traced(part.region, (Outcome(Reason.NO_ROUTE),))]]):
            yield Traced(each.region, (*each.outcomes, *unreadable))

    def _follow_route(self, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
        if route.is_blackhole:
            return terminal(route, region, Reason.DROPPED, _BLACKHOLE)
        if route.state != "active":
            return unresolved(route, region, f"the route's state is {route.state}")
        return FOLLOW[route.target_kind](self, route, region, state)


def _independent(asked: frozenset[str], before: set[str]) -> bool:
    """Whether tables asked behind some others lead on alike without them: they form no loop, and none is too far.

    A table may be met twice on one path, once for each family.
    """
    return asked.isdisjoint(before) and 2 * (len(asked) + len(before)) <= MAX_ROUTE_TABLES


def _unreadable_rivals(part: RoutedBlocks, index: RoutingIndex) -> list[Outcome]:
    """Routes whose prefix lists cannot be read may match anything, unless they lead where the winner leads anyway."""
    if not index.unreadable:
        return []
    winners = {route.target_id for route in part.routes}
    return [
        Outcome(
            Reason.UNRESOLVED_EGRESS,
            (hop_of(each.route),),
            each.route,
            "the prefix list's entries cannot be read (ec2:GetManagedPrefixListEntries)",
        )
        for each in index.unreadable
        if each.family in (None, part.region.block.family)
        and not each.route.is_blackhole
        and winners != {each.route.target_id}
    ]


def _translated(traced: Traced) -> Traced:
    """Addresses under 64:ff9b::/96 lead anywhere only by a NAT, which alone translates them to IPv4."""
    outcomes = (
        Outcome(Reason.NO_ROUTE, each.path, each.route, "nothing on the way translates 64:ff9b::/96 to IPv4")
        if each.reason in (Reason.ENDPOINT, Reason.INTERNET_GATEWAY)
        else each
        for each in traced.outcomes
    )
    return Traced(traced.region, tuple(outcomes))
