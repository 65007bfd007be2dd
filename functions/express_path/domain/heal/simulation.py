"""Evaluate a changed snapshot with the same engine: whether a heal would work, and which routes would block it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from express_path.domain.heal.endpoint_choice import prefix_lists_of
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.addresses import Cidr, from_nat64
from express_path.domain.network.resources import Route, RouteTable, Subnet, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import TracedAddresses
from express_path.domain.path.reasons import NO_WAY_OUT, Compliance, Reason
from express_path.domain.path.routing import contains, overlap
from express_path.domain.verdict.evaluator import Evaluator, Verdict

MAX_BLOCKS = 10
"""How many blocks of addresses a finding lists."""
NAT64_FIX = (
    "turn off DNS64 for the subnet (aws ec2 modify-subnet-attribute --no-enable-dns64), or use the dual-stack host "
    "names (s3express-<zone>.dualstack.<region>.amazonaws.com), which have IPv6 addresses of their own; the verdict "
    "changes only when DNS64 is off or the NAT64 route is deleted"
)
"""What to do about S3 Express traffic that crosses a NAT because DNS64 synthesizes addresses for its IPv4-only names
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html)."""


def with_association(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> Snapshot:
    """Return the snapshot after a heal: the endpoint is available, and the table has its routes.

    A route to the same prefix list that is already in the table stays.
    """
    taken = {route.destination for route in table.routes}
    added = [prefix_list.id for prefix_list in prefix_lists_of(snapshot, endpoint) if prefix_list.id not in taken]
    routes = [*table.routes, *(Route(list_id, endpoint.id, TargetKind.VPC_ENDPOINT) for list_id in added)]
    return replace(
        snapshot,
        vpc_endpoints={**snapshot.vpc_endpoints, endpoint.id: replace(endpoint, state="available")},
        route_tables={**snapshot.route_tables, table.id: replace(table, routes=tuple(routes))},
    )


def cures(evaluator: Evaluator, table: RouteTable, endpoint: VpcEndpoint, subnet_id: str) -> bool:
    """Return whether the subnet would be COMPLIANT after the table's association with this endpoint."""
    after = evaluator.for_snapshot(with_association(evaluator.snapshot, table, endpoint))
    return after.verdict(subnet_id).compliance is Compliance.COMPLIANT


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """What blocks a heal for some addresses: the kind of blocker, the route or table, and what to do about it."""

    blocker: Blocker
    where: str
    fix: str


def blocking_routes(evaluator: Evaluator, changed: Snapshot, subnet_id: str) -> Iterator[Finding]:
    """Yield the routes because of which the changed snapshot would not be COMPLIANT; none if it would be."""
    after = evaluator.for_snapshot(changed)
    verdict = after.verdict(subnet_id)
    if verdict.compliance is Compliance.COMPLIANT:
        return
    table = changed.route_tables[str(verdict.route_table_id)]
    results = after.tracer.trace_subnet(table, changed.subnets[subnet_id]).results
    blocked: dict[_Obstacle, list[Cidr]] = {}
    for traced in _harmful(results) or results:
        for outcome in traced.outcomes:
            obstacle = _obstacle(changed, traced, outcome.route, table.id)
            blocked.setdefault(obstacle, []).append(traced.addresses.block)
    for obstacle, blocks in blocked.items():
        yield Finding(obstacle.blocker, _evidence(obstacle, list(dict.fromkeys(blocks))), obstacle.fix)


def _harmful(results: Sequence[TracedAddresses]) -> list[TracedAddresses]:
    """Return the addresses that neither use the endpoint nor lead nowhere, with their harmful outcomes only."""
    harmless = {Reason.ENDPOINT, *NO_WAY_OUT}
    harmful = (
        traced._replace(outcomes=tuple(outcome for outcome in traced.outcomes if outcome.reason not in harmless))
        for traced in results
    )
    return [traced for traced in harmful if traced.outcomes]


