"""Going on from a hop: which route tables may decide next, and what the network around a hop has to answer."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import Route, RouteTable, Subnet, TransitGatewayRouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Outcome, Traced, TraceState, alternatives
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet

AnyRouteTable = RouteTable | TransitGatewayRouteTable


class RouteTracer(Protocol):
    """What following a hop needs to ask of the network around it."""

    snapshot: Snapshot

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """The route table that governs a subnet."""

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Iterator[Traced]:
        """Follow a block of addresses from a route table on."""


Follow = Callable[[RouteTracer, Route, AddressSet, TraceState], list[Traced]]


class NextTable(NamedTuple):
    """Where traffic goes on: a route table, and the circumstances in which traffic reaches it."""

    table: AnyRouteTable
    state: TraceState


def next_table_in(tracer: RouteTracer, subnet_id: str, state: TraceState) -> NextTable | None:
    """The route table of a subnet that traffic goes on from, in the zone of that subnet; None if it is not listed."""
    subnet = tracer.snapshot.subnets.get(subnet_id)
    table = tracer.governing_table(subnet) if subnet else None
    if subnet is None or table is None:
        return None
    return NextTable(table, state._replace(zone=subnet.availability_zone_id))


def trace_from(tracer: RouteTracer, next_table: NextTable, region: AddressSet) -> list[Traced]:
    """Follow a region from one route table on."""
    return [traced for block in region.blocks() for traced in tracer.trace(next_table.table, block, next_table.state)]


def trace_from_any(
    tracer: RouteTracer, subnet_ids: Iterable[str], region: AddressSet, state: TraceState, unseen: str
) -> list[Traced]:
    """Follow a region from several subnets, any of which may carry it: their outcomes are alternatives.

    unseen is the note of the outcome for a subnet whose route table is not listed.
    """
    entries = [next_table_in(tracer, each, state) for each in sorted(subnet_ids)]
    distinct = {(each.table.id, each.state) if each else None: each for each in entries}
    unknown = Traced(region, (Outcome(Reason.UNRESOLVED_EGRESS, note=unseen),))
    ways = [trace_from(tracer, each, region) if each else [unknown] for each in distinct.values()]
    return alternatives(ways or [[unknown]])
