"""A snapshot: the part of the network that one decision needs, as one account sees it, or several together."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar, cast

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.claims import Claim, unlisted_tables
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
    TransitGatewayPolicyTable,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
)

_NO_TAGS: Tags = {}

Described = (
    Subnet
    | RouteTable
    | VpcEndpoint
    | NatGateway
    | PrefixList
    | NetworkInterface
    | TransitGatewayAttachment
    | TransitGatewayRouteTable
    | TransitGatewayPolicyTable
    | Firewall
)
"""A record that accounts may describe differently."""
_Record = TypeVar("_Record", bound=Described)
_KINDS = (
    *("subnets", "route_tables", "vpc_endpoints", "nat_gateways", "prefix_lists", "network_interfaces", "firewalls"),
    *("transit_gateway_attachments", "transit_gateway_route_tables", "transit_gateway_policy_tables"),
)
"""The fields of a snapshot with records that accounts may describe differently."""


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
    transit_gateway_of_table has the transit gateway of each table that DescribeTransitGatewayRouteTables lists.
    transit_gateway_connects has what may be the transport attachment of each Connect attachment; empty if it is not shown.
    interfaces_listed_in are the VPCs of which network_interfaces has every interface that forwards traffic.
    core_network_attachments are the VPC attachments of Cloud WAN core networks, whose ARN stands for the transit gateway.
    lists_ipv6_prefix_lists is true if account_id read DescribeManagedPrefixLists, the only call that shows all IPv6 lists, and
    others_with_ipv6_lists are the other accounts that did.
    versions are further descriptions of resources about which accounts disagree, and disputed_tables the different claims
    of route tables on a subnet, both by id. Each of them may be right. has_several_accounts is true if others than account_id
    saw parts of the network.
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
    transit_gateway_policy_tables: Mapping[str, TransitGatewayPolicyTable] | None = None
    transit_gateway_of_table: Mapping[str, str] | None = None
    transit_gateway_connects: Mapping[str, frozenset[str]] | None = None
    core_network_attachments: Mapping[str, TransitGatewayAttachment] | None = None
    interfaces_listed_in: frozenset[str] = frozenset()
    instances: Mapping[str, Instance] = field(default_factory=dict)
    has_directory_buckets: bool | None = None
    shared_subnet_ids: frozenset[str] | None = None
    firewalls: Mapping[str, Firewall] | None = None
    lists_ipv6_prefix_lists: bool = False
    others_with_ipv6_lists: frozenset[str] = frozenset()
    denied: tuple[str, ...] = ()
    denied_to_role: tuple[str, ...] = ()
    foreign_subnet_ids: frozenset[str] = frozenset()
    versions: Mapping[str, tuple[Described, ...]] = field(default_factory=dict)
    disputed_tables: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    has_several_accounts: bool = False

    def versions_of(self, record: _Record) -> tuple[_Record, ...]:
        """Return every description of a resource, this one first: one, unless accounts disagree about it."""
        versions = self.versions.get(_key_of(record))
        if not versions:
            return (record,)
        return (record, *cast("tuple[_Record, ...]", versions))

    @property
    def records(self) -> tuple[Mapping[str, Described], ...]:
        """The records of each kind that accounts may describe differently, by id; those that cannot be read are empty."""
        return tuple(getattr(self, kind) or {} for kind in _KINDS)

    def described_as(self, chosen: Iterable[Described]) -> "Snapshot":
        """Return the network in which each of these descriptions is the only one of its resource."""
        by_key = {_key_of(record): record for record in chosen}
        changed = {}
        for kind, records in zip(_KINDS, self.records, strict=True):
            if records:
                changed[kind] = {key: by_key.get(key, record) for key, record in records.items()}
        versions = {key: descriptions for key, descriptions in self.versions.items() if key not in by_key}
        return replace(self, versions=versions, **cast("Any", changed))

    @cached_property
    def listed_subnets(self) -> tuple[Subnet, ...]:
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
    def vpc_attachments(self) -> Mapping[AttachedVpc, tuple[TransitGatewayAttachment, ...]]:
        """Every description of the transit gateway attachment of each VPC: of the available one, else of the first by id.

        If it is not certain which one is available, of all that may be.
        """
        attachments = (self.transit_gateway_attachments or {}).values()
        described, may_be_available, is_available = {}, {}, {}
        for attachment in attachments:
            versions = self.versions_of(attachment)
            described[attachment.id] = versions
            may_be_available[attachment.id] = any(version.state in ("", "available") for version in versions)
            is_available[attachment.id] = all(version.state == "available" for version in versions)

        def order(attachment: TransitGatewayAttachment) -> tuple[bool, bool, str]:
            return not is_available[attachment.id], not may_be_available[attachment.id], attachment.id

        by_vpc: dict[AttachedVpc, tuple[TransitGatewayAttachment, ...]] = {}
        for attachment in sorted(attachments, key=order):
            if attachment.resource_type != "vpc":
                continue
            attached = AttachedVpc(attachment.transit_gateway_id, attachment.resource_id)
            known = by_vpc.get(attached, ())
            is_certain = any(is_available[version.id] for version in known)
            if not known or (may_be_available[attachment.id] and not is_certain):
                by_vpc[attached] = (*known, *described[attachment.id])
        return by_vpc

    @cached_property
    def tables_by_vpc(self) -> Mapping[str, tuple[RouteTable, ...]]:
        """Every description of the route tables of each VPC. One that is associated with a subnet is also of that one's VPC."""
        by_vpc: defaultdict[str, list[RouteTable]] = defaultdict(list)
        for table in self.route_tables.values():
            associated = (self.subnets.get(association.subnet_id or "") for association in table.associations)
            for vpc_id in {table.vpc_id, *(subnet.vpc_id for subnet in associated if subnet)}:
                by_vpc[vpc_id] += self.versions_of(table)
        return {vpc_id: tuple(tables) for vpc_id, tables in by_vpc.items()}

    @cached_property
    def partly_listed_vpcs(self) -> Mapping[str, str]:
        """What shows that the list of a VPC's route tables is partial, by the VPC."""
        endpoints = [version for listed in self.vpc_endpoints.values() for version in self.versions_of(listed)]
        gateways = [version for listed in self.nat_gateways.values() for version in self.versions_of(listed)]
        return unlisted_tables(endpoints, gateways, self.route_tables)

    @cached_property
    def subnets_by_vpc(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the subnets of each VPC, sorted."""
        by_vpc: defaultdict[str, list[str]] = defaultdict(list)
        for subnet_id in sorted(self.subnets):
            by_vpc[self.subnets[subnet_id].vpc_id].append(subnet_id)
        return {vpc_id: tuple(subnet_ids) for vpc_id, subnet_ids in by_vpc.items()}

    @cached_property
    def attachments_by_vpc(self) -> Mapping[str, tuple[TransitGatewayAttachment, ...]]:
        """The attachments of each VPC, as any account describes them, to transit gateways and to core networks, sorted by id."""
        known = {**(self.transit_gateway_attachments or {}), **(self.core_network_attachments or {})}
        by_vpc: defaultdict[str, list[TransitGatewayAttachment]] = defaultdict(list)
        for _, attachment in sorted(known.items()):
            versions = self.versions_of(attachment)
            for vpc_id in {version.resource_id for version in versions if version.resource_type == "vpc"}:
                by_vpc[vpc_id].append(attachment)
        return {vpc_id: tuple(attachments) for vpc_id, attachments in by_vpc.items()}

    @cached_property
    def attachment_types(self) -> Mapping[str, frozenset[str]]:
        """The types of each transit gateway attachment that is listed, or that routes name, as any account shows them."""
        types_of: defaultdict[str, set[str]] = defaultdict(set)
        for attachment in (self.transit_gateway_attachments or {}).values():
            types_of[attachment.id] |= {version.resource_type for version in self.versions_of(attachment)}
        for table in (self.transit_gateway_route_tables or {}).values():
            for version in self.versions_of(table):
                for attachment_id, resource_type in version.attachment_types.items():
                    types_of[attachment_id].add(resource_type)
        return {attachment_id: frozenset(types) for attachment_id, types in types_of.items()}

    @cached_property
    def forwarding_subnets(self) -> frozenset[str]:
        """The subnets of the network interfaces that customers own and that forward traffic; empty if one is not shown."""
        interfaces = (self.network_interfaces or {}).values()
        versions = [version for interface in interfaces for version in self.versions_of(interface)]
        return frozenset(
            version.subnet_id for version in versions if not (version.source_dest_check or version.is_managed)
        )

    @property
    def owned_vpcs(self) -> frozenset[str]:
        """The VPCs that account_id owns. In a VPC that is shared with it, an account sees only its own network interfaces.

        https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html
        """
        return frozenset(vpc.id for vpc in self.vpcs.values() if vpc.owner_id == self.account_id)

    @cached_property
    def interfaces_by_name(self) -> Mapping[str, tuple[NetworkInterface, ...]]:
        """Every description of the network interfaces that a route may name, by their ids and those of their instances."""
        by_name: defaultdict[str, list[NetworkInterface]] = defaultdict(list)
        for interface in (self.network_interfaces or {}).values():
            for version in self.versions_of(interface):
                for name in {version.id, version.instance_id or version.id}:
                    by_name[name].append(version)
        return {name: tuple(interfaces) for name, interfaces in by_name.items()}

    def is_undisputed(self, record: Described) -> bool:
        """Return whether no account describes a resource differently."""
        return len(self.versions_of(record)) == 1

    def firewalls_of(self, endpoint: VpcEndpoint) -> tuple[Firewall | None, ...]:
        """Return the firewalls to which an endpoint may belong: several if several name it. None: it may belong to none.

        Only what the endpoint's owner has is evidence: a firewall of that account, or an association of that account with
        the firewall of any account. If accounts disagree about whether a firewall names the endpoint, both may be right
        (https://docs.aws.amazon.com/network-firewall/latest/APIReference/API_CreateVpcEndpointAssociation.html).
        """
        firewalls: list[Firewall | None] = []
        is_certain = False
        for firewall in self._firewalls_naming.get(endpoint.id, ()):
            owners = [row.owner_id for row in firewall.associated if row.endpoint_id == endpoint.id]
            by_association = {self._owns(owner_id, endpoint) for owner_id in owners}
            by_itself = {
                endpoint.id in version.endpoint_ids and self._owns(firewall.owner_id, endpoint)
                for version in self.versions_of(firewall)
            }
            if by_association | by_itself != {False}:
                firewalls.append(firewall)
            is_certain |= True in by_association or by_itself == {True}
        return tuple(firewalls) if is_certain else (*firewalls, None)

    def _owns(self, owner_id: str, endpoint: VpcEndpoint) -> bool | None:
        """Return whether an account owns an endpoint; None if that is not known, because one of the two is not shown."""
        if owner_id and endpoint.owner_id:
            return owner_id == endpoint.owner_id
        return None if self.has_several_accounts else True

    @cached_property
    def _firewalls_naming(self) -> Mapping[str, Sequence[Firewall]]:
        """The firewalls that name each endpoint, by its id, sorted by ARN."""
        by_endpoint: dict[str, list[Firewall]] = {}
        for _, firewall in sorted((self.firewalls or {}).items()):
            named = frozenset[str]().union(*(version.named_endpoint_ids for version in self.versions_of(firewall)))
            for endpoint_id in named:
                by_endpoint.setdefault(endpoint_id, []).append(firewall)
        return by_endpoint

    @cached_property
    def proxy_gateway_ids(self) -> Mapping[str, str]:
        """The NAT gateway that names an endpoint, or the ARN of a firewall, as those of a NAT/Proxy firewall that uses it."""
        return {
            proxy: gateway.id
            for listed in self.nat_gateways.values()
            for gateway in self.versions_of(listed)
            for proxy in (gateway.proxy_firewall_arn, *gateway.proxy_endpoint_ids)
            if proxy
        }

    @cached_property
    def express_prefix_lists(self) -> tuple[PrefixList, ...]:
        """The Region's S3 Express prefix lists of both families, sorted by id; empty if the service is not offered.

        They are found by name and owner, because AWS does not publish the IPv6 list's name
        (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html). If a list has several
        names, the name is the service's.
        """
        lists = (self.prefix_lists[list_id] for list_id in sorted(self.prefix_lists))
        named = ((prefix_list, express_name(prefix_list, self.region)) for prefix_list in lists)
        return tuple(replace(prefix_list, name=name) for prefix_list, name in named if name)

    @cached_property
    def doubtful_prefix_lists(self) -> tuple[PrefixList, ...]:
        """AWS's lists that may have further addresses of S3 Express in this Region, sorted by id.

        Their names contain the service's name in a form that is not known here.
        """
        lists = (self.prefix_lists[list_id] for list_id in sorted(self.prefix_lists))
        return tuple(
            prefix_list
            for prefix_list in lists
            if prefix_list.aws_owned
            and not express_name(prefix_list, self.region)
            and any(may_be_express_service(name, self.region) for name in (prefix_list.name, *prefix_list.other_names))
        )

    @cached_property
    def blocks_of_aws(self) -> frozenset[Cidr]:
        """The blocks in the prefix lists that AWS owns."""
        lists = (prefix_list for prefix_list in self.prefix_lists.values() if prefix_list.aws_owned)
        return frozenset(block for prefix_list in lists for block in prefix_list.cidrs or ())

    def shows_ipv6_lists_to(self, account_id: str) -> bool:
        """Return whether an account itself read all IPv6 lists; what another one read may be older. Empty: any account."""
        if account_id == self.account_id or not (account_id or self.has_several_accounts):
            return self.lists_ipv6_prefix_lists
        return account_id in self.others_with_ipv6_lists

    @property
    def offers_express(self) -> bool:
        """Whether the Region has a prefix list of S3 Express, or one that may be."""
        return bool(self.express_prefix_lists or self.doubtful_prefix_lists)


def _key_of(record: Described) -> str:
    """Return what identifies a resource among all of a network."""
    return record.arn if isinstance(record, Firewall) else record.id


@cache
def is_express_service(name: str, region: str) -> bool:
    """Return whether a name is that of S3 Express in a Region, in any partition (cn.com.amazonaws...)."""
    pattern = rf"(?:[a-z]+\.)*amazonaws\.{re.escape(region)}(?:\.ipv6)?\.s3express"
    return re.fullmatch(pattern, name) is not None


def express_name(prefix_list: PrefixList, region: str) -> str:
    """Return the name by which a list that AWS owns is S3 Express's in a Region; empty if it is another list."""
    names = (prefix_list.name, *prefix_list.other_names) if prefix_list.aws_owned else ()
    return next((name for name in names if is_express_service(name, region)), "")


_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")


@cache
def may_be_express_service(name: str, region: str) -> bool:
    """Return whether a name contains that of S3 Express in a form that is not known here, and names no other Region.

    So may a list without a name.
    """
    if not name:
        return True
    if "s3express" not in name.lower() or is_express_service(name, region):
        return False
    return all(part == region for part in name.split(".") if _REGION.fullmatch(part))
