"""IP address families, and CIDR blocks as integers: a block is parsed once and then compared as integers."""

import socket
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

NAT64_PREFIX = 0x0064_FF9B << 96
"""64:ff9b::/96, under which DNS64 puts every IPv4 address
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html)."""

_NAT64_LENGTH = 96


class Family(StrEnum):
    """An address family, as EC2 writes it in AddressFamily."""

    IPV4 = "IPv4"
    IPV6 = "IPv6"


BITS = {Family.IPV4: 32, Family.IPV6: 128}
"""Address length in bits, by family."""

_SOCKET_FAMILY = {Family.IPV4: socket.AF_INET, Family.IPV6: socket.AF_INET6}


class Cidr(NamedTuple):
    """A CIDR block: its family, network address as an integer (host bits zero) and prefix length in bits."""

    family: Family
    network: int
    length: int

    def __str__(self) -> str:
        """Return the block in the usual notation, such as 10.0.0.0/16."""
        packed = self.network.to_bytes(BITS[self.family] // 8, "big")
        return f"{socket.inet_ntop(_SOCKET_FAMILY[self.family], packed)}/{self.length}"

    @property
    def size(self) -> int:
        """The number of addresses in the block."""
        return 1 << (BITS[self.family] - self.length)

    def shortened(self, length: int) -> int:
        """Return the network address of the block of a shorter prefix length that contains this block."""
        shift = BITS[self.family] - length
        return self.network >> shift << shift


@lru_cache(maxsize=1 << 16)
def parse_cidr(text: str) -> Cidr:
    """Read a block such as 10.0.0.0/16 or ::/0. Host bits are cleared, as EC2 does.

    Raise ValueError if the text is not a CIDR block.
    """
    address, slash, suffix = text.partition("/")
    family = Family.IPV6 if ":" in address else Family.IPV4
    bits = BITS[family]
    if not slash or not (suffix.isascii() and suffix.isdigit()) or int(suffix) > bits:
        raise ValueError(f"{text!r} is not a CIDR block")
    try:
        packed = socket.inet_pton(_SOCKET_FAMILY[family], address)
    except OSError as error:
        raise ValueError(f"{text!r} is not a CIDR block") from error
    shift = bits - int(suffix)
    return Cidr(family, int.from_bytes(packed, "big") >> shift << shift, int(suffix))


def nat64(block: Cidr) -> Cidr:
    """Return the IPv6 block that stands for this IPv4 block in a subnet with DNS64."""
    return Cidr(Family.IPV6, NAT64_PREFIX | block.network, _NAT64_LENGTH + block.length)


def from_nat64(block: Cidr) -> Cidr | None:
    """Return the IPv4 block to which a NAT translates a block under 64:ff9b::/96; None for every other block."""
    if block.family is not Family.IPV6 or block.length < _NAT64_LENGTH:
        return None
    if block.shortened(_NAT64_LENGTH) != NAT64_PREFIX:
        return None
    return Cidr(Family.IPV4, block.network ^ NAT64_PREFIX, block.length - _NAT64_LENGTH)
