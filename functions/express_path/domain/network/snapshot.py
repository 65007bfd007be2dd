"""A snapshot: the part of the network that one decision needs, as one account sees it, or several together."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple, Protocol, TypeVar

from express_path.domain.network.resources import (
    Firewall,
    Instance,
    NatGateway,
    NetworkInterface,
    PrefixList,
    RouteTable,
    Subnet,
    Tags,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
)

_NO_TAGS: Tags = {}


@dataclass(frozen=True, slots=True)
class AttachedVpc:
    """A VPC that is attached to a transit gateway."""

    transit_gateway_id: str
    vpc_id: str


class SubnetTags(NamedTuple):
    """The tags of a subnet, of its route table, and of its VPC; a tuple, since a scan has many."""

    subnet: Tags
    route_table: Tags
    vpc: Tags

    def merged(self) -> dict[str, str]:
        """Return the tags that describe the subnet: its own, then those of its route table and of its VPC with other keys."""
        merged = dict(self.subnet)
        for tags in (self.route_table, self.vpc):
            for key, value in tags.items():
                merged.setdefault(key, value)
        return merged


@dataclass(frozen=True)
class Snapshot:
    """The network of one Region as account_id sees it; mappings have resource ids (of firewalls: ARNs) as keys.

    None in place of a mapping, or for has_directory_buckets, means "could not be read", never "none". shared_subnet_ids
    are the subnets that account_id shares with other accounts, None if they could not be read. denied names the
    optional API operations that were denied, denied_to_role those that networkRoleArn's role was refused, or sts:AssumeRole.
    foreign_subnet_ids are the subnets that only another account lists; paths may lead through them.
    lists_ipv6_prefix_lists is true if DescribeManagedPrefixLists, the only call that shows all IPv6 lists, was read.
    """

    account_id: str
    region: str
    vpcs: Mapping[str, Vpc] = field(default_factory=dict)
    subnets: Mapping[str, Subnet] = field(default_factory=dict)
    route_tables: Mapping[str, RouteTable] = field(default_factory=dict)
    vpc_endpoints: Mapping[str, VpcEndpoint] = field(default_factory=dict)
    nat_gateways: Mapping[str, NatGateway] = field(default_factory=dict)
    prefix_lists: Mapping[str, PrefixList] = field(default_factory=dict)
    network_interfaces: Mapping[str, NetworkInterface] | None = None
    transit_gateway_attachments: Mapping[str, TransitGatewayAttachment] | None = None
    transit_gateway_route_tables: Mapping[str, TransitGatewayRouteTable] | None = None
    instances: Mapping[str, Instance] = field(default_factory=dict)
    has_directory_buckets: bool | None = None
    shared_subnet_ids: frozenset[str] | None = None
    firewalls: Mapping[str, Firewall] | None = None
    lists_ipv6_prefix_lists: bool = False
    denied: tuple[str, ...] = ()
    denied_to_role: tuple[str, ...] = ()
    foreign_subnet_ids: frozenset[str] = frozenset()

    @cached_property
    def own_subnets(self) -> tuple[Subnet, ...]:
        """The subnets that account_id itself lists, sorted by id: its own and those that are shared with it."""
        return tuple(
            self.subnets[subnet_id] for subnet_id in sorted(self.subnets) if subnet_id not in self.foreign_subnet_ids
        )

    def tags_of(self, subnet_id: str, route_table_id: str | None, vpc_id: str) -> SubnetTags:
        """Return the tags of a subnet, its route table, and its VPC; those of a resource that is missing are empty."""
        subnet, vpc = self.subnets.get(subnet_id), self.vpcs.get(vpc_id)
        route_table = self.route_tables.get(route_table_id or "")
        return SubnetTags(
            subnet.tags if subnet else _NO_TAGS,
            route_table.tags if route_table else _NO_TAGS,
            vpc.tags if vpc else _NO_TAGS,
        )

    @cached_property
    def vpc_attachments(self) -> Mapping[AttachedVpc, TransitGatewayAttachment]:
        """The transit gateway attachment of each VPC: the available one, else the first by id."""
        found: dict[AttachedVpc, TransitGatewayAttachment] = {}
        attachments = (self.transit_gateway_attachments or {}).values()
        for attachment in sorted(attachments, key=lambda attachment: (attachment.state != "available", attachment.id)):
            if attachment.resource_type == "vpc":
                found.setdefault(AttachedVpc(attachment.transit_gateway_id, attachment.resource_id), attachment)
        return found

    @cached_property
    def firewall_of_endpoint(self) -> Mapping[str, Firewall]:
        """The firewall that names each endpoint as its own."""
        return {
            endpoint_id: firewall
            for firewall in (self.firewalls or {}).values()
            for endpoint_id in firewall.endpoint_ids
        }

    @cached_property
    def express_prefix_lists(self) -> tuple[PrefixList, ...]:
        """The Region's S3 Express prefix lists of both families, sorted by id; empty if the service is not offered.

        They are found by name and owner, because AWS does not publish the IPv6 list's name
        (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).
        """
        lists = (self.prefix_lists[list_id] for list_id in sorted(self.prefix_lists))
        return tuple(
            prefix_list
            for prefix_list in lists
            if prefix_list.aws_owned and is_express_service(prefix_list.name, self.region)
        )

    @cached_property
    def doubtful_prefix_lists(self) -> tuple[PrefixList, ...]:
        """AWS's lists that may have further addresses of S3 Express in this Region, sorted by id.

        Their names contain the service's name in a form that is not known here.
        """
        lists = (self.prefix_lists[list_id] for list_id in sorted(self.prefix_lists))
        return tuple(
            prefix_list
            for prefix_list in lists
            if prefix_list.aws_owned and may_be_express_service(prefix_list.name, self.region)
        )

    @property
    def offers_express(self) -> bool:
        """Whether the Region has a prefix list of S3 Express, or one that may be."""
        return bool(self.express_prefix_lists or self.doubtful_prefix_lists)


@cache
def is_express_service(name: str, region: str) -> bool:
    """Return whether a name is that of S3 Express in a Region, in any partition (cn.com.amazonaws...)."""
    pattern = rf"(?:[a-z]+\.)*amazonaws\.{re.escape(region)}(?:\.ipv6)?\.s3express"
    return re.fullmatch(pattern, name) is not None


_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")


@cache
def may_be_express_service(name: str, region: str) -> bool:
    """Return whether a name contains that of S3 Express in a form that is not known here, and names no other Region."""
    if "s3express" not in name.lower() or is_express_service(name, region):
        return False
    return all(part == region for part in name.split(".") if _REGION.fullmatch(part))


class _Owned(Protocol):
    @property
    def owner_id(self) -> str:
        """The account that owns the resource."""


_Resource = TypeVar("_Resource", bound=_Owned)
_Value = TypeVar("_Value")


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Return the network of one Region from the snapshots of its accounts, seen from the first account.

    If several accounts see a resource, its owner's description is used.
    """
    first, *others = snapshots
    if not others:
        return first
    foreign = {subnet_id for snapshot in others for subnet_id in snapshot.subnets}
    account_ids = [snapshot.account_id for snapshot in snapshots]
    return replace(
        first,
        foreign_subnet_ids=frozenset(foreign - first.subnets.keys()),
        vpcs=_owners_view(account_ids, [snapshot.vpcs for snapshot in snapshots]),
        subnets=_owners_view(account_ids, [snapshot.subnets for snapshot in snapshots]),
        route_tables=_owners_view(account_ids, [snapshot.route_tables for snapshot in snapshots]),
        vpc_endpoints=_owners_view(account_ids, [snapshot.vpc_endpoints for snapshot in snapshots]),
        nat_gateways=_combined([snapshot.nat_gateways for snapshot in snapshots], _first) or {},
        prefix_lists=_combined([snapshot.prefix_lists for snapshot in snapshots], _prefix_list) or {},
        firewalls=_combined([snapshot.firewalls for snapshot in snapshots], _firewall),
        lists_ipv6_prefix_lists=any(snapshot.lists_ipv6_prefix_lists for snapshot in snapshots),
        network_interfaces=_combined([snapshot.network_interfaces for snapshot in snapshots], _first),
        instances=_combined([snapshot.instances for snapshot in snapshots], _first) or {},
        transit_gateway_attachments=_combined(
            [snapshot.transit_gateway_attachments for snapshot in snapshots], _attachment
        ),
        transit_gateway_route_tables=_combined(
            [snapshot.transit_gateway_route_tables for snapshot in snapshots], _first
        ),
    )


