"""Frozen records of the network, with EC2's names, and how their ids, tags, and ARNs are read.

Each record contains only what a decision needs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cache

from express_path.domain.network.addresses import Cidr, Family


class TargetKind(StrEnum):
    """What a route can lead to, and therefore what a hop can be (botocore model: ec2 Route)."""

    LOCAL = "LOCAL"
    GATEWAY_ENDPOINT = "GATEWAY_ENDPOINT"
    APPLIANCE_ENDPOINT = "APPLIANCE_ENDPOINT"
    VPC_ENDPOINT = "VPC_ENDPOINT"
    NAT_GATEWAY = "NAT_GATEWAY"
    INTERNET_GATEWAY = "INTERNET_GATEWAY"
    EGRESS_ONLY_INTERNET_GATEWAY = "EGRESS_ONLY_INTERNET_GATEWAY"
    INSTANCE = "INSTANCE"
    NETWORK_INTERFACE = "NETWORK_INTERFACE"
    TRANSIT_GATEWAY = "TRANSIT_GATEWAY"
    TRANSIT_GATEWAY_ATTACHMENT = "TRANSIT_GATEWAY_ATTACHMENT"
    VPC_PEERING_CONNECTION = "VPC_PEERING_CONNECTION"
    VIRTUAL_PRIVATE_GATEWAY = "VIRTUAL_PRIVATE_GATEWAY"
    CORE_NETWORK = "CORE_NETWORK"
    CARRIER_GATEWAY = "CARRIER_GATEWAY"
    LOCAL_GATEWAY = "LOCAL_GATEWAY"
    ODB_NETWORK = "ODB_NETWORK"
    UNKNOWN = "UNKNOWN"

    @property
    def label(self) -> str:
        """AWS's name of the kind, such as "NAT gateway"."""
        return _LABELS.get(self) or self.replace("_", " ").lower()


_LABELS = {
    TargetKind.VPC_ENDPOINT: "VPC endpoint",
    TargetKind.VPC_PEERING_CONNECTION: "VPC peering connection",
    TargetKind.NAT_GATEWAY: "NAT gateway",
    TargetKind.ODB_NETWORK: "ODB network",
    TargetKind.CORE_NETWORK: "Cloud WAN core network",
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: "egress-only internet gateway",
    TargetKind.UNKNOWN: "unknown target",
}

_KIND_BY_ID_PREFIX = {
    "nat": TargetKind.NAT_GATEWAY,
    "igw": TargetKind.INTERNET_GATEWAY,
    "eigw": TargetKind.EGRESS_ONLY_INTERNET_GATEWAY,
    "vpce": TargetKind.VPC_ENDPOINT,
    "i": TargetKind.INSTANCE,
    "eni": TargetKind.NETWORK_INTERFACE,
    "tgw": TargetKind.TRANSIT_GATEWAY,
    "pcx": TargetKind.VPC_PEERING_CONNECTION,
    "vgw": TargetKind.VIRTUAL_PRIVATE_GATEWAY,
    "cagw": TargetKind.CARRIER_GATEWAY,
    "lgw": TargetKind.LOCAL_GATEWAY,
}


def target_kind(target_id: str) -> TargetKind:
    """Return the kind of the resource that an id names; UNKNOWN if the id's prefix is not known here."""
    if target_id == "local":
        return TargetKind.LOCAL
    if target_id.startswith("arn:"):
        service = target_id.split(":")[2]
        arns = {"networkmanager": TargetKind.CORE_NETWORK, "odb": TargetKind.ODB_NETWORK}
        return arns.get(service, TargetKind.UNKNOWN)
    return _KIND_BY_ID_PREFIX.get(target_id.partition("-")[0], TargetKind.UNKNOWN)


Tags = Mapping[str, str]


class Rank(IntEnum):
    """The order in which AWS prefers routes of equal prefix length, best first.

    https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html and, for transit gateways,
    https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html, which leave out SYSTEM routes
    (botocore model: ec2 TransitGatewayRouteType). These tie with all others.
    """

    STATIC = 0
    PREFIX_LIST = 1
    PROPAGATED = 2
    SYSTEM = 3


@dataclass(frozen=True, slots=True)
class Route:
    """A route from a destination (CIDR or prefix list id) to a target; state is active, blackhole, or filtered.

    STOPPED is our own state: a blackhole whose target is a network interface that still exists.
    """

    destination: Cidr | str
    target_id: str
    target_kind: TargetKind
    rank: Rank = Rank.STATIC
    state: str = "active"
    prefix_list_id: str = ""

    @property
    def is_blackhole(self) -> bool:
        """Return whether AWS drops the traffic that the route wins: its target no longer exists, or does not run."""
        return self.state == "blackhole"


STOPPED = "stopped"
"""The state of a blackhole route to a network interface that exists: its instance is stopped, or it is detached. It carries
traffic again as soon as the instance runs, and AWS Config records nothing then."""


