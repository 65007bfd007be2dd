"""The quotas that a heal may exceed."""

from collections.abc import Iterator

from express_path.domain.heal.endpoint_choice import NEW_ENDPOINT, prefix_lists_of
from express_path.domain.heal.preflight import ROUTE_QUOTA, Evidence
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import Rank, Route, RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot, is_express_service

EXPRESS_WEIGHT = 6
"""How many routes an s3express prefix list counts as; those of S3 and DynamoDB count as one
(https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html)."""


def counts_against_quota(state: str) -> bool:
    """Return whether a gateway endpoint in this state counts toward the Region's quota. A deleting one does."""
    return state.lower() not in ("deleted", "failed")


def needs_more_routes_than_default(snapshot: Snapshot, table: RouteTable) -> bool:
    """Return whether a table with an s3express prefix list more could exceed AWS's default of the quota of routes."""
    return any(_routes_with_endpoint(snapshot, table, family) > ROUTE_QUOTA.value for family in Family)


def quota_findings(
    snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint, evidence: Evidence
) -> Iterator[Finding]:
    """Yield the quotas that a heal with this endpoint would exceed."""
    quota = evidence.endpoint_quota
    if endpoint.id == NEW_ENDPOINT and evidence.gateway_endpoints >= quota.value:
        yield Finding(
            Blocker.ENDPOINT_QUOTA,
            f"the Region has {evidence.gateway_endpoints} gateway endpoints; the quota is {quota}",
            f"request an increase of quota {quota.code}",
        )
    added = {
        prefix_list.family
        for prefix_list in prefix_lists_of(snapshot, endpoint)
        if not _has_route(table, prefix_list.id, endpoint.id)
    }
    for family in sorted(added):
        needed, quota = _routes_with_endpoint(snapshot, table, family), evidence.route_quota
        if needed > quota.value:
            yield Finding(
                Blocker.ROUTE_QUOTA,
                f"{table.id} has {needed - EXPRESS_WEIGHT} {family} routes, and the prefix list counts as "
                f"{EXPRESS_WEIGHT}; the quota is {quota}",
                f"request an increase of quota {quota.code}, or remove routes",
            )


def _routes_with_endpoint(snapshot: Snapshot, table: RouteTable, family: Family) -> int:
    """Return how many routes of a family count against the quota once the table has the s3express prefix list."""
    return sum(_weight(snapshot, route, family) for route in table.routes) + EXPRESS_WEIGHT


def _has_route(table: RouteTable, destination: str, target_id: str) -> bool:
    return any(route.destination == destination and route.target_id == target_id for route in table.routes)


def _weight(snapshot: Snapshot, route: Route, family: Family) -> int:
    """Return how many routes of a family a route counts as. Propagated routes have their own quota."""
    if isinstance(route.destination, Cidr):
        return int(route.destination.family is family and route.rank is not Rank.PROPAGATED)
    prefix_list = snapshot.prefix_lists.get(route.destination)
    if prefix_list is None or prefix_list.family is not family:
        return 0
    if prefix_list.aws_owned:
        return EXPRESS_WEIGHT if is_express_service(prefix_list.name, snapshot.region) else 1
    return prefix_list.max_entries or len(prefix_list.cidrs or ())
