"""Frozen records of the network, in EC2's words. Each holds what a decision needs and no more."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.targets import TargetKind

Tags = Mapping[str, str]


class Rank(IntEnum):
    """How AWS orders routes of equal prefix length, best first.

    https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html and, for transit gateways,
    https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html
    """

    STATIC = 0
    PREFIX_LIST = 1
    PROPAGATED = 2


@dataclass(frozen=True, slots=True)
class Route:
    """One route: from a destination (block or prefix list id) to a target; state is active, blackhole or filtered."""

    destination: Cidr | str
    target_id: str
    target_kind: TargetKind
    rank: Rank = Rank.STATIC
    state: str = "active"

    @property
    def is_blackhole(self) -> bool:
        """Whether the target is gone, so that what the route wins is dropped."""
        return self.state == "blackhole"


ASSOCIATION_STATES = ("associating", "associated")
"""The states of associations that count, the one that takes precedence first."""


@dataclass(frozen=True, slots=True)
class Association:
    """A route table's association: with a subnet, with a gateway (edge), or as the VPC's main table."""

    main: bool = False
    subnet_id: str | None = None
    gateway_id: str | None = None
    state: str = "associated"

    @property
    def counts(self) -> bool:
        """Whether the association has effect: it is there, or about to be."""
        return self.state in ASSOCIATION_STATES


@dataclass(frozen=True, slots=True)
class RouteTable:
    """A VPC's route table."""

    id: str
    vpc_id: str
    routes: tuple[Route, ...] = ()
    associations: tuple[Association, ...] = ()
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet; has_ipv6 is true if one of its IPv6 blocks is associated.

    internet_closed says whether VPC Block Public Access blocks both directions for this subnet; None if the source
    does not tell (https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa.html).
    """

    id: str
    vpc_id: str
    owner_id: str
    availability_zone_id: str = ""
    ipv6_native: bool = False
    has_ipv6: bool = False
    dns64: bool = False
    tags: Tags = field(default_factory=dict)
    internet_closed: bool | None = False


@dataclass(frozen=True, slots=True)
class Vpc:
    """A VPC: whose it is, and its tags."""

    id: str
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VpcEndpoint:
    """A VPC endpoint; endpoint_type and state are lower case, whatever case the source used."""

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

    @property
    def is_network_firewall(self) -> bool:
        """Whether AWS Network Firewall manages the endpoint, which passes traffic on unchanged.

        https://docs.aws.amazon.com/network-firewall/latest/developerguide/firewall-components.html
        """
        return self.tags.get("AWSNetworkFirewallManaged") == "true"


@dataclass(frozen=True, slots=True)
class NatGateway:
    """A NAT gateway, public or private: zonal (with a subnet) or regional (without, but with a table of its own)."""

    id: str
    vpc_id: str
    subnet_id: str | None = None
    connectivity: str = "public"
    availability_mode: str = "zonal"
    route_table_id: str | None = None


@dataclass(frozen=True, slots=True)
class PrefixList:
    """A managed prefix list; cidrs is None where its entries cannot be read.

    max_entries is what a customer's list counts for in a route table, None where that is unknown.
    """

    id: str
    name: str
    family: Family
    cidrs: tuple[Cidr, ...] | None
    aws_owned: bool = True
    max_entries: int | None = None


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """An elastic network interface, as a route's target."""

    id: str
    subnet_id: str
    source_dest_check: bool
    instance_id: str | None = None
    device_index: int | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance behind an interface: its type, and what its network cards together carry, in Gbit/s."""

    id: str
    instance_type: str
    baseline_gbps: float | None = None
    peak_gbps: float | None = None


@dataclass(frozen=True, slots=True)
class TransitGatewayAttachment:
    """A transit gateway attachment: what is attached, and the transit gateway route table it is associated with.

    route_table_id is None where there is no association in force or it cannot be read. subnet_ids is None where the
    subnets of a VPC attachment cannot be read.
    """

    id: str
    transit_gateway_id: str
    resource_type: str
    resource_id: str
    state: str = "available"
    route_table_id: str | None = None
    subnet_ids: tuple[str, ...] | None = None
    appliance_mode: bool = False


@dataclass(frozen=True, slots=True)
class TransitGatewayRouteTable:
    """A transit gateway route table; truncated where AWS said that the search left routes out."""

    id: str
    routes: tuple[Route, ...] = ()
    truncated: bool = False
