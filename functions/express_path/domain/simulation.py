"""Asking the same engine of a changed snapshot whether a heal would cure, and which routes would be in its way."""

from collections.abc import Iterator
from dataclasses import replace

from express_path.domain.endpoint_choice import brought_lists
from express_path.domain.healing import Blocker, Finding
from express_path.domain.network import Route, RouteTable, VpcEndpoint
from express_path.domain.path import Traced
from express_path.domain.reasons import NO_WAY_OUT, Compliance, Reason
from express_path.domain.routing import contains
from express_path.domain.snapshot import Snapshot
from express_path.domain.targets import TargetKind
from express_path.domain.verdict import Judge


def with_association(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> Snapshot:
    """The snapshot after a heal: the endpoint available, and its routes in the table unless their place is taken."""
    taken = {each.destination for each in table.routes}
    brought = [each.id for each in brought_lists(snapshot, endpoint) if each.id not in taken]
    routes = [*table.routes, *(Route(list_id, endpoint.id, TargetKind.VPC_ENDPOINT) for list_id in brought)]
    return replace(
        snapshot,
        vpc_endpoints={**snapshot.vpc_endpoints, endpoint.id: replace(endpoint, state="available")},
        route_tables={**snapshot.route_tables, table.id: replace(table, routes=tuple(routes))},
    )


def cures(judge: Judge, table: RouteTable, endpoint: VpcEndpoint, subnet_id: str) -> bool:
    """Whether the subnet would be COMPLIANT after the table's association with this endpoint."""
    after = judge.on(with_association(judge.snapshot, table, endpoint))
    return after.verdict(subnet_id).compliance is Compliance.COMPLIANT


def in_the_way(judge: Judge, changed: Snapshot, subnet_id: str) -> Iterator[Finding]:
    """The routes because of which the changed snapshot would not be COMPLIANT; none where it would be."""
    after = judge.on(changed)
    verdict = after.verdict(subnet_id)
    if verdict.compliance is Compliance.COMPLIANT:
        return
    table = changed.route_tables[str(verdict.route_table_id)]
    traced = after.tracer.paths(table, changed.subnets[subnet_id])
    outcomes = [(each, outcome) for each in traced for outcome in each.outcomes]
    harmless = {Reason.ENDPOINT, *NO_WAY_OUT}
    harmful = [(each, outcome) for each, outcome in outcomes if outcome.reason not in harmless] or outcomes
    yield from dict.fromkeys(_finding(changed, each, outcome.route, table.id) for each, outcome in harmful)


def excluded_neighbours(judge: Judge, table: RouteTable) -> Iterator[Finding]:
    """The subnets of a table that the rule leaves out: a heal for another subnet would move their traffic too."""
    for subnet_id, subnet in sorted(judge.snapshot.subnets.items()):
        governing = judge.tracer.governing_table(subnet)
        if governing and governing.id == table.id and judge.verdict(subnet_id).reason is Reason.EXCLUDED:
            yield Finding(
                Blocker.EXCLUDED,
                f"{subnet_id}, which {table.id} governs too, is left out by excludeTag",
                "give one of the two subnets a route table of its own, or take the tag away",
            )


def _finding(changed: Snapshot, traced: Traced, route: Route | None, table_id: str) -> Finding:
    where = f"{route.destination} -> {route.target_id} in {table_id}" if route else table_id
    if route and _hijacks(changed, traced, route):
        return Finding(
            Blocker.MORE_SPECIFIC_ROUTE,
            f"{where} wins {traced.region.block} over the endpoint's route",
            f"delete {route.destination} from {table_id}, or make it shorter than the prefix list's block",
        )
    return Finding(
        Blocker.WOULD_NOT_CURE,
        f"{where} would still carry S3 Express traffic to {traced.region.block}",
        "an endpoint route cannot win there: change that route, or the subnet's address families",
    )


def _hijacks(changed: Snapshot, traced: Traced, route: Route) -> bool:
    """Whether a route wins because it is longer than the prefix list's block, or static and as long."""
    block = traced.region.block
    listed = [each for prefix_list in changed.express_prefix_lists for each in prefix_list.cidrs or ()]
    return any(contains(each, block) and (each != block or route.destination == block) for each in listed)
