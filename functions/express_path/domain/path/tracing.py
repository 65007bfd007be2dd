"""Tracing: from a subnet's route table, for every S3 Express address, to the point where its traffic leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family, nat64
from express_path.domain.network.claims import Claims
from express_path.domain.network.resources import (
    STOPPED,
    AnyRouteTable,
    BlockMode,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
)
from express_path.domain.network.snapshot import Snapshot, may_be_express_service
from express_path.domain.path.hops import FOLLOW, may_carry_nothing
from express_path.domain.path.origins import Origin, Origins
from express_path.domain.path.outcomes import (
    MAX_ROUTE_TABLES,
    Hop,
    Outcome,
    TableLookup,
    Trace,
    TracedAddresses,
    TraceState,
    alternatives,
    any_of,
    hop_of,
    join,
    terminal,
    unresolved,
    without_hop,
)
from express_path.domain.path.reasons import Reason, Unknown
from express_path.domain.path.routing import (
    AddressSet,
    GoverningTables,
    RoutedBlocks,
    RoutingIndex,
    RoutingIndexes,
)

_BLACKHOLE = (
    "blackhole: its target does not exist any more, or is not attached; replace the route's target, or delete the route"
)
_STATIC_BLACKHOLE = "somebody made this route of the transit gateway a blackhole; delete it, or replace it"
_STOPPED = "{} is stopped or detached now, so the route is a blackhole until it runs again"
_MAY_BE_STOPPED = "the route is a blackhole now, because {} is stopped, detached, or deleted"
_UNTRANSLATED = "nothing on the path translates 64:ff9b::/96 to IPv4"
_IPV6_LIST_UNSEEN = "whether S3 Express has an IPv6 prefix list here cannot be read (ec2:DescribeManagedPrefixLists)"
ENTRIES = "ec2:GetManagedPrefixListEntries"
_DOUBTFUL = "AWS's prefix list {} may have S3 Express addresses: the form of its name, {}, is not known"
_ENTRIES_UNREADABLE = f"the prefix list's entries cannot be read ({ENTRIES})"


class _TraceKey(NamedTuple):
    """Everything that decides where a block leads from a route table, except the tables before it."""

    table_id: str
    block: Cidr
    zone: str
    skip_gateway_endpoints: bool
    block_mode: BlockMode
    sources: tuple[Cidr, ...]


class Tracer:
    """Traces the paths of one snapshot; each route table is traced once, however many subnets it governs.

    Threads may share a tracer, because it stores nothing but complete results.
    """

    def __init__(self, snapshot: Snapshot, claims: Claims | None = None) -> None:
        """Index the snapshot's associations; each table's routes are indexed when they are first needed.

        claims: those of a snapshot with the same associations, such as the one before a change of routes.
        """
        self.snapshot = snapshot
        self._governing = GoverningTables(snapshot, claims)
        self.indexes = RoutingIndexes(snapshot)
        self._origins = Origins(self.indexes, snapshot)
        self._from_origins: dict[Origin, tuple[Trace, ...]] = {}
        self._beyond_hops: dict[_TraceKey, Trace] = {}

    @property
    def claims(self) -> Claims:
        """What the snapshot's associations claim."""
        return self._governing.claims

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the route table that governs a subnet; None if it cannot be seen."""
        return self._governing.governing_table(subnet)

    def why_unknown(self, subnet: Subnet) -> tuple[str, Unknown | None]:
        """Return why the route table that governs a subnet cannot be determined, and what is not known, if that is a read."""
        return self._governing.why_unknown(subnet)

    def possible_tables(self, subnet: Subnet) -> tuple[RouteTable | None, ...]:
        """Return the route tables that may govern a subnet: several if accounts disagree. None: it cannot be seen."""
        return self._governing.possible_tables(subnet)

    def indexes_of(self, table: AnyRouteTable) -> tuple[RoutingIndex, ...]:
        """Return an index of each set of routes that a table may have: one, unless accounts disagree."""
        return self.indexes.indexes_of(table, skip_gateway_endpoints=False)

    def governed_subnets(self, table: RouteTable) -> Sequence[Subnet]:
        """Return the subnets that a route table governs."""
        return self._governing.governed_subnets(table)

    def origin_of(self, table: RouteTable, subnet: Subnet) -> Origin:
        """Return the origin of traffic from a subnet that this table governs."""
        return self._origins.origin_of(table, subnet)

    def trace_subnet(self, table: RouteTable, subnet: Subnet) -> Trace:
        """Trace every S3 Express address from a subnet that this table governs."""
        return join(self.possible_traces(table, subnet))

    def possible_traces(self, table: RouteTable, subnet: Subnet) -> tuple[Trace, ...]:
        """Trace every S3 Express address for each set of routes that the table may have: one, unless accounts disagree."""
        origin = self.origin_of(table, subnet)
        traces = self._from_origins.get(origin)
        if traces is None:
            # The subnet's own table counts as consulted even if there is no address to look up in it.
            traces = tuple(
                join(self._trace_prefix_lists(table, origin, number), frozenset({table.id}))
                for number in range(len(self.indexes_of(table)))
            )
            self._from_origins[origin] = traces
        return traces

    def traces_of(self, subnet: Subnet) -> Iterator[Trace]:
        """Yield the trace of each description of a subnet from each route table that may govern it."""
        for version in self.snapshot.versions_of(subnet):
            for table in filter(None, self.possible_tables(version)):
                yield from self.possible_traces(table, version)

    def hops(self, subnet: Subnet) -> Iterator[Hop]:
        """Yield every hop of the paths that S3 Express addresses take from a subnet."""
        for trace in self.traces_of(subnet):
            yield from (hop for traced in trace.results for outcome in traced.outcomes for hop in outcome.path)

    def consults(self, subnet: Subnet, table_id: str) -> bool:
        """Return whether a route table, the subnet's own or a later one, helps to decide where its traffic leaves."""
        return any(table_id in trace.consulted for trace in self.traces_of(subnet))

    def _trace_prefix_lists(self, table: RouteTable, origin: Origin, number: int) -> Iterator[Trace]:
        index = self.indexes_of(table)[number]
        state = TraceState(zone=origin.zone, block_mode=origin.block_mode, first_index=number, sources=origin.sources)
        for prefix_list in self.snapshot.express_prefix_lists:
            is_used = origin.families.include(prefix_list.family)
            is_synthesized = origin.families.dns64 and prefix_list.family is Family.IPV4
            if prefix_list.cidrs is None or prefix_list.is_partial:
                note = f"the entries of prefix list {prefix_list.id} cannot be read ({ENTRIES})"
                yield from _unknown_addresses(index, origin, prefix_list.family, note, ENTRIES)
            for block in prefix_list.cidrs or ():
                if is_used:
                    yield self.trace(table, block, state)
                if is_synthesized:
                    yield self.trace(table, nat64(block), state).map(_untranslated_has_no_route)
        for prefix_list in self.snapshot.doubtful_prefix_lists:
            names = (prefix_list.name, *prefix_list.other_names)
            name = next(name for name in names if may_be_express_service(name, self.snapshot.region))
            note = _DOUBTFUL.format(prefix_list.id, name)
            yield from _unknown_addresses(index, origin, prefix_list.family, note)
        if origin.families.ipv6 and self._may_have_unseen_ipv6_list(origin) and index.has_other_than_local(Family.IPV6):
            unseen, lacks = AddressSet(Cidr(Family.IPV6, 0, 0)), "ec2:DescribeManagedPrefixLists"
            yield without_hop(
                unseen, Reason.UNRESOLVED_EGRESS, _IPV6_LIST_UNSEEN, lacks=lacks, unknown=Unknown.PERMISSION
            )

    def _may_have_unseen_ipv6_list(self, origin: Origin) -> bool:
        """Return whether there may be an IPv6 list: only DescribeManagedPrefixLists shows that there is none.

        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeManagedPrefixLists.html
        """
        lists = (*self.snapshot.express_prefix_lists, *self.snapshot.doubtful_prefix_lists)
        known = {prefix_list.family for prefix_list in lists}
        return Family.IPV6 not in known and not origin.shows_ipv6_lists

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Follow a block of addresses from a route table; a second lookup in the same table is a loop."""
        if not state.lookups:
            return self.follow(table, block, state)
        note = state.why_not_followed(table.id, block.family)
        if note:
            return without_hop(AddressSet(block), Reason.UNRESOLVED_EGRESS, note, frozenset({table.id}))
        return self._follow_once(table, block, state)

    def _follow_once(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Follow a block from a table that other tables lead to: once for all the paths that meet there.

        The tables before it matter only if the path may return to one of them, or may become too long.
        """
        key = _TraceKey(table.id, block, state.zone, state.skip_gateway_endpoints, state.block_mode, state.sources)
        trace = self._beyond_hops.get(key)
        if trace is None or not _is_independent(trace, state):
            trace = self.follow(table, block, state)
            if _is_independent(trace, state):
                self._beyond_hops[key] = trace
        return trace

    def follow(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Follow a block by the routes of one table, whether or not it was followed from there before."""
        beyond = state._replace(
            lookups=state.lookups | {TableLookup(table.id, block.family)},
            vpc_id=table.vpc_id if isinstance(table, RouteTable) else state.vpc_id,
        )
        indexes = self.indexes.indexes_of(table, skip_gateway_endpoints=state.skip_gateway_endpoints)
        if not state.lookups:
            indexes = (indexes[state.first_index],)
        possible = []
        for index in indexes:
            traces = list(map(partial(self._follow_routed, index, beyond), index.split(block)))
            possible.append(join(traces, frozenset({table.id})))
        return any_of(possible)

    def _follow_routed(self, index: RoutingIndex, state: TraceState, routed: RoutedBlocks) -> Trace:
        if len(routed.routes) == 1 and not index.unreadable:  # the usual case
            return self._follow_route(routed.addresses, state, routed.routes[0])
        possible = tuple(_unreadable_outcomes(routed, index))
        traces = list(map(partial(self._follow_route, routed.addresses, state), routed.routes))
        if len(traces) == 1 and not possible:
            return traces[0]
        combined = alternatives(traces or [without_hop(routed.addresses, Reason.NO_ROUTE)])
        results = (TracedAddresses(traced.addresses, (*traced.outcomes, *possible)) for traced in combined.results)
        return Trace(tuple(results), combined.consulted)

    def _follow_route(self, addresses: AddressSet, state: TraceState, route: Route) -> Trace:
        if route.is_blackhole:
            is_made = route.target_kind is TargetKind.TRANSIT_GATEWAY_ATTACHMENT and not route.target_id
            return terminal(route, addresses, Reason.DROPPED, _STATIC_BLACKHOLE if is_made else _BLACKHOLE)
        if route.state == STOPPED:
            note = _STOPPED if self.snapshot.network_interfaces is not None else _MAY_BE_STOPPED
            trace = FOLLOW[route.target_kind](self, route, addresses, state)
            return trace.map(partial(_with_note, note.format(route.target_id)))
        if not route.state:
            trace = FOLLOW[route.target_kind](self, route, addresses, state)
            return may_carry_nothing(trace, "the route's state is not shown")
        if route.state != "active":
            return unresolved(route, addresses, f"the route's state is {route.state}")
        return FOLLOW[route.target_kind](self, route, addresses, state)


def _with_note(note: str, outcome: Outcome) -> Outcome:
    """Return an outcome that says something more."""
    return replace(outcome, note=f"{note}; {outcome.note}" if outcome.note else note)


def _is_independent(trace: Trace, state: TraceState) -> bool:
    """Return whether a trace does not depend on the tables before it: they cannot cause a loop or exceed the limit.

    A path may use a table twice, once for each family.
    """
    before = {lookup.table_id for lookup in state.lookups}
    return trace.consulted.isdisjoint(before) and 2 * (len(trace.consulted) + len(before)) <= MAX_ROUTE_TABLES


def _unreadable_outcomes(routed: RoutedBlocks, index: RoutingIndex) -> Iterator[Outcome]:
    """Yield an outcome for each route whose prefix list cannot be read: it may match anything.

    A blackhole does not change the outcome, and neither does a route to the target of the winning routes.
    """
    for unreadable in index.unreadable:
        route = unreadable.route
        if (
            unreadable.may_match(routed.addresses.block.family)
            and not route.is_blackhole
            and {winner.target_id for winner in routed.routes} != {route.target_id}
        ):
            yield Outcome(
                Reason.UNRESOLVED_EGRESS,
                (hop_of(route),),
                route,
                _ENTRIES_UNREADABLE,
                lacks=ENTRIES,
                unknown=Unknown.PERMISSION,
            )


def _unknown_addresses(
    index: RoutingIndex, origin: Origin, family: Family, note: str, lacks: str = ""
) -> Iterator[Trace]:
    """Yield the traces of a list's unknown addresses, as a subnet uses them: IPv4 also under 64:ff9b::/96."""
    unknown = Unknown.PERMISSION if lacks else None
    used = [family] if origin.families.include(family) else []
    if origin.families.dns64 and family is Family.IPV4:
        used.append(Family.IPV6)
    for used_family in used:
        addresses = AddressSet(Cidr(used_family, 0, 0))
        if index.has_routes(used_family):
            yield without_hop(addresses, Reason.UNRESOLVED_EGRESS, note, lacks=lacks, unknown=unknown)
        else:
            yield without_hop(addresses, Reason.NO_ROUTE)


def _untranslated_has_no_route(outcome: Outcome) -> Outcome:
    """Return the outcome for 64:ff9b::/96 addresses, which only a NAT translates to IPv4."""
    if outcome.reason in (Reason.ENDPOINT, Reason.INTERNET_GATEWAY):
        return replace(outcome, reason=Reason.NO_ROUTE, note=_UNTRANSLATED)
    return outcome
