"""The records of a traced path: hops, outcomes and the addresses that share them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import Route
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet, contains, overlap

MAX_ROUTE_TABLES = 64
"""The most route tables that a path is followed through: the usual time to live of an IP packet
(https://www.iana.org/assignments/ip-parameters/ip-parameters.xhtml)."""


class Hop(NamedTuple):
    """One hop: what it is, its id, and the destination of the route that leads to it."""

    kind: TargetKind
    id: str
    destination: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where traffic leaves and by which hops. route is the first one on the way; note says what is known besides."""

    reason: Reason
    path: tuple[Hop, ...] = ()
    route: Route | None = None
    note: str = ""

    def via(self, hop: Hop, route: Route) -> "Outcome":
        """The same outcome, seen from one hop earlier."""
        return replace(self, path=(hop, *self.path), route=route)


class Traced(NamedTuple):
    """Addresses with one outcome, or with several alternatives where AWS picks one at random."""

    region: AddressSet
    outcomes: tuple[Outcome, ...]

    def via(self, hop: Hop, route: Route) -> "Traced":
        """The same trace, seen from one hop earlier."""
        return Traced(self.region, tuple(outcome.via(hop, route) for outcome in self.outcomes))


class TraceState(NamedTuple):
    """The circumstances of a trace.

    zone is the Availability Zone id that traffic is in, vpc_id the VPC it is in, tables those it came through, each
    with the family of the address there, which a NAT64 changes; endpoints_aside tells whether routes to gateway
    endpoints are left aside, as they are to find out whether an interface leads to an internet gateway; closed whether
    VPC Block Public Access closes internet gateways to this traffic, None if that is unknown.
    """

    zone: str = ""
    vpc_id: str = ""
    tables: frozenset[tuple[str, Family]] = frozenset()
    skip_gateway_endpoints: bool = False
    closed: bool | None = False

    def refusal(self, table_id: str, family: Family) -> str:
        """Why the path is not followed to one more route table; empty if it is."""
        if (table_id, family) in self.tables:
            return f"the path comes back to {table_id}: a loop"
        return "" if len(self.tables) < MAX_ROUTE_TABLES else f"the path goes on beyond {MAX_ROUTE_TABLES} route tables"


def hop_of(route: Route, kind: TargetKind | None = None) -> Hop:
    """The hop that a route leads to; kind where it is known better than the target's id tells."""
    return Hop(kind or route.target_kind, route.target_id or "unknown", str(route.destination))


def terminal(
    route: Route, region: AddressSet, reason: Reason, note: str = "", kind: TargetKind | None = None
) -> list[Traced]:
    """A trace that ends at this route's target."""
    return [Traced(region, (Outcome(reason, (hop_of(route, kind),), route, note),))]


def unresolved(route: Route, region: AddressSet, note: str, kind: TargetKind | None = None) -> list[Traced]:
    """A trace that cannot go on at this route's target; note says why and what would resolve it."""
    return terminal(route, region, Reason.UNRESOLVED_EGRESS, note, kind)


def alternatives(alternatives: Sequence[Sequence[Traced]]) -> list[Traced]:
    """Traces of the same addresses, any of which may hold, as one with alternatives: cut where any of them is."""
    parts = list(_blocks(alternatives[0]))
    for other in alternatives[1:]:
        theirs = list(_blocks(other))
        parts = [
            (block if contains(their_block, block) else their_block, (*outcomes, *their_outcomes))
            for block, outcomes in parts
            for their_block, their_outcomes in theirs
            if overlap(block, their_block)
        ]
    return [Traced(AddressSet(block), outcomes) for block, outcomes in parts]


def _blocks(traced: Iterable[Traced]) -> Iterator[tuple[Cidr, tuple[Outcome, ...]]]:
    return ((block, each.outcomes) for each in traced for block in each.region.blocks())
