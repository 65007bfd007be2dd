"""Which endpoint a heal uses: one that the VPC has, or a new one, and what speaks against it."""

from collections.abc import Iterator

from express_path.domain.heal.records import MANAGED_TAG, Blocker, Finding, HealSettings
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, RouteTable, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot, is_express_service
from express_path.domain.network.tags import has_tag
from express_path.domain.path.families import families_of
from express_path.domain.path.tracing import Tracer

NEW_ENDPOINT = "(new)"
"""Stands for the id of an endpoint that is yet to be created."""
USABLE = frozenset({"available", "pending"})
"""The states of an endpoint that a route table may be associated with, now or in a moment."""


def express_endpoints(snapshot: Snapshot, vpc_id: str) -> list[VpcEndpoint]:
    """The VPC's gateway endpoints for S3 Express in whatever state, by id."""
    return [
        each
        for _, each in sorted(snapshot.vpc_endpoints.items())
        if each.vpc_id == vpc_id
        and each.endpoint_type == "gateway"
        and is_express_service(each.service_name, snapshot.region)
    ]


def usable_endpoints(tracer: Tracer, table: RouteTable, settings: HealSettings) -> list[VpcEndpoint]:
    """The endpoints that a table may be associated with, best first: one that no tool owns, then one that a heal made.

    EC2 takes a dual-stack endpoint only for dual-stack subnets, an IPv6 one only for IPv6-only subnets
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
    """
    fitting = {"ipv4", _families_type(tracer, table)}
    usable = [
        each
        for each in express_endpoints(tracer.snapshot, table.vpc_id)
        if each.state in USABLE and each.ip_address_type in fitting
    ]
    return sorted(usable, key=lambda each: (owner_tag(each, settings) != "", MANAGED_TAG not in each.tags, each.id))


def owner_tag(endpoint: VpcEndpoint, settings: HealSettings) -> str:
    """The tag by which a tool owns an endpoint, as key=value; empty where none does."""
    keys = sorted(key for key in endpoint.tags if key.startswith("aws:cloudformation:"))
    keys += [key for key in endpoint.tags for each in settings.owner_tags if has_tag({key: endpoint.tags[key]}, each)]
    return f"{keys[0]}={endpoint.tags[keys[0]]}" if keys else ""


def prefix_lists_of(snapshot: Snapshot, endpoint: VpcEndpoint) -> list[PrefixList]:
    """The prefix lists that an endpoint brings into a route table, by its IP address type.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
    """
    return [
        each for each in snapshot.express_prefix_lists if endpoint.ip_address_type in ("dualstack", each.family.lower())
    ]


def is_associated(snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint) -> bool:
    """Whether a table has every route that its association with an endpoint would bring."""
    routed = {route.destination for route in table.routes if route.target_id == endpoint.id}
    return routed >= {each.id for each in prefix_lists_of(snapshot, endpoint)}


def endpoint_to_create(tracer: Tracer, table: RouteTable) -> VpcEndpoint:
    """The endpoint that a VPC without one would get, available, as far as routing is concerned."""
    snapshot = tracer.snapshot
    lists = snapshot.express_prefix_lists
    name = next((each.name for each in lists if each.family is Family.IPV4), lists[0].name)
    return VpcEndpoint(
        id=NEW_ENDPOINT,
        vpc_id=table.vpc_id,
        endpoint_type="gateway",
        service_name=name.replace(".ipv6.", "."),
        state="available",
        ip_address_type=_ip_address_type(tracer, table, {each.family for each in lists}),
        owner_id=snapshot.account_id,
    )


def _ip_address_type(tracer: Tracer, table: RouteTable, offered: set[Family]) -> str:
    """What the subnets of the table allow, as far as the Region has the prefix lists; ipv4 otherwise."""
    return _families_type(tracer, table) if Family.IPV6 in offered else "ipv4"


def _families_type(tracer: Tracer, table: RouteTable) -> str:
    """The richest IP address type that all subnets of a table allow."""
    subnets = tracer.snapshot.subnets.values()
    families = {families_of(each) for each in subnets if tracer.governing_table(each) is table}
    if families and all(each.ipv6 and each.ipv4 for each in families):
        return "dualstack"
    return "ipv6" if families and all(each.ipv6 and not each.ipv4 for each in families) else "ipv4"


def endpoint_findings(
    snapshot: Snapshot, table: RouteTable, endpoint: VpcEndpoint, settings: HealSettings
) -> Iterator[Finding]:
    """What speaks against using this endpoint, or against making it now."""
    owner = owner_tag(endpoint, settings)
    if owner and not settings.adopt_iac_owned and not is_associated(snapshot, table, endpoint):
        yield Finding(
            Blocker.OWNED_BY_IAC,
            f"{endpoint.id} carries the tag {owner}: a tool owns it",
            "apply the patch in that tool, or let heals change it (stack parameter AdoptIacOwned)",
        )
    deleting = [each.id for each in express_endpoints(snapshot, table.vpc_id) if each.state == "deleting"]
    if deleting and endpoint.id == NEW_ENDPOINT:
        yield Finding(
            Blocker.ENDPOINT_DELETING,
            f"{deleting[0]} is being deleted, and its routes may still be there",
            "run again when it is gone",
        )
    for each in prefix_lists_of(snapshot, endpoint):
        for route in table.routes:
            if route.destination == each.id and route.target_id != endpoint.id:
                yield Finding(
                    Blocker.WOULD_NOT_CURE,
                    f"{each.id} -> {route.target_id} in {table.id} takes the place of the endpoint's route",
                    "delete that route, or disassociate its endpoint from the table",
                )
