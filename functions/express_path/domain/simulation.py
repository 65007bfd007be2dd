"""Asking the same engine of a changed snapshot whether a heal would cure, and which routes would be in its way."""

from collections.abc import Iterator
from dataclasses import replace

from express_path.domain.healing import Blocker, Finding
from express_path.domain.network import Route, RouteTable, VpcEndpoint
from express_path.domain.path import Traced
from express_path.domain.reasons import Compliance, Reason
from express_path.domain.routing import contains
from express_path.domain.snapshot import Snapshot
from express_path.domain.targets import TargetKind
from express_path.domain.verdict import Judge


def with_association(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> Snapshot:
    """The snapshot after a heal: the endpoint available, and its routes in the table.

    An endpoint brings the prefix lists of its IP address type
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
    """
    brought = [
        each.id
        for each in snapshot.express_prefix_lists
        if endpoint.ip_address_type in ("dualstack", each.family.lower())
    ]
    routes = [each for each in table.routes if each.destination not in brought]
    routes += [Route(list_id, endpoint.id, TargetKind.VPC_ENDPOINT) for list_id in brought]
    return replace(
        snapshot,
        vpc_endpoints={**snapshot.vpc_endpoints, endpoint.id: replace(endpoint, state="available")},
        route_tables={**snapshot.route_tables, table.id: replace(table, routes=tuple(routes))},
    )


def in_the_way(judge: Judge, changed: Snapshot, subnet_id: str) -> Iterator[Finding]:
    """The routes because of which the changed snapshot would not be COMPLIANT; none where it would be."""
    after = judge.on(changed)
    if after.verdict(subnet_id).compliance is Compliance.COMPLIANT:
        return
    subnet = changed.subnets[subnet_id]
    table = after.tracer.governing_table(subnet)
    found: dict[Finding, None] = {}
    for traced in after.tracer.paths(table, subnet) if table else ():
        for outcome in traced.outcomes:
            if outcome.reason not in (Reason.ENDPOINT, Reason.NO_ROUTE):
                found[_finding(changed, traced, outcome.route, str(table and table.id))] = None
    yield from found
    if not found:
        yield Finding(
            Blocker.WOULD_NOT_CURE,
            f"the verdict would be {after.verdict(subnet_id).annotation}",
            "see how-it-decides for this reason",
        )


def _finding(changed: Snapshot, traced: Traced, route: Route | None, table_id: str) -> Finding:
    where = f"{route.destination} -> {route.target_id} in {table_id}" if route else table_id
    if _hijacks(changed, traced, route):
        return Finding(
            Blocker.MORE_SPECIFIC_ROUTE,
            f"{where} wins {traced.region.block} over the endpoint's route",
            "delete that route, or make it shorter than the prefix list's block",
        )
    return Finding(
        Blocker.WOULD_NOT_CURE,
        f"{where} would still carry S3 Express traffic to {traced.region.block}",
        "an endpoint route cannot win there: change that route, or the subnet's address families",
    )


def _hijacks(changed: Snapshot, traced: Traced, route: Route | None) -> bool:
    """Whether a route wins because it is longer than the prefix list's block, or static and as long."""
    if route is None:
        return False
    block = traced.region.block
    listed = [each for prefix_list in changed.express_prefix_lists for each in prefix_list.cidrs or ()]
    return any(contains(each, block) and (each != block or route.destination == block) for each in listed)
