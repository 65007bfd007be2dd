"""What a pre-flight reads in addition to the snapshot: security groups, network ACLs, policies, DNS, counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from express_path.domain.network.addresses import Cidr


@dataclass(frozen=True, slots=True)
class PortRange:
    """A range of ports, from the first to the last."""

    first: int
    last: int

    def __str__(self) -> str:
        """Return the range in the usual notation: 443, or 32768-60999."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    def contains(self, other: "PortRange") -> bool:
        """Return whether every port of another range is in this one."""
        return self.first <= other.first and other.last <= self.last

    def overlaps(self, other: "PortRange") -> bool:
        """Return whether this range has a port in common with another one."""
        return self.first <= other.last and other.first <= self.last


_ALL_PORTS = PortRange(0, 65535)


@dataclass(frozen=True, slots=True)
class Ports:
    """The traffic that a rule is about: a protocol in lower case (-1, tcp, and 6 include TCP) and a range of ports."""

    protocol: str
    first: int | None
    last: int | None

    def tcp_range(self) -> PortRange | None:
        """Return the TCP ports that the rule is about; None if it is not about TCP."""
        if self.protocol == "-1":
            return _ALL_PORTS
        if self.protocol not in ("tcp", "6") or self.first is None or self.last is None:
            return None
        return PortRange(self.first, self.last)


@dataclass(frozen=True, slots=True)
class EgressRule:
    """A security group's rule for outbound traffic."""

    ports: Ports
    cidrs: tuple[Cidr, ...] = ()
    prefix_list_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AclEntry:
    """A network ACL's entry. Entries are checked in the order of their numbers, and the first that matches decides."""

    number: int
    egress: bool
    allow: bool
    ports: Ports
    cidr: Cidr


@dataclass(frozen=True, slots=True)
class NetworkAcl:
    """The network ACL of some of the route table's subnets."""

    id: str
    entries: tuple[AclEntry, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """A resource policy: its holder (a bucket's name or an endpoint's id), and its JSON text.

    If the text could not be read, it is empty, and fault says why.
    """

    holder: str
    document: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota of VPCs: its code in Service Quotas, and its value.

    If the account's own value could not be read, value is AWS's default, and fault says why.
    """

    code: str
    value: int
    fault: str = ""

    def __str__(self) -> str:
        """Return the value, and why it is AWS's default if the account's own value could not be read."""
        return f"{self.value} (AWS's default, because {self.fault})" if self.fault else str(self.value)


ENDPOINT_QUOTA = Quota("L-1B52E74A", 20)
"""AWS's default of the gateway endpoints of a Region
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html)."""
ROUTE_QUOTA = Quota("L-93826ACB", 500)
"""AWS's default of the routes of a route table
(https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pre-flight reads.

    group_sets are the sets of security groups that network interfaces of the subnets use. egress_rules are the rules of
    those groups that can be read. prefix_lists are the blocks of the prefix lists in these rules, None if the entries
    cannot be read. The quotas are AWS's defaults if the heal cannot exceed these.
    """

    group_sets: frozenset[frozenset[str]] = frozenset()
    egress_rules: Mapping[str, tuple[EgressRule, ...]] = field(default_factory=dict)
    prefix_lists: Mapping[str, tuple[Cidr, ...] | None] = field(default_factory=dict)
    network_acls: tuple[NetworkAcl, ...] = ()
    dns_support: bool = True
    dns_hostnames: bool = True
    policies: tuple[Policy, ...] = ()
    gateway_endpoints: int = 0
    endpoint_quota: Quota = ENDPOINT_QUOTA
    route_quota: Quota = ROUTE_QUOTA
    calendar_open: bool = True
