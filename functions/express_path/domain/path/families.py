"""By which kinds of addresses the hosts of a subnet reach S3 Express."""

from typing import NamedTuple

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import Subnet


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
