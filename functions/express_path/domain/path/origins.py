"""Origins: which subnets share a trace, because S3 Express traffic from them leads to the same places."""

from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
from express_path.domain.network.resources import BlockMode, RouteTable, Subnet, TargetKind
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.hops import UNREADABLE_TARGETS
from express_path.domain.path.routing import RoutingIndexes


class Families(NamedTuple):
    """The kinds of addresses that a subnet's hosts can use; dns64 stands for IPv4 addresses under 64:ff9b::/96."""

    ipv4: bool
    ipv6: bool
    dns64: bool

    def include(self, family: Family) -> bool:
        """Return whether the hosts have addresses of a family."""
        return self.ipv4 if family is Family.IPV4 else self.ipv6


def families_of(subnet: Subnet) -> Families:
    """Return IPv4 unless the subnet is IPv6-native, IPv6 if a block is associated, and 64:ff9b:: addresses with DNS64.

    The resolver also returns 64:ff9b:: addresses in a dual-stack subnet, and clients prefer IPv6
    (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html).
    """
    return Families(not subnet.ipv6_native, subnet.has_ipv6, subnet.has_ipv6 and subnet.dns64)


def _sources(subnet: Subnet) -> tuple[Cidr, ...]:
    """Return a subnet's CIDR blocks, none if one of them is not known."""
    try:
        return tuple(map(parse_cidr, subnet.blocks))
    except ValueError:
        return ()


_ENDS = frozenset(
    {
        TargetKind.LOCAL,
        TargetKind.NAT_GATEWAY,
        TargetKind.INTERNET_GATEWAY,
        TargetKind.EGRESS_ONLY_INTERNET_GATEWAY,
        TargetKind.VPC_PEERING_CONNECTION,
        *UNREADABLE_TARGETS,
    }
)
"""The kinds of targets where every path ends; a path also ends at a gateway endpoint."""


class Origin(NamedTuple):
    """Everything that decides where S3 Express traffic from a subnet leads: subnets with equal origins share a trace.

    zone is empty if no path from the route table can lead to a transit gateway, because only these distinguish zones. sources
    are the subnet's CIDR blocks; empty unless it may lead to a policy table, which may distinguish them. shows_ipv6_lists is
    true if the subnet has IPv6 addresses, and its owner read all IPv6 prefix lists.
    """

    table_id: str
    families: Families
    zone: str
    block_mode: BlockMode
    sources: tuple[Cidr, ...] = ()
    shows_ipv6_lists: bool = False


class Origins:
    """Finds the origins of the subnets of one snapshot."""

    def __init__(self, indexes: RoutingIndexes, snapshot: Snapshot) -> None:
        """Start without knowing any route table."""
        self._indexes = indexes
        self._snapshot = snapshot
        self._distinguishes_zones: dict[str, bool] = {}

    def origin_of(self, table: RouteTable, subnet: Subnet) -> Origin:
        """Return the origin of traffic from a subnet that a table governs."""
        families, zone, sources = families_of(subnet), "", tuple[Cidr, ...]()
        if self._snapshot.transit_gateway_attachments and self._may_lead_to_transit_gateway(table):
            zone = subnet.availability_zone_id
            sources = _sources(subnet) if self._snapshot.transit_gateway_policy_tables else ()
        shows_ipv6_lists = families.ipv6 and self._snapshot.shows_ipv6_lists_to(subnet.owner_id)
        return Origin(table.id, families, zone, subnet.block_mode, sources, shows_ipv6_lists)

    def _may_lead_to_transit_gateway(self, table: RouteTable) -> bool:
        """Return whether a path from a table may lead to a transit gateway, at once or beyond other hops."""
        is_possible = self._distinguishes_zones.get(table.id)
        if is_possible is None:
            routes = self._indexes.routes_of(table, skip_gateway_endpoints=True)
            is_possible = any(route.target_kind not in _ENDS for route in routes)
            self._distinguishes_zones[table.id] = is_possible
        return is_possible