class BlockMode(StrEnum):
    """What VPC Block Public Access blocks: InternetGatewayBlockMode of DescribeSubnets and DescribeVpcs.

    BIDIRECTIONAL closes internet gateways and egress-only internet gateways. Under INGRESS, AWS documents NAT gateways
    and egress-only internet gateways as open. UNKNOWN: the source does not show the mode. NEW: it has a mode that is not
    known here, so somebody may have closed something
    (https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html).
    """

    OFF = "off"
    INGRESS = "block-ingress"
    UNKNOWN = "unknown"
    NEW = "new"
    BIDIRECTIONAL = "block-bidirectional"


def strictest(modes: Iterable[BlockMode]) -> BlockMode:
    """Return the mode that counts for traffic that passes through several subnets; OFF if there is none."""
    order = list(BlockMode)
    return max(modes, key=order.index, default=BlockMode.OFF)


ASSOCIATION_STATES = ("associating", "associated")
"""The states in which an association counts; the first one takes precedence."""
_ENDED_ASSOCIATIONS = ("disassociating", "disassociated", "failed")


@dataclass(frozen=True, slots=True)
class Association:
    """An association of a route table: with a subnet, with a gateway (edge), or as the VPC's main table."""

    main: bool = False
    subnet_id: str | None = None
    gateway_id: str | None = None
    state: str = "associated"

    @property
    def counts(self) -> bool:
        """Return whether the association has an effect: it exists, or is being made."""
        return self.state in ASSOCIATION_STATES

    @property
    def may_count(self) -> bool:
        """Return whether the association counts, or may count because its state is not known here."""
        return self.state not in _ENDED_ASSOCIATIONS


@dataclass(frozen=True, slots=True)
class RouteTable:
    """A VPC's route table."""

    id: str
    vpc_id: str
    routes: tuple[Route, ...] = ()
    associations: tuple[Association, ...] = ()
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)


def target_ids(tables: Iterable[RouteTable], kind: TargetKind) -> list[str]:
    """Return the ids of all targets of one kind, sorted; those of blackhole routes only if they may exist: interfaces."""
    routes = (route for table in tables for route in table.routes if route.target_kind is kind)
    may_exist = kind in (TargetKind.NETWORK_INTERFACE, TargetKind.INSTANCE)
    return sorted({route.target_id for route in routes if may_exist or not route.is_blackhole})


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet; has_ipv6 is true if one of its IPv6 CIDR blocks is associated, block_mode is its own.

    table_ids are the route tables with which the source says that the subnet itself is associated, besides the tables'
    own associations: AWS Config's items of subnets name them. blocks are its IPv4 and IPv6 CIDR blocks as the source shows
    them, empty if it does not.
    """

    id: str
    vpc_id: str
    owner_id: str
    availability_zone_id: str = ""
    ipv6_native: bool = False
    has_ipv6: bool = False
    dns64: bool = False
    tags: Tags = field(default_factory=dict)
    block_mode: BlockMode = BlockMode.OFF
    table_ids: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vpc:
    """A VPC, its owner, its tags, and its own Block Public Access mode, which counts only for regional NAT gateways."""

    id: str
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)
    block_mode: BlockMode = BlockMode.OFF


@dataclass(frozen=True, slots=True)
class VpcEndpoint:
    """A VPC endpoint; endpoint_type and state are lower case, although sources differ."""

    id: str
    vpc_id: str
    endpoint_type: str
    service_name: str
    state: str
    ip_address_type: str = "ipv4"
    subnet_ids: tuple[str, ...] = ()
    route_table_ids: tuple[str, ...] = ()
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AssociatedEndpoint:
    """An endpoint that an endpoint association gives to a firewall, and the account that owns the association."""

    endpoint_id: str
    owner_id: str


@dataclass(frozen=True, slots=True)
class Firewall:
    """An AWS Network Firewall, its owner, and the endpoints that it names as its own.

    endpoint_ids are those of DescribeFirewall, and associated those of every DescribeVpcEndpointAssociation that names the
    firewall. is_proxy is true for a NAT/Proxy firewall, which sends traffic that reaches its endpoints out through its own
    NAT gateways unless it forwards it unchanged. nat_gateway_ids has the NAT gateway of each of its own endpoints
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/nfw-proxy-how-it-works.html).
    """

    arn: str
    endpoint_ids: tuple[str, ...] = ()
    is_proxy: bool = False
    forwards: bool = False
    nat_gateway_ids: Mapping[str, str] = field(default_factory=dict)
    owner_id: str = ""
    associated: tuple[AssociatedEndpoint, ...] = ()

    @property
    def named_endpoint_ids(self) -> frozenset[str]:
        """Every endpoint that the firewall or one of its endpoint associations names."""
        return frozenset({*self.endpoint_ids, *(association.endpoint_id for association in self.associated)})


@dataclass(frozen=True, slots=True)
class NatGateway:
    """A NAT gateway, public or private. A zonal one has a subnet; a regional one has its own route table instead.

    route_table_id is empty if the NAT gateway may be regional and its table is not shown.
    proxy_firewall_arn is the NAT/Proxy firewall that uses the NAT gateway (AttachedAppliances); empty if none does.
    proxy_endpoint_ids are the endpoints whose traffic leaves through the NAT gateway because of that.
    """

    id: str
    vpc_id: str
    subnet_id: str | None = None
    connectivity: str = "public"
    availability_mode: str = "zonal"
    route_table_id: str | None = None
    proxy_firewall_arn: str = ""
    proxy_endpoint_ids: tuple[str, ...] = ()
    state: str = ""


@dataclass(frozen=True, slots=True)
class PrefixList:
    """A managed prefix list; cidrs is None if its entries cannot be read, and is_partial true if it may have others.

    other_names are names by which further calls or accounts describe the list.
    max_entries is the number of routes that a customer-managed list counts as in a route table; None if it is unknown.
    """

    id: str
    name: str
    family: Family
    cidrs: tuple[Cidr, ...] | None
    aws_owned: bool = True
    max_entries: int | None = None
    is_partial: bool = False
    other_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """An elastic network interface that may be a route's target; is_managed is true if an AWS service manages it.

    device_index is its place among the interfaces of its instance, None if it is not shown. Those of each network card
    (card_index) have indexes of their own, and the primary interface of an instance is the first one of the first card
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html).
    """

    id: str
    subnet_id: str
    source_dest_check: bool
    instance_id: str | None = None
    device_index: int | None = None
    is_managed: bool = False
    card_index: int = 0

    @property
    def may_be_primary(self) -> bool:
        """Return whether it is the primary interface of its instance, or may be."""
        return self.device_index in (None, 0) and self.card_index == 0


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance: its type, the bandwidth of all its network cards in Gbit/s, and its interfaces' subnets."""

    id: str
    instance_type: str
    baseline_gbps: float | None = None
    peak_gbps: float | None = None
    subnet_of_interface: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TransitGatewayAttachment:
    """A transit gateway attachment: what is attached, and the associated transit gateway route table.

    route_table_id is None if the attachment is not associated or the association cannot be read. shows_association is true
    if there is an association, in whatever state. subnet_ids is None if the subnets of a VPC attachment cannot be read.
    policy_table_id is the policy table that decides in place of a route table, None if there is none. is_association_certain
    is false if the association with one of the two may have no effect.
    """

    id: str
    transit_gateway_id: str
    resource_type: str
    resource_id: str
    state: str = "available"
    route_table_id: str | None = None
    subnet_ids: tuple[str, ...] | None = None
    appliance_mode: bool = False
    policy_table_id: str | None = None
    shows_association: bool = False
    is_association_certain: bool = True


