"""A snapshot: the part of the network that one decision needs, as one account sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from express_path.domain.network.resources import (
    Firewall,
    Instance,
    NatGateway,
    NetworkInterface,
    PrefixList,
    RouteTable,
    Subnet,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
)


@dataclass(frozen=True, slots=True)
class AttachedVpc:
    """A VPC that is attached to a transit gateway."""

    transit_gateway_id: str
    vpc_id: str


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


@cache
def is_express_service(name: str, region: str) -> bool:
    """Return whether a name is that of S3 Express in a Region, in any partition (cn.com.amazonaws...)."""
    pattern = rf"(?:[a-z]+\.)*amazonaws\.{re.escape(region)}(?:\.ipv6)?\.s3express"
    return re.fullmatch(pattern, name) is not None
