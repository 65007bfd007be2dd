"""Explain the subnets of a person's choice: the path hop by hop, why each route won or lost, and what a heal would change.

The winners come from the engine; only the reasons why routes lose are worked out here. AWS's order of priority:
https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.network.addresses import Cidr, from_nat64
from express_path.domain.network.resources import AnyRouteTable, PrefixList, Rank, Route, RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Hop, TableLookup, Trace, TraceState
from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path.domain.path.routing import RoutedBlocks, RoutingIndex, contains, overlap, rank_of
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.capacity import Capacity, capacities, carrying_hops
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.automation.planning import LocalPlan, plan_heal
from express_path_cli.aws.sessions import AccountRegion, connect
from express_path_cli.findings.row import Row, rows_of
from express_path_cli.sources.named import ViewedSubnet, named_subnets, vpc_of
from express_path_cli.sources.network import views_of
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import Failure, locating_errors
from express_path_cli.terminal.progress import Silent

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


@dataclass(frozen=True, slots=True)
class Explanation:
    """One subnet, explained; is_main: its route table is the VPC's main one, without an explicit association.

    notes are what else a reader should know: about proxies and DNS64 servers, and about the source. alike are the IDs of
    other subnets that were asked for and have the same route table and the same path.
    """

    row: Row
    is_main: bool
    route_selections: list[RouteSelection]
    capacities: list[Capacity]
    local_plan: LocalPlan
    notes: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """The explanation of each path, the worst first, and what could not be read: of a dump, or for a heal."""

    explanations: Sequence[Explanation]
    failures: Sequence[Failure] = ()


def explain_named(named: str, source: Source, parameters: RuleParameters) -> Explained:
    """Explain a subnet, or each path of the subnets of a route table or VPC, by ID or name.

    Raise OptionError if the source has nothing or several things of that name, and for options that cannot be used
    together; DumpError and ApiError if the network cannot be read.
    """
    source.check()
    if source.dump:
        network = source.read(parameters, Silent())
        scan = shlex.join(["express-path", "scan", *source.options(), "--format", "csv"])
        subnets = named_subnets(network.views, named, f"{scan} lists the subnets")
        return Explained(_explained_paths(subnets, parameters, None, source.notes), network.failures)
    live = source.live
    account_region = AccountRegion.of_caller(connect(live.regions[0] if live.regions else None, live.profile))
    with locating_errors(account_region):
        views = views_of([_read_vpc(named, account_region, live.external_id, parameters)])
    explanations = _explained_paths(named_subnets(views, named, ""), parameters, account_region)
    failed = {str(failure): failure for explanation in explanations if (failure := explanation.local_plan.failure)}
    return Explained(explanations, [Failure(error.where, error.error) for error in failed.values()])


def _read_vpc(named: str, account_region: AccountRegion, external_id: str, parameters: RuleParameters) -> Snapshot:
    """Read the VPC of what is named, and whatever its traffic crosses."""
    account_id, aws = account_region.account_id, account_region.aws
    vpc_id = vpc_of(aws, named, f"account {account_id} in {aws.region}")
    reader = SnapshotReader(aws, external_id)
    return reader.read(account_id, vpc_id, parameters)


def _explained_paths(
    subnets: Sequence[ViewedSubnet],
    parameters: RuleParameters,
    account_region: AccountRegion | None,
    notes: tuple[str, ...] = (),
) -> list[Explanation]:
    """Explain one subnet of each path."""
    groups: dict[_PathKey, list[ViewedSubnet]] = {}
    for subnet in subnets:
        verdict = subnet.view.evaluator(parameters).verdict(subnet.subnet_id)
        key = _PathKey(verdict.route_table_id, verdict.compliance, verdict.reason, verdict.annotation, verdict.path)
        groups.setdefault(key, []).append(subnet)
    return [
        _explained(group[0], parameters, account_region, notes, tuple(subnet.subnet_id for subnet in group[1:]))
        for key, group in sorted(groups.items(), key=lambda item: SEVERITY_ORDER[item[0].reason])
    ]


class _PathKey(NamedTuple):
    route_table_id: str | None
    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...]


def _explained(
    viewed: ViewedSubnet,
    parameters: RuleParameters,
    account_region: AccountRegion | None,
    notes: tuple[str, ...],
    alike: tuple[str, ...],
) -> Explanation:
    """Explain a subnet; account_region is where the heal's pre-flight checks read."""
    evaluator, subnet_id = viewed.view.evaluator(parameters), viewed.subnet_id
    [row] = rows_of([evaluator.verdict(subnet_id)], [evaluator])
    snapshot = evaluator.snapshot
    subnet, table = snapshot.subnets[subnet_id], snapshot.route_tables.get(row.route_table_id or "")
    tracer = RecordingTracer(snapshot)
    if table and row.path:
        tracer.trace_subnet(table, subnet)
    return Explanation(
        row=row,
        is_main=table is not None and not _is_explicit(table, subnet_id),
        route_selections=route_selections(tracer),
        capacities=capacities(carrying_hops(row.reason, row.path), snapshot),
        local_plan=plan_heal(evaluator, row, account_region),
        notes=(*_proxies(snapshot, row.vpc_id), *_dns64_servers(table, subnet), *notes),
        alike=alike,
    )


def _proxies(snapshot: Snapshot, vpc_id: str) -> Iterator[str]:
    """Yield a note on each NAT/Proxy firewall with an endpoint or a NAT gateway in the VPC."""
    endpoints = [endpoint for endpoint in snapshot.vpc_endpoints.values() if endpoint.vpc_id == vpc_id]
    firewalls = [firewall for endpoint in endpoints for firewall in snapshot.firewalls_of(endpoint)]
    arns = {firewall.arn for firewall in firewalls if firewall and firewall.is_proxy}
    arns |= {gateway.proxy_firewall_arn for gateway in snapshot.nat_gateways.values() if gateway.vpc_id == vpc_id} - {
        ""
    }
    for arn in sorted(arns):
        yield (
            f"{arn.rpartition('/')[2]} is a NAT/Proxy firewall. Routes do not show which clients use it as an explicit "
            "proxy. Their traffic crosses its NAT gateway even with the endpoint, unless their NO_PROXY has the host "
            "names of S3 Express"
        )


def _dns64_servers(table: RouteTable | None, subnet: Subnet) -> Iterator[str]:
    """Yield a note on each route that carries traffic only if clients use a DNS64 server of their own.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html
    """
    if table is None or subnet.dns64:
        return
    for route in table.routes:
        if isinstance(route.destination, Cidr) and from_nat64(route.destination):
            yield (
                f"{table.id} has the route {route_text(route)}, but the subnet does not have DNS64. Clients that use a DNS64 "
                "server of their own, which cannot be seen, send S3 Express traffic along that route"
            )


def _is_explicit(table: RouteTable, subnet_id: str) -> bool:
    return any(association.subnet_id == subnet_id and association.counts for association in table.associations)
