"""Which routes of a table compete for S3 Express addresses, and why each wins or loses.

The winners are the engine's own; only the losers' reasons are worked out here. The order of priority is AWS's:
https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import PrefixList, Rank, Route
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.onward import AnyRouteTable
from express_path.domain.path.outcomes import TableLookup, Trace, TraceState
from express_path.domain.path.routing import RoutedBlocks, RoutingIndex, contains, overlap
from express_path.domain.path.tracing import Tracer

_RANK = {
    Rank.STATIC: "a static route",
    Rank.PREFIX_LIST: "a prefix list's route",
    Rank.PROPAGATED: "a propagated route",
}


class Step(NamedTuple):
    """The engine asked a table for a block; depth counts the tables before it on the way.

    aside tells that gateway endpoints were left aside, as where an instance that forwards may be a NAT.
    """

    table: AnyRouteTable
    block: Cidr
    depth: int
    aside: bool


class RecordingTracer(Tracer):
    """A tracer that keeps what it asked which table, in order."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Nothing was asked yet."""
        super().__init__(snapshot)
        self.steps: list[Step] = []

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Follow a block of addresses, and keep the question."""
        if TableLookup(table.id, block.family) not in state.lookups:
            self.steps.append(Step(table, block, len(state.lookups), state.skip_gateway_endpoints))
        return super().trace(table, block, state)

    def asked(self) -> Iterator[Step]:
        """Each question once; one with gateway endpoints left aside only where it was not asked again with them."""
        plainly = {(each.table.id, each.block) for each in self.steps if not each.aside}
        once = {(each.table.id, each.block, each.depth, each.aside): each for each in self.steps}
        for step in once.values():
            if not step.aside or (step.table.id, step.block) not in plainly:
                yield step

    def routes(self, step: Step) -> list[Route]:
        """The routes that took part."""
        return self.indexes.routes_of(step.table, skip_gateway_endpoints=step.aside)


class Candidate(NamedTuple):
    """A route that matches S3 Express addresses, whether it decides any of them, and why.

    may_win is true if nobody can say: the entries of its prefix list cannot be read.
    """

    route: Route
    wins: bool
    why: str
    may_win: bool = False


class Contest(NamedTuple):
    """What the routes of one table make of some blocks; others counts its routes that match none of them."""

    table: AnyRouteTable
    depth: int
    aside: bool
    blocks: tuple[Cidr, ...]
    candidates: tuple[Candidate, ...]
    others: int


def contests(witness: RecordingTracer) -> list[Contest]:
    """One contest for each table and outcome, in the order of the way; blocks that fare alike share one."""
    found: dict[tuple[str, int, tuple[Candidate, ...]], Contest] = {}
    for step in witness.asked():
        routes = witness.routes(step)
        candidates = tuple(_candidates(routes, step.block, witness.snapshot.prefix_lists))
        key = (step.table.id, step.depth, candidates)
        blocks = (*(found[key].blocks if key in found else ()), step.block)
        found[key] = Contest(step.table, step.depth, step.aside, blocks, candidates, len(routes) - len(candidates))
    return sorted(found.values(), key=lambda each: each.depth)


def _candidates(routes: Sequence[Route], block: Cidr, lists: Mapping[str, PrefixList]) -> Iterator[Candidate]:
    parts = list(RoutingIndex(routes, lists).split(block))
    judged = []
    for route in routes:
        destinations = _destinations(route, lists)
        if destinations is None:
            judged.append(_unreadable(route, parts))
        elif any(overlap(each, block) for each in destinations):
            judged.append(_judge(route, parts, lists))
    yield from sorted(judged, key=lambda each: (not each.wins, not each.may_win))


def _unreadable(route: Route, parts: Sequence[RoutedBlocks]) -> Candidate:
    why = "the entries of its prefix list cannot be read"
    if route.is_blackhole:
        return Candidate(route, wins=False, why=f"{why}, but it is a blackhole, which carries nothing")
    if {each.target_id for part in parts for each in part.routes} == {route.target_id}:
        return Candidate(route, wins=False, why=f"{why}, but it leads where the winner leads")
    fix = "so it may carry the traffic: grant ec2:GetManagedPrefixListEntries"
    return Candidate(route, wins=False, why=f"{why}, {fix}", may_win=True)


def _judge(route: Route, parts: Sequence[RoutedBlocks], lists: Mapping[str, PrefixList]) -> Candidate:
    won = [part for part in parts if any(each is route for each in part.routes)]
    if not won:
        return Candidate(route, wins=False, why=_why_lost(route, parts, lists))
    whole = len(won) == len([part for part in parts if part.routes])
    what = "decides" if whole else "decides " + ", ".join(_region(part) for part in won)
    if any(len(part.routes) > 1 for part in won):
        what += "; ties with another route of the same prefix: AWS picks one at random, so the worse counts"
    if route.is_blackhole:
        what += "; a blackhole: what it decides is dropped"
    return Candidate(route, wins=True, why=what)


def words(route: Route) -> str:
    """A route as a person writes it."""
    return f"{route.destination} -> {route.target_id or 'unknown'}"


def _region(part: RoutedBlocks) -> str:
    return f"the rest of {part.addresses.block}" if part.addresses.holes else str(part.addresses.block)


def _why_lost(route: Route, parts: Sequence[RoutedBlocks], lists: Mapping[str, PrefixList]) -> str:
    for part in parts:
        mine = _longest(route, part.addresses.block, lists)
        for winner in part.routes:
            best = _longest(winner, part.addresses.block, lists)
            if mine is None or best is None:
                continue
            if mine.length < best.length:
                return f"its prefix is shorter than that of {words(winner)}"
            beaten, by = _RANK[_rank(route)], _RANK[_rank(winner)]
            return f"its prefix is as long as that of {words(winner)}, but {by} goes before {beaten}"
    return "longer prefixes decide all that it matches"


def _rank(route: Route) -> Rank:
    return route.rank if isinstance(route.destination, Cidr) else max(route.rank, Rank.PREFIX_LIST)


def _longest(route: Route, block: Cidr, lists: Mapping[str, PrefixList]) -> Cidr | None:
    """The longest of a route's destinations that holds a whole block."""
    holding = [each for each in _destinations(route, lists) or () if contains(each, block)]
    return max(holding, key=lambda each: each.length, default=None)


def _destinations(route: Route, lists: Mapping[str, PrefixList]) -> Sequence[Cidr] | None:
    if isinstance(route.destination, Cidr):
        return (route.destination,)
    known = lists.get(route.destination)
    return known.cidrs if known else None
