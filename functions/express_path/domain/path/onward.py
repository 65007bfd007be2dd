"""Going on from a hop: which route tables may decide next, and what the network around a hop has to answer."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import Route, RouteTable, Subnet, TransitGatewayRouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Outcome, Traced, Visit, overlaid
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import Region

AnyRouteTable = RouteTable | TransitGatewayRouteTable


class Network(Protocol):
    """What following a hop needs to ask of the network around it."""

    snapshot: Snapshot

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """The route table that governs a subnet."""

    def trace(self, table: AnyRouteTable, block: Cidr, visit: Visit) -> Iterator[Traced]:
        """Follow a block of addresses from a route table on."""


Follow = Callable[[Network, Route, Region, Visit], list[Traced]]


class Entry(NamedTuple):
    """Where traffic goes on: a route table, and the circumstances in which traffic reaches it."""

    table: AnyRouteTable
    visit: Visit


def entry_in(network: Network, subnet_id: str, visit: Visit) -> Entry | None:
    """The route table of a subnet that traffic goes on from, in the zone of that subnet; None if it is not listed."""
    subnet = network.snapshot.subnets.get(subnet_id)
    table = network.governing_table(subnet) if subnet else None
    if subnet is None or table is None:
        return None
    return Entry(table, visit._replace(zone=subnet.availability_zone_id))


def onward_from(network: Network, entry: Entry, region: Region) -> list[Traced]:
    """Follow a region from one route table on."""
    return [traced for block in region.blocks() for traced in network.trace(entry.table, block, entry.visit)]


def onward_from_any(
    network: Network, subnet_ids: Iterable[str], region: Region, visit: Visit, unseen: str
) -> list[Traced]:
    """Follow a region from several subnets, any of which may carry it: their outcomes are alternatives.

    unseen is the note of the outcome for a subnet whose route table is not listed.
    """
    entries = [entry_in(network, each, visit) for each in sorted(subnet_ids)]
    distinct = {(each.table.id, each.visit) if each else None: each for each in entries}
    unknown = Traced(region, (Outcome(Reason.UNRESOLVED_EGRESS, note=unseen),))
    ways = [onward_from(network, each, region) if each else [unknown] for each in distinct.values()]
    return overlaid(ways or [[unknown]])