@dataclass(frozen=True, slots=True)
class TransitGatewayRouteTable:
    """A transit gateway route table; truncated is true if the search did not return all routes.

    attachment_types has the type of each attachment that its routes show, by its id.
    """

    id: str
    routes: tuple[Route, ...] = ()
    truncated: bool = False
    attachment_types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """An entry of a transit gateway policy table: which traffic it may match, and the route table that decides about it.

    number is its place, the lowest first; None if it may come before all others, as entries do that AWS manages. source and
    destination are None for any address. is_certain is true if nothing else decides whether HTTPS traffic matches. table_id
    is empty if it is not shown.
    """

    number: int | None
    table_id: str
    source: Cidr | None = None
    destination: Cidr | None = None
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class TransitGatewayPolicyTable:
    """A transit gateway policy table, with the entries that may match HTTPS traffic."""

    id: str
    entries: tuple[PolicyEntry, ...] = ()


AnyRouteTable = RouteTable | TransitGatewayRouteTable
"""A route table of a VPC or of a transit gateway."""


def has_tag(tags: Tags, wanted: str) -> bool:
    """Return whether tags contain the wanted key, or key=value; a key alone matches any value, and case matters.

    Keys and values may themselves contain "=", so the text is never split.
    """
    return wanted in tags or ("=" in wanted and any(wanted == f"{key}={value}" for key, value in tags.items()))


@cache
def partition(region: str) -> str:
    """Return the partition of a Region, by its name.

    https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html
    """
    by_prefix = {
        "cn-": "aws-cn",
        "us-gov-": "aws-us-gov",
        "us-iso-": "aws-iso",
        "us-isob-": "aws-iso-b",
        "eusc-": "aws-eusc",
    }
    return next((name for prefix, name in by_prefix.items() if region.startswith(prefix)), "aws")


def subnet_arn(account_id: str, region: str, subnet_id: str) -> str:
    """Return the ARN of a subnet in an account."""
    return f"arn:{partition(region)}:ec2:{region}:{account_id}:subnet/{subnet_id}"
