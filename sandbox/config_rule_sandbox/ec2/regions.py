"""The Regions that offer S3 Express One Zone, and the address ranges that the sandbox gives it there."""

from ipaddress import IPv4Network, IPv6Network

REGIONS = (
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
    "ca-central-1",
    "sa-east-1",
    "eu-west-1",
    "eu-west-3",
    "eu-central-1",
    "eu-north-1",
    "ap-south-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-southeast-1",
    "ap-southeast-2",
)
"""https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html."""

IPV4_BLOCKS = (IPv4Network("192.0.2.0/24"), IPv4Network("198.51.100.0/24"), IPv4Network("203.0.113.0/24"))
"""RFC 5737: addresses for documentation, which no network uses. AWS publishes no list of the real ones."""

IPV6_BLOCK = IPv6Network("2001:db8::/32")
"""RFC 3849: the same for IPv6."""


def offers_s3express(region: str) -> bool:
    """Return whether the service exists in a Region."""
    return region in REGIONS


def ipv4_cidrs(region: str) -> list[str]:
    """Return the six IPv4 CIDRs of the service in a Region, of two lengths; those of two Regions never overlap.

    Six, because the weight of the prefix list is six:
    https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html.
    """
    place = REGIONS.index(region)
    cidrs = []
    for block in IPV4_BLOCKS:
        lower, upper = list(block.subnets(new_prefix=28))[place].subnets()
        cidrs += [str(lower), str(next(upper.subnets()))]
    return cidrs


def ipv6_cidrs(region: str) -> list[str]:
    """Return the two IPv6 CIDRs of the service in a Region, of two lengths; those of two Regions never overlap."""
    place = REGIONS.index(region)
    lower, upper = list(IPV6_BLOCK.subnets(new_prefix=36))[place].subnets()
    return [str(lower), str(next(upper.subnets(new_prefix=48)))]
