"""Which route of a table wins each block of S3 Express addresses, and why the other routes lose.

The winners come from the engine; only the reasons why routes lose are worked out here. AWS's order of priority:
https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import PrefixList, Rank, Route
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.onward import AnyRouteTable
from express_path.domain.path.outcomes import TableLookup, Trace, TraceState
from express_path.domain.path.routing import RoutedBlocks, RoutingIndex, contains, overlap, rank_of
from express_path.domain.path.tracing import Tracer

_RANK_NAMES = {
    Rank.STATIC: "static routes",
    Rank.PREFIX_LIST: "prefix list routes",
    Rank.PROPAGATED: "propagated routes",
}


@dataclass(frozen=True, slots=True)
class RouteLookup:
    """One lookup of the engine: a block in a route table; depth is the number of tables before it on the path.

    skips_gateway_endpoints: routes to gateway endpoints were ignored, as they are for a possible NAT instance.
    """

    table: AnyRouteTable
    block: Cidr
    depth: int
    skips_gateway_endpoints: bool


class RecordingTracer(Tracer):
    """A tracer that keeps its route lookups, in order."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Start without lookups."""
        super().__init__(snapshot)
        self._lookups: list[RouteLookup] = []

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Trace a block of addresses and keep the lookup."""
        if TableLookup(table.id, block.family) not in state.lookups:
            self._lookups.append(RouteLookup(table, block, len(state.lookups), state.skip_gateway_endpoints))
        return super().trace(table, block, state)

    def lookups(self) -> Iterator[RouteLookup]:
        """Yield each lookup once; one that skips gateway endpoints only if none of that table and block uses them."""
        with_endpoints = {
            (lookup.table.id, lookup.block) for lookup in self._lookups if not lookup.skips_gateway_endpoints
        }
        once = {
            (lookup.table.id, lookup.block, lookup.depth, lookup.skips_gateway_endpoints): lookup
            for lookup in self._lookups
        }
        for lookup in once.values():
            if not lookup.skips_gateway_endpoints or (lookup.table.id, lookup.block) not in with_endpoints:
                yield lookup

    def routes(self, lookup: RouteLookup) -> list[Route]:
        """Return the routes that the lookup could choose from."""
        return self.indexes.routes_of(lookup.table, skip_gateway_endpoints=lookup.skips_gateway_endpoints)


@dataclass(frozen=True, slots=True)
class CandidateRoute:
    """A route that matches S3 Express addresses, whether it wins any of them, and why.

    may_win: the entries of its prefix list cannot be read, so it is unknown whether it wins.
    """

    route: Route
    wins: bool
    why: str
    may_win: bool = False


@dataclass(frozen=True, slots=True)
class RouteSelection:
    """How one table routes some blocks; other_routes counts its routes that match none of these addresses."""

    table: AnyRouteTable
    depth: int
    skips_gateway_endpoints: bool
    blocks: tuple[Cidr, ...]
    candidates: tuple[CandidateRoute, ...]
    other_routes: int


class _SelectionKey(NamedTuple):
    table_id: str
    depth: int
    candidates: tuple[CandidateRoute, ...]


def route_selections(tracer: RecordingTracer) -> list[RouteSelection]:
    """Return the selections of every table on the path, in its order; blocks with the same candidates share one."""
    selections: dict[_SelectionKey, RouteSelection] = {}
    for lookup in tracer.lookups():
        routes = tracer.routes(lookup)
        candidates = tuple(_candidates(routes, lookup.block, tracer.snapshot.prefix_lists))
        key = _SelectionKey(lookup.table.id, lookup.depth, candidates)
        selections[key] = RouteSelection(
            table=lookup.table,
            depth=lookup.depth,
            skips_gateway_endpoints=lookup.skips_gateway_endpoints,
            blocks=(*(selections[key].blocks if key in selections else ()), lookup.block),
            candidates=candidates,
            other_routes=len(routes) - len(candidates),
        )
    return sorted(selections.values(), key=lambda selection: selection.depth)


def route_text(route: Route) -> str:
    """Return a route in the form "0.0.0.0/0 -> nat-1"."""
    return f"{route.destination} -> {route.target_id or 'unknown'}"


def _candidates(routes: Sequence[Route], block: Cidr, lists: Mapping[str, PrefixList]) -> list[CandidateRoute]:
    """Return the routes that match the block or may match it: winners first, then those that may win."""
    parts = list(RoutingIndex(routes, lists).split(block))
    candidates = []
    for route in routes:
        destinations = _destinations(route, lists)
        if destinations is None:
            candidates.append(_unreadable_candidate(route, parts))
        elif any(overlap(destination, block) for destination in destinations):
            candidates.append(_candidate(route, parts, lists))
    return sorted(candidates, key=lambda candidate: (not candidate.wins, not candidate.may_win))


def _unreadable_candidate(route: Route, parts: Sequence[RoutedBlocks]) -> CandidateRoute:
    unreadable = "the entries of its prefix list cannot be read"
    if route.is_blackhole:
        return CandidateRoute(route, wins=False, why=f"{unreadable}, but it is a blackhole and carries no traffic")
    if {winner.target_id for part in parts for winner in part.routes} == {route.target_id}:
        return CandidateRoute(route, wins=False, why=f"{unreadable}, but it has the same target as the winning route")
    fix = "so it may carry this traffic: grant ec2:GetManagedPrefixListEntries"
    return CandidateRoute(route, wins=False, why=f"{unreadable}, {fix}", may_win=True)


def _candidate(route: Route, parts: Sequence[RoutedBlocks], lists: Mapping[str, PrefixList]) -> CandidateRoute:
    won = [part for part in parts if any(winner is route for winner in part.routes)]
    if not won:
        return CandidateRoute(route, wins=False, why=_why_lost(route, parts, lists))
    wins_all = len(won) == len([part for part in parts if part.routes])
    why = "used for " + ("all of these addresses" if wins_all else ", ".join(map(_addresses_text, won)))
    if any(len(part.routes) > 1 for part in won):
        why += "; another route has the same prefix and priority: AWS picks one at random, so the worse path counts"
    if route.is_blackhole:
        why += "; it is a blackhole, so AWS drops this traffic"
    return CandidateRoute(route, wins=True, why=why)


def _addresses_text(part: RoutedBlocks) -> str:
    return f"the rest of {part.addresses.block}" if part.addresses.holes else str(part.addresses.block)


def _why_lost(route: Route, parts: Sequence[RoutedBlocks], lists: Mapping[str, PrefixList]) -> str:
    for part in parts:
        own_prefix = _longest_prefix(route, part.addresses.block, lists)
        for winner in part.routes:
            winning_prefix = _longest_prefix(winner, part.addresses.block, lists)
            if own_prefix is None or winning_prefix is None:
                continue
            if own_prefix.length < winning_prefix.length:
                return f"less specific than {route_text(winner)}"
            return (
                f"same prefix length as {route_text(winner)}, "
                f"but {_RANK_NAMES[rank_of(winner)]} take priority over {_RANK_NAMES[rank_of(route)]}"
            )
    return "more specific routes cover all the addresses that it matches"


def _longest_prefix(route: Route, block: Cidr, lists: Mapping[str, PrefixList]) -> Cidr | None:
    """Return the longest of a route's destinations that contains the whole block."""
    containing = [cidr for cidr in _destinations(route, lists) or () if contains(cidr, block)]
    return max(containing, key=lambda cidr: cidr.length, default=None)


def _destinations(route: Route, lists: Mapping[str, PrefixList]) -> Sequence[Cidr] | None:
    """Return the destinations of a route; None if the entries of its prefix list cannot be read."""
    if isinstance(route.destination, Cidr):
        return (route.destination,)
    prefix_list = lists.get(route.destination)
    return prefix_list.cidrs if prefix_list else None
