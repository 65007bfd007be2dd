"""Which endpoint a heal uses, an existing or a new one, and what blocks its use."""

from collections.abc import Iterator

from express_path.domain.heal.ledger import owner_tag
from express_path.domain.heal.records import MANAGED_TAG, Blocker, Finding, HealSettings
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot, is_express_service
from express_path.domain.path.families import families_of
from express_path.domain.path.tracing import Tracer

NEW_ENDPOINT = "(new)"
"""Stands for the id of an endpoint that does not exist yet."""
USABLE = frozenset({"available", "pending"})
"""The states of an endpoint that a route table may be associated with, now or soon."""


def express_endpoints(snapshot: Snapshot, vpc_id: str) -> list[VpcEndpoint]:
    """Return the VPC's gateway endpoints for S3 Express in any state, sorted by id."""
    return [
        endpoint
        for _, endpoint in sorted(snapshot.vpc_endpoints.items())
        if endpoint.vpc_id == vpc_id
        and endpoint.endpoint_type == "gateway"
        and is_express_service(endpoint.service_name, snapshot.region)
    ]


def usable_endpoints(tracer: Tracer, table: RouteTable, settings: HealSettings) -> list[VpcEndpoint]:
    """Return the endpoints that a table may be associated with, best first.

    Endpoints that no tool owns come first, and among them those that a heal created. EC2 accepts a dual-stack endpoint
    only for dual-stack subnets, and an IPv6 endpoint only for IPv6-only subnets
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
    """
    accepted = {"ipv4", _widest_ip_address_type(tracer, table)}
    usable = [
        endpoint
        for endpoint in express_endpoints(tracer.snapshot, table.vpc_id)
        if endpoint.state in USABLE and endpoint.ip_address_type in accepted
    ]
    return sorted(
        usable,
        key=lambda endpoint: (owner_tag(endpoint, settings) != "", MANAGED_TAG not in endpoint.tags, endpoint.id),
    )


def prefix_lists_of(snapshot: Snapshot, endpoint: VpcEndpoint) -> list[PrefixList]:
    """Return the prefix lists to which an endpoint adds routes in a route table, by its IP address type.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
    """
    return [
        prefix_list
        for prefix_list in snapshot.express_prefix_lists
        if endpoint.ip_address_type in ("dualstack", prefix_list.family.lower())
    ]


def is_associated(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> bool:
    """Return whether a table has every route that its association with an endpoint would add."""
    routed = {route.destination for route in table.routes if route.target_id == endpoint.id}
    return routed >= {prefix_list.id for prefix_list in prefix_lists_of(snapshot, endpoint)}


def endpoint_to_create(tracer: Tracer, table: RouteTable) -> VpcEndpoint:
    """Return the endpoint that a heal would create, as if it were available; only what routing needs is set."""
    snapshot = tracer.snapshot
    lists = snapshot.express_prefix_lists
    name = next((prefix_list.name for prefix_list in lists if prefix_list.family is Family.IPV4), lists[0].name)
    return VpcEndpoint(
        id=NEW_ENDPOINT,
        vpc_id=table.vpc_id,
        endpoint_type="gateway",
        service_name=name.replace(".ipv6.", "."),
        state="available",
        ip_address_type=_ip_address_type(tracer, table, {prefix_list.family for prefix_list in lists}),
        owner_id=snapshot.account_id,
    )


def _ip_address_type(tracer: Tracer, table: RouteTable, offered: set[Family]) -> str:
    """Return the widest type that the table's subnets accept and for which the Region has prefix lists."""
    return _widest_ip_address_type(tracer, table) if Family.IPV6 in offered else "ipv4"


def _widest_ip_address_type(tracer: Tracer, table: RouteTable) -> str:
    """Return the widest IP address type that all subnets of a table accept."""
    families = {families_of(subnet) for subnet in tracer.governed_subnets(table)}
    if families and all(used.ipv6 and used.ipv4 for used in families):
        return "dualstack"
    return "ipv6" if families and all(used.ipv6 and not used.ipv4 for used in families) else "ipv4"


def endpoint_findings(
    snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint, settings: HealSettings
) -> Iterator[Finding]:
    """Yield what blocks the use of this endpoint, or its creation now."""
    owner = owner_tag(endpoint, settings)
    if owner and not settings.adopt_iac_owned and not is_associated(snapshot, table, endpoint):
        yield Finding(
            Blocker.OWNED_BY_IAC,
            f"{endpoint.id} has the tag {owner}, so a tool owns it",
            "apply the patch with that tool, or allow heals to change it (stack parameter AdoptIacOwned)",
        )
    deleting = [found.id for found in express_endpoints(snapshot, table.vpc_id) if found.state == "deleting"]
    if deleting and endpoint.id == NEW_ENDPOINT:
        yield Finding(
            Blocker.ENDPOINT_DELETING,
            f"{deleting[0]} is being deleted, and its routes may still exist",
            "run the heal again when it is deleted",
        )
    for prefix_list in prefix_lists_of(snapshot, endpoint):
        for route in table.routes:
            if route.destination == prefix_list.id and route.target_id != endpoint.id:
                yield Finding(
                    Blocker.WOULD_NOT_CURE,
                    f"{prefix_list.id} -> {route.target_id} in {table.id} has the destination of the endpoint's route",
                    "delete that route, or disassociate its endpoint from the table",
                )
