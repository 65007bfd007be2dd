"""What a pre-flight reads besides the snapshot: security groups, network ACLs, policies, DNS, counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr


class Ports(NamedTuple):
    """Which traffic a rule is about: protocol in lower case (-1, tcp or 6 concern TCP) and a range of ports."""

    protocol: str
    first: int | None
    last: int | None

    def range(self) -> tuple[int, int] | None:
        """The TCP ports that are meant, first and last; None where TCP is not."""
        if self.protocol == "-1":
            return 0, 65535
        if self.protocol not in ("tcp", "6") or self.first is None or self.last is None:
            return None
        return self.first, self.last


@dataclass(frozen=True, slots=True)
class EgressRule:
    """A security group's rule for outgoing traffic."""

    ports: Ports
    cidrs: tuple[Cidr, ...] = ()
    prefix_list_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AclEntry:
    """A network ACL's entry; entries are asked in the order of their numbers, and the first that fits decides."""

    number: int
    egress: bool
    allow: bool
    ports: Ports
    cidr: Cidr


@dataclass(frozen=True, slots=True)
class NetworkAcl:
    """A network ACL in force for some of the subnets concerned."""

    id: str
    entries: tuple[AclEntry, ...]


class Policy(NamedTuple):
    """A resource policy: whose it is (a bucket's name or an endpoint's id), and its JSON text.

    fault says why the text could not be read; then the text is empty.
    """

    holder: str
    document: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pre-flight knows.

    group_sets are the security groups that a subnet's network interfaces use together, egress_rules the rules of those
    that can be seen, prefix_lists the blocks of lists that such rules name, None where the entries cannot be read.
    """

    group_sets: frozenset[frozenset[str]] = frozenset()
    egress_rules: Mapping[str, tuple[EgressRule, ...]] = field(default_factory=dict)
    prefix_lists: Mapping[str, tuple[Cidr, ...] | None] = field(default_factory=dict)
    network_acls: tuple[NetworkAcl, ...] = ()
    dns_support: bool = True
    dns_hostnames: bool = True
    policies: tuple[Policy, ...] = ()
    gateway_endpoints: int = 0
    calendar_open: bool = True
