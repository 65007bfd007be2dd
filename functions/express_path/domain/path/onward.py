"""Follow traffic beyond a hop: which route tables may decide next, and what a hop needs from the tracer.

Paths may have MAX_ROUTE_TABLES route tables. The functions that call each other once for each hop use `map` with
`partial`, because before Python 3.12 a comprehension takes a frame of its own, and frames are limited to 1,000.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import Route, RouteTable, Subnet, TransitGatewayRouteTable, strictest
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Trace, TraceState, alternatives, join, without_hop
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet, RoutingIndex

AnyRouteTable = RouteTable | TransitGatewayRouteTable


class RouteTracer(Protocol):
    """What the functions that follow a hop need from the tracer."""

    snapshot: Snapshot

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the route table that governs a subnet; None if it cannot be seen."""

    def index_of(self, table: AnyRouteTable) -> RoutingIndex:
        """Return the routing index of all of a table's routes."""

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Follow a block of addresses from a route table."""


Follow = Callable[[RouteTracer, Route, AddressSet, TraceState], Trace]
"""A function that follows addresses along a route to one kind of target."""


@dataclass(frozen=True, slots=True)
class NextTable:
    """The route table that decides next, and the state in which traffic reaches it."""

    table: AnyRouteTable
    state: TraceState


def next_table_in(tracer: RouteTracer, subnet_id: str, state: TraceState) -> NextTable | None:
    """Return the route table of a subnet that traffic leaves from, in that subnet's zone; None if it is not known.

    Whatever mode of Block Public Access the subnet has counts from there on, too.
    """
    subnet = tracer.snapshot.subnets.get(subnet_id)
    table = tracer.governing_table(subnet) if subnet else None
    if subnet is None or table is None:
        return None
    mode = strictest((state.block_mode, subnet.block_mode))
    return NextTable(table, state._replace(zone=subnet.availability_zone_id, block_mode=mode))


def trace_from(tracer: RouteTracer, next_table: NextTable, addresses: AddressSet) -> Trace:
    """Follow addresses from one route table."""
    return join(list(map(partial(tracer.trace, next_table.table, state=next_table.state), addresses.blocks())))


def trace_from_any(
    tracer: RouteTracer, subnet_ids: Iterable[str], addresses: AddressSet, state: TraceState, unlisted: str
) -> Trace:
    """Follow addresses from several subnets, any of which may carry them: their outcomes are alternatives.

    unlisted is the note of the outcome for a subnet whose route table is not listed.
    """
    next_tables = [next_table_in(tracer, subnet_id, state) for subnet_id in sorted(subnet_ids)]
    distinct = {(found.table.id, found.state) if found else None: found for found in next_tables}
    unknown = without_hop(addresses, Reason.UNRESOLVED_EGRESS, unlisted)
    traces = [trace_from(tracer, found, addresses) if found else unknown for found in distinct.values()]
    return alternatives(traces or [unknown])