def _owners_view(account_ids: Sequence[str], views: Sequence[Mapping[str, _Resource]]) -> dict[str, _Resource]:
    """Return every resource as its owner describes it, else as the first account that lists it does."""
    found: dict[str, _Resource] = {}
    for account_id, view in zip(account_ids, views, strict=True):
        for key, resource in view.items():
            if key not in found or resource.owner_id == account_id:
                found[key] = resource
    return found


def _combined(
    views: Sequence[Mapping[str, _Value] | None], combine: Callable[[_Value, _Value], _Value]
) -> dict[str, _Value] | None:
    """Return every resource as the accounts that list it describe it together; None if no account can read any."""
    readable = [view for view in views if view is not None]
    found: dict[str, _Value] = {}
    for view in readable:
        for key, resource in view.items():
            found[key] = combine(found[key], resource) if key in found else resource
    return found if readable else None


def _first(known: _Value, _other: _Value) -> _Value:
    """Return the description of the first account that lists a resource."""
    return known


def _prefix_list(known: PrefixList, other: PrefixList) -> PrefixList:
    """Combine prefix lists: one account may read the entries, and another the name and the owner."""
    described = known if known.name else other
    return replace(described, cidrs=other.cidrs if known.cidrs is None else known.cidrs)


def _firewall(known: Firewall, other: Firewall) -> Firewall:
    """Combine firewalls: one account may see the firewall, and another an endpoint in its own VPC."""
    return replace(
        known,
        endpoint_ids=tuple(dict.fromkeys((*known.endpoint_ids, *other.endpoint_ids))),
        nat_gateway_ids={**other.nat_gateway_ids, **known.nat_gateway_ids},
    )


def _attachment(known: TransitGatewayAttachment, other: TransitGatewayAttachment) -> TransitGatewayAttachment:
    """Combine attachments: a transit gateway's owner sees associations, and a VPC's owner the attachment's subnets."""
    return replace(
        known,
        route_table_id=known.route_table_id or other.route_table_id,
        subnet_ids=known.subnet_ids or other.subnet_ids,
        appliance_mode=known.appliance_mode or other.appliance_mode,
    )
