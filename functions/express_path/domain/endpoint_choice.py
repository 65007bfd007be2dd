"""Which endpoint a heal uses: one that the VPC has, or a new one, and what speaks against it."""

from collections.abc import Iterator

from express_path.domain.addresses import Family
from express_path.domain.healing import MANAGED_TAG, Blocker, Finding, HealSettings
from express_path.domain.network import RouteTable, VpcEndpoint
from express_path.domain.snapshot import Snapshot, is_express_service
from express_path.domain.tracing import Tracer, families_of
from express_path.domain.verdict import has_tag

NEW_ENDPOINT = "(new)"
"""Stands for the id of an endpoint that is yet to be created."""
_USABLE = frozenset({"available", "pending"})


def express_endpoints(snapshot: Snapshot, vpc_id: str) -> list[VpcEndpoint]:
    """The VPC's gateway endpoints for S3 Express in whatever state, by id."""
    return [
        each
        for _, each in sorted(snapshot.vpc_endpoints.items())
        if each.vpc_id == vpc_id
        and each.endpoint_type == "gateway"
        and is_express_service(each.service_name, snapshot.region)
    ]


def endpoint_to_associate(snapshot: Snapshot, vpc_id: str, settings: HealSettings) -> VpcEndpoint | None:
    """The endpoint that the VPC has, preferring one that no tool owns, then one that a heal made; None without any."""
    usable = [each for each in express_endpoints(snapshot, vpc_id) if each.state in _USABLE]
    return min(
        usable, key=lambda each: (_owner_tag(each, settings) != "", MANAGED_TAG not in each.tags, each.id), default=None
    )


def _owner_tag(endpoint: VpcEndpoint, settings: HealSettings) -> str:
    """The tag by which a tool owns an endpoint, empty where none does."""
    by_stack = sorted(key for key in endpoint.tags if key.startswith("aws:cloudformation:"))
    by_others = [each for each in settings.owner_tags if has_tag(endpoint.tags, each)]
    return next(iter([*by_stack, *by_others]), "")


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
    """ipv4, unless the Region has the IPv6 list too and all subnets of the table have IPv6, alone or with IPv4.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
    """
    subnets = tracer.snapshot.subnets.values()
    families = {families_of(each) for each in subnets if tracer.governing_table(each) is table}
    if Family.IPV6 not in offered or not families or not all(each.ipv6 for each in families):
        return "ipv4"
    if all(each.ipv4 for each in families):
        return "dualstack"
    return "ipv6" if not any(each.ipv4 for each in families) else "ipv4"


def endpoint_findings(
    snapshot: Snapshot, vpc_id: str, existing: VpcEndpoint | None, settings: HealSettings
) -> Iterator[Finding]:
    """What speaks against using the VPC's endpoint, or against making one now."""
    owner = _owner_tag(existing, settings) if existing else ""
    if existing and owner and not settings.adopt_iac_owned:
        yield Finding(
            Blocker.OWNED_BY_IAC,
            f"{existing.id} carries the tag {owner}={existing.tags.get(owner, '')}: a tool owns it",
            "apply the patch in that tool, or let heals change it (stack parameter AdoptIacOwned)",
        )
    deleting = [each.id for each in express_endpoints(snapshot, vpc_id) if each.state == "deleting"]
    if deleting and not existing:
        yield Finding(
            Blocker.ENDPOINT_DELETING,
            f"{deleting[0]} is being deleted, and its routes may still be there",
            "run again when it is gone",
        )
