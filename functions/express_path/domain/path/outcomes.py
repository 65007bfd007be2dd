"""The records of a traced path: hops, outcomes, and the addresses that share them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import BlockMode, Route, TargetKind
from express_path.domain.path.reasons import Reason, Unknown
from express_path.domain.path.routing import AddressSet, contains, overlap

MAX_ROUTE_TABLES = 64
"""The most route tables that a path is followed through: the usual time to live of an IP packet
(https://www.iana.org/assignments/ip-parameters/ip-parameters.xhtml)."""
UNKNOWN_ID = "unknown"
"""In place of the id of a hop whose route does not show its target."""
_NATS = (TargetKind.NAT_GATEWAY, TargetKind.NETWORK_INTERFACE)


class Hop(NamedTuple):
    """One hop: what it is, its id, and the destination of the route that leads to it."""

    kind: TargetKind
    id: str
    destination: str


def nat_on(path: Sequence[Hop]) -> Hop | None:
    """Return the NAT of a path that crosses one: its last hop that can be a NAT, since appliances are before it."""
    return next((hop for hop in reversed(path) if hop.kind in _NATS), None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where traffic leaves, and the hops that it takes.

    route is the first route on the path. note adds what the reason does not say: what to fix, or what was not readable.
    is_closed is true if VPC Block Public Access drops the traffic, because somebody closed the path. lacks is the API
    operation, or the service in front of the colon, without which the outcome is unknown; empty if no read would help.
    unknown is what is not known, None if the last hop says that. excluded_by is the tag (key or key=value) or the rule
    parameter that excludes a subnet; empty for other reasons, and if the subnet left the rule's scope.
    """

    reason: Reason
    path: tuple[Hop, ...] = ()
    route: Route | None = None
    note: str = ""
    is_closed: bool = False
    lacks: str = ""
    unknown: Unknown | None = None
    excluded_by: str = ""

    def via(self, hop: Hop, route: Route) -> "Outcome":
        """Return the same outcome, seen from one hop earlier."""
        return Outcome(self.reason, (hop, *self.path), route, self.note, self.is_closed, self.lacks, self.unknown)


class TracedAddresses(NamedTuple):
    """Addresses with one outcome, or with several alternatives if AWS picks one at random."""

    addresses: AddressSet
    outcomes: tuple[Outcome, ...]

    def map(self, change: Callable[[Outcome], Outcome]) -> "TracedAddresses":
        """Return the same addresses with each outcome changed."""
        return TracedAddresses(self.addresses, tuple(map(change, self.outcomes)))


class Trace(NamedTuple):
    """Where addresses lead, and the ids of the route tables that were consulted to find out."""

    results: tuple[TracedAddresses, ...]
    consulted: frozenset[str] = frozenset()

    def map(self, change: Callable[[Outcome], Outcome]) -> "Trace":
        """Return the same trace with each outcome changed."""
        return Trace(tuple(traced.map(change) for traced in self.results), self.consulted)

    def via(self, hop: Hop, route: Route) -> "Trace":
        """Return the same trace, seen from one hop earlier."""
        return self.map(lambda outcome: outcome.via(hop, route))


class TableLookup(NamedTuple):
    """One lookup in a route table. A path may use a table twice, once for each family: NAT64 changes the family."""

    table_id: str
    family: Family


class TraceState(NamedTuple):
    """What a trace needs to know about traffic in addition to its addresses.

    zone is the Availability Zone id that the traffic is in, vpc_id the VPC that it is in, and lookups the route table
    lookups that led it there. skip_gateway_endpoints is true if routes to gateway endpoints are ignored, to find out
    whether an interface leads to an internet gateway. block_mode is what VPC Block Public Access does to this traffic
    at an internet gateway: the strictest mode of the subnets that it passes through. first_index: which of the sets of routes
    that the first table may have is followed. sources are the blocks that the traffic comes from, empty if they are not known.
    """

    zone: str = ""
    vpc_id: str = ""
    lookups: frozenset[TableLookup] = frozenset()
    skip_gateway_endpoints: bool = False
    block_mode: BlockMode = BlockMode.OFF
    first_index: int = 0
    sources: tuple[Cidr, ...] = ()

    def why_not_followed(self, table_id: str, family: Family) -> str:
        """Return why the path is not followed into one more route table; empty if it is followed."""
        if TableLookup(table_id, family) in self.lookups:
            return f"the path returns to {table_id}: a routing loop"
        if len(self.lookups) >= MAX_ROUTE_TABLES:
            return f"the path has more than {MAX_ROUTE_TABLES} route tables"
        return ""


def hop_of(route: Route, kind: TargetKind | None = None) -> Hop:
    """Return the hop that a route leads to; kind is given if it is more exact than what the target's id shows."""
    return Hop(kind or route.target_kind, route.target_id or UNKNOWN_ID, str(route.destination))


def terminal(
    route: Route,
    addresses: AddressSet,
    reason: Reason,
    note: str = "",
    kind: TargetKind | None = None,
    *,
    is_closed: bool = False,
) -> Trace:
    """Return a trace that ends at this route's target."""
    return Trace((TracedAddresses(addresses, (Outcome(reason, (hop_of(route, kind),), route, note, is_closed),)),))


def unresolved(
    route: Route,
    addresses: AddressSet,
    note: str,
    kind: TargetKind | None = None,
    *,
    lacks: str = "",
    unknown: Unknown | None = None,
) -> Trace:
    """Return a trace that cannot continue at this route's target; note says why, and what would resolve it."""
    outcome = Outcome(Reason.UNRESOLVED_EGRESS, (hop_of(route, kind),), route, note, lacks=lacks, unknown=unknown)
    return Trace((TracedAddresses(addresses, (outcome,)),))


def without_hop(
    addresses: AddressSet,
    reason: Reason,
    note: str = "",
    consulted: frozenset[str] = frozenset(),
    *,
    lacks: str = "",
    unknown: Unknown | None = None,
) -> Trace:
    """Return a trace that ends before any further hop."""
    outcome = Outcome(reason, note=note, lacks=lacks, unknown=unknown)
    return Trace((TracedAddresses(addresses, (outcome,)),), consulted)


def join(traces: Iterable[Trace], consulted: frozenset[str] = frozenset()) -> Trace:
    """Return one trace of the addresses of several traces; consulted are further route tables that were consulted."""
    traces = tuple(traces)
    if len(traces) == 1:
        return Trace(traces[0].results, consulted | traces[0].consulted)
    results = tuple(traced for trace in traces for traced in trace.results)
    return Trace(results, consulted.union(*(trace.consulted for trace in traces)))


def alternatives(traces: Sequence[Trace]) -> Trace:
    """Combine traces of the same addresses, any of which may apply: each address gets the outcomes of all of them.

    The addresses are split where any of the traces splits them.
    """
    combined = list(_by_block(traces[0]))
    for trace in traces[1:]:
        split = list(_by_block(trace))
        combined = [
            TracedAddresses(
                mine.addresses if contains(theirs.addresses.block, mine.addresses.block) else theirs.addresses,
                (*mine.outcomes, *theirs.outcomes),
            )
            for mine in combined
            for theirs in split
            if overlap(mine.addresses.block, theirs.addresses.block)
        ]
    return Trace(tuple(combined), frozenset[str]().union(*(trace.consulted for trace in traces)))


def any_of(traces: Sequence[Trace]) -> Trace:
    """Combine traces of the same addresses, any of which may apply; a single one stays as it is."""
    return traces[0] if len(traces) == 1 else alternatives(traces)


def _by_block(trace: Trace) -> Iterator[TracedAddresses]:
    """Yield results that each have one block without holes."""
    for traced in trace.results:
        for block in traced.addresses.blocks():
            yield TracedAddresses(AddressSet(block), traced.outcomes)