def opened_paths(evaluator: Evaluator, changed: Snapshot, table: RouteTable) -> Iterator[Finding]:
    """Yield the table's subnets for which the changed snapshot opens a path that Block Public Access closes now."""
    after = evaluator.for_snapshot(changed)
    for subnet in evaluator.tracer.governed_subnets(table):
        closed = list(_closed_blocks(evaluator, table, subnet))
        results = after.tracer.trace_subnet(changed.route_tables[table.id], subnet).results if closed else ()
        reached = [
            block
            for traced in results
            for block in traced.addresses.blocks()
            if any(outcome.reason is Reason.ENDPOINT for outcome in traced.outcomes)
        ]
        opened = [block for block in closed if any(overlap(block, other) for other in reached)]
        if opened:
            yield path_closed(
                f"{subnet.id} would reach {', '.join(map(str, opened[:MAX_BLOCKS]))} through the endpoint"
            )


def is_closed(evaluator: Evaluator, verdict: Verdict) -> bool:
    """Return whether Block Public Access drops a part of a subnet's traffic."""
    table = evaluator.snapshot.route_tables.get(verdict.route_table_id or "")
    subnet = evaluator.snapshot.subnets.get(verdict.subnet_id)
    return bool(table and subnet and any(_closed_blocks(evaluator, table, subnet)))


def path_closed(evidence: str) -> Finding:
    """Return the blocker for a path that somebody closed."""
    return Finding(
        Blocker.PATH_CLOSED,
        f"{evidence}; VPC Block Public Access closes this path now",
        "ask who closed it; if it should be open, create an exclusion, or associate the route table yourself",
    )


def _closed_blocks(evaluator: Evaluator, table: RouteTable, subnet: Subnet) -> Iterator[Cidr]:
    for traced in evaluator.tracer.trace_subnet(table, subnet).results:
        if any(outcome.is_closed for outcome in traced.outcomes):
            yield from traced.addresses.blocks()


def excluded_neighbors(evaluator: Evaluator, table: RouteTable) -> Iterator[Finding]:
    """Yield the table's subnets that the rule excludes: a heal for another subnet would also change their route."""
    for subnet_id in sorted(subnet.id for subnet in evaluator.tracer.governed_subnets(table)):
        if evaluator.verdict(subnet_id).reason is Reason.EXCLUDED:
            yield Finding(
                Blocker.EXCLUDED,
                f"{table.id} also governs {subnet_id}, which excludeTag excludes",
                "give one of the two subnets its own route table, or remove the tag",
            )


def _obstacle(changed: Snapshot, traced: TracedAddresses, route: Route | None, table_id: str) -> _Obstacle:
    where = f"{route.destination} -> {route.target_id} in {table_id}" if route else table_id
    if route and _is_more_specific(changed, traced, route):
        fix = f"delete {route.destination} from {table_id}, or use a broader CIDR than the prefix list's"
        return _Obstacle(Blocker.MORE_SPECIFIC_ROUTE, where, fix)
    if from_nat64(traced.addresses.block):
        return _Obstacle(Blocker.WOULD_NOT_CURE, where, NAT64_FIX)
    fix = "the endpoint's route does not win there: change that route, or the subnet's address families"
    return _Obstacle(Blocker.WOULD_NOT_CURE, where, fix)


def _evidence(obstacle: _Obstacle, blocks: Sequence[Cidr]) -> str:
    """Return one sentence for a route and all the addresses that it decides."""
    listed = ", ".join(map(str, blocks[:MAX_BLOCKS])) + (", ..." if len(blocks) > MAX_BLOCKS else "")
    if obstacle.blocker is Blocker.MORE_SPECIFIC_ROUTE:
        return f"{obstacle.where} wins {listed} over the endpoint's route"
    return f"{obstacle.where} would still carry S3 Express traffic to {listed}"


def _is_more_specific(changed: Snapshot, traced: TracedAddresses, route: Route) -> bool:
    """Return whether a route wins because its prefix is longer than the prefix list's block, or static and as long."""
    block = traced.addresses.block
    listed = [cidr for prefix_list in changed.express_prefix_lists for cidr in prefix_list.cidrs or ()]
    return any(contains(cidr, block) and (cidr != block or route.destination == block) for cidr in listed)
