"""Asking the same engine of a changed snapshot whether a heal would cure, and which routes would be in its way."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from express_path.domain.heal.endpoint_choice import prefix_lists_of
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.addresses import Cidr, from_nat64
from express_path.domain.network.resources import Route, RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Traced
from express_path.domain.path.reasons import NO_WAY_OUT, Compliance, Reason
from express_path.domain.path.routing import contains
from express_path.domain.verdict.evaluator import Evaluator

LISTED = 10
"""How many blocks of addresses a finding lists."""
NAT64_FIX = (
    "turn off DNS64 for the subnet (aws ec2 modify-subnet-attribute --no-enable-dns64), or use the dual-stack host "
    "names (s3express-<zone>.dualstack.<region>.amazonaws.com), which have IPv6 addresses of their own; the verdict "
    "changes only when DNS64 is off or the NAT64 route is gone"
)
"""What to do about S3 Express traffic that crosses a NAT because DNS64 synthesizes addresses for its IPv4-only names
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html)."""


def with_association(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> Snapshot:
    """The snapshot after a heal: the endpoint available, and its routes in the table unless their place is taken."""
    taken = {each.destination for each in table.routes}
    brought = [each.id for each in prefix_lists_of(snapshot, endpoint) if each.id not in taken]
    routes = [*table.routes, *(Route(list_id, endpoint.id, TargetKind.VPC_ENDPOINT) for list_id in brought)]
    return replace(
        snapshot,
        vpc_endpoints={**snapshot.vpc_endpoints, endpoint.id: replace(endpoint, state="available")},
        route_tables={**snapshot.route_tables, table.id: replace(table, routes=tuple(routes))},
    )


def cures(evaluator: Evaluator, table: RouteTable, endpoint: VpcEndpoint, subnet_id: str) -> bool:
    """Whether the subnet would be COMPLIANT after the table's association with this endpoint."""
    after = evaluator.for_snapshot(with_association(evaluator.snapshot, table, endpoint))
    return after.verdict(subnet_id).compliance is Compliance.COMPLIANT


def blocking_routes(evaluator: Evaluator, changed: Snapshot, subnet_id: str) -> Iterator[Finding]:
    """The routes because of which the changed snapshot would not be COMPLIANT; none where it would be."""
    after = evaluator.for_snapshot(changed)
    verdict = after.verdict(subnet_id)
    if verdict.compliance is Compliance.COMPLIANT:
        return
    table = changed.route_tables[str(verdict.route_table_id)]
    traced = after.tracer.paths(table, changed.subnets[subnet_id])
    outcomes = [(each, outcome) for each in traced for outcome in each.outcomes]
    harmless = {Reason.ENDPOINT, *NO_WAY_OUT}
    harmful = [(each, outcome) for each, outcome in outcomes if outcome.reason not in harmless] or outcomes
    found: dict[tuple[Blocker, str, str], list[Cidr]] = {}
    for each, outcome in harmful:
        found.setdefault(_kind(changed, each, outcome.route, table.id), []).append(each.region.block)
    for (blocker, where, fix), blocks in found.items():
        yield Finding(blocker, _evidence(blocker, where, list(dict.fromkeys(blocks))), fix)


def excluded_neighbours(evaluator: Evaluator, table: RouteTable) -> Iterator[Finding]:
    """The subnets of a table that the rule leaves out: a heal for another subnet would move their traffic too."""
    for subnet_id, subnet in sorted(evaluator.snapshot.subnets.items()):
        governing = evaluator.tracer.governing_table(subnet)
        if governing and governing.id == table.id and evaluator.verdict(subnet_id).reason is Reason.EXCLUDED:
            yield Finding(
                Blocker.EXCLUDED,
                f"{subnet_id}, which {table.id} governs too, is left out by excludeTag",
                "give one of the two subnets a route table of its own, or take the tag away",
            )


def _kind(changed: Snapshot, traced: Traced, route: Route | None, table_id: str) -> tuple[Blocker, str, str]:
    """What stands in the way of some addresses, where, and what to do about it."""
    where = f"{route.destination} -> {route.target_id} in {table_id}" if route else table_id
    if route and _hijacks(changed, traced, route):
        fix = f"delete {route.destination} from {table_id}, or use a broader CIDR than the prefix list's"
        return Blocker.MORE_SPECIFIC_ROUTE, where, fix
    if from_nat64(traced.region.block):
        return Blocker.WOULD_NOT_CURE, where, NAT64_FIX
    fix = "an endpoint route cannot win there: change that route, or the subnet's address families"
    return Blocker.WOULD_NOT_CURE, where, fix


def _evidence(blocker: Blocker, where: str, blocks: Sequence[Cidr]) -> str:
    """One sentence for a route and all the addresses that it takes."""
    listed = ", ".join(map(str, blocks[:LISTED])) + (", ..." if len(blocks) > LISTED else "")
    if blocker is Blocker.MORE_SPECIFIC_ROUTE:
        return f"{where} wins {listed} over the endpoint's route"
    return f"{where} would still carry S3 Express traffic to {listed}"


def _hijacks(changed: Snapshot, traced: Traced, route: Route) -> bool:
    """Whether a route wins because it is longer than the prefix list's block, or static and as long."""
    block = traced.region.block
    listed = [each for prefix_list in changed.express_prefix_lists for each in prefix_list.cidrs or ()]
    return any(contains(each, block) and (each != block or route.destination == block) for each in listed)
