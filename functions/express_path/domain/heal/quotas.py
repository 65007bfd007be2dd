"""The quotas that a heal may meet."""

from collections.abc import Iterator

from express_path.domain.heal.endpoint_choice import NEW_ENDPOINT, prefix_lists_of
from express_path.domain.heal.evidence import Evidence
from express_path.domain.heal.records import Blocker, Finding, HealSettings
from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import Rank, Route, RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot, is_express_service

EXPRESS_WEIGHT = 6
"""How many routes the s3express prefix list counts for; those of S3 and DynamoDB count for one
(https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html)."""


def counts_against_quota(state: str) -> bool:
    """Whether a gateway endpoint in that state counts against the Region's quota; one that is being deleted does."""
    return state.lower() not in ("deleted", "failed")


def quota_findings(
    snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint, evidence: Evidence, settings: HealSettings
) -> Iterator[Finding]:
    """The quotas that associating the table with the endpoint would exceed.

    https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html and
    https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html
    """
    if endpoint.id == NEW_ENDPOINT and evidence.gateway_endpoints >= settings.gateway_endpoint_quota:
        yield Finding(
            Blocker.ENDPOINT_QUOTA,
            f"the Region has {evidence.gateway_endpoints} gateway endpoints of {settings.gateway_endpoint_quota}",
            "raise the quota L-1B52E74A, and the stack parameter GatewayEndpointQuota with it",
        )
    brought = {
        each.family for each in prefix_lists_of(snapshot, endpoint) if not _routes_to(table, each.id, endpoint.id)
    }
    for family in sorted(brought):
        used = sum(_weight(snapshot, each, family) for each in table.routes)
        if used + EXPRESS_WEIGHT > settings.route_quota:
            yield Finding(
                Blocker.ROUTE_QUOTA,
                f"{table.id} holds {used} {family} routes of {settings.route_quota}, the list counts {EXPRESS_WEIGHT}",
                "raise the quota L-93826ACB, and the stack parameter RouteQuota with it",
            )


def _routes_to(table: RouteTable, destination: str, target_id: str) -> bool:
    return any(each.destination == destination and each.target_id == target_id for each in table.routes)


def _weight(snapshot: Snapshot, route: Route, family: Family) -> int:
    """What a route counts for in its family; propagated routes have a quota of their own."""
    if isinstance(route.destination, Cidr):
        return int(route.destination.family is family and route.rank is not Rank.PROPAGATED)
    prefix_list = snapshot.prefix_lists.get(route.destination)
    if prefix_list is None or prefix_list.family is not family:
        return 0
    if prefix_list.aws_owned:
        return EXPRESS_WEIGHT if is_express_service(prefix_list.name, snapshot.region) else 1
    return prefix_list.max_entries or len(prefix_list.cidrs or ())
