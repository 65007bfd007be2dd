"""A snapshot: the part of the network that one decision needs, as one account sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from express_path.domain.network.resources import (
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


@dataclass(frozen=True)
class Snapshot:
    """The network of one Region, each resource under its id, seen from account_id.

    None in place of a mapping, or for has_directory_buckets, means "could not be read", which is never "none".
    shared_subnet_ids are the subnets that account_id shares with other accounts, None where that could not be read.
    denied names the optional API operations that were refused, such as sts:AssumeRole;
    foreign_subnet_ids the subnets that only another account lists, which paths may lead through.
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
    denied: tuple[str, ...] = ()
    foreign_subnet_ids: frozenset[str] = frozenset()

    @cached_property
    def own_subnets(self) -> tuple[Subnet, ...]:
        """The subnets that account_id itself lists, its own and those shared with it, by id."""
        return tuple(self.subnets[key] for key in sorted(self.subnets) if key not in self.foreign_subnet_ids)

    @cached_property
    def express_prefix_lists(self) -> tuple[PrefixList, ...]:
        """The Region's prefix lists of S3 Express, of either family, by id; empty where the service is not offered.

        They are found by name and owner: AWS publishes no name for the IPv6 one
        (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).
        """
        lists = (self.prefix_lists[key] for key in sorted(self.prefix_lists))
        return tuple(each for each in lists if each.aws_owned and is_express_service(each.name, self.region))


@cache
def is_express_service(name: str, region: str) -> bool:
    """Whether a service or prefix-list name is S3 Express of that Region, in any partition (cn.com.amazonaws...)."""
    pattern = rf"(?:[a-z]+\.)*amazonaws\.{re.escape(region)}(?:\.ipv6)?\.s3express"
    return re.fullmatch(pattern, name) is not None
