"""Check where requests would go, before the first one is sent: to the bucket that the user named, or to a lab."""

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from express_path.adapters.aws import Aws, pages
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.bucket import Bucket
from express_path_instrument.bench.load import Server

Network = IPv4Network | IPv6Network
LAB_NETWORKS: tuple[Network, ...] = tuple(
    map(ip_network, ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)
"""The addresses of a lab: loopback, and private ones (RFC 1918, RFC 4193). Link-local ones, such as those of the EC2
instance metadata, are none."""
_PORTS = {"http": 80, "https": 443}


def lab_server(endpoint_url: str, ca_file: str | None) -> Server:
    """Return the server of an endpoint URL. Raise OptionError unless all of its addresses are those of a lab."""
    parts = urlsplit(endpoint_url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise OptionError(
            f"--endpoint-url {endpoint_url}: not the URL of a server", "use a URL such as http://127.0.0.1:7070"
        )
    addresses = _resolve(parts.hostname, parts.port or _PORTS[parts.scheme])
    if not _are_within(addresses, LAB_NETWORKS):
        raise OptionError(
            f"--endpoint-url {endpoint_url} leads to {_listed(addresses)}, which is not a loopback or private address; "
            "nothing was sent",
            "leave out --endpoint-url to measure the bucket in AWS, or use a server in a private network",
        )
    port = parts.port or _PORTS[parts.scheme]
    return Server(parts.hostname, port, addresses, parts.scheme == "https", ca_file)


def bucket_server(url: str, bucket: Bucket, aws: Aws, ca_file: str | None) -> Server:
    """Return the server of a bucket in AWS. `url` is that of one of its objects, as botocore makes it.

    Raise OptionError unless the URL's host is the bucket's own, and the Region's prefix list of the service contains
    all of its addresses. If the prefix lists cannot be read, the host name and the server's certificate must suffice.
    """
    host = urlsplit(url).hostname or ""
    if urlsplit(url).scheme != "https" or not is_own_host(host, bucket, aws.region):
        raise OptionError(
            f"your AWS settings send requests for bucket {bucket.name} to {url}; nothing was sent",
            "remove endpoint_url from your AWS settings and AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL from the "
            "environment, or pass the URL of a lab in --endpoint-url",
        )
    addresses = _resolve(host, _PORTS["https"])
    networks = _service_networks(aws, bucket)
    if networks is not None and not _are_within(addresses, networks):
        service = "s3express" if bucket.is_directory else "s3"
        raise OptionError(
            f"{host} resolves to {_listed(addresses)}, which the prefix list of {service} in {aws.region} does not "
            "contain; nothing was sent",
            "check the DNS of this machine; for an interface endpoint, pass its URL in --endpoint-url",
        )
    return Server(host, _PORTS["https"], addresses, tls=True, ca_file=ca_file)


def is_own_host(host: str, bucket: Bucket, region: str) -> bool:
    """Return whether a host name is the bucket's own virtual host at S3 in a Region, in any partition.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html and
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-Regions-and-Zones.html
    """
    service = f"s3express-{bucket.zone_id}" if bucket.is_directory else r"s3(?:-fips)?"
    pattern = rf"{re.escape(bucket.name)}\.{service}\.(?:dualstack\.)?{re.escape(region)}\.amazonaws\.com(?:\.cn)?"
    return re.fullmatch(pattern, host) is not None


def _service_networks(aws: Aws, bucket: Bucket) -> tuple[Network, ...] | None:
    """Read the addresses of the bucket's service from the Region's prefix lists; None if they cannot be read."""
    try:
        lists = pages(aws.ec2, "ec2", "describe_prefix_lists", "PrefixLists")
    except ApiError:
        return None
    networks = [
        ip_network(cidr)
        for row in lists
        if _is_of_service(str(row.get("PrefixListName")), aws.region, bucket)
        for cidr in row.get("Cidrs", ())
    ]
    return tuple(networks) or None


def _is_of_service(name: str, region: str, bucket: Bucket) -> bool:
    if bucket.is_directory:
        return is_express_service(name, region)
    return re.fullmatch(rf"(?:[a-z]+\.)*amazonaws\.{re.escape(region)}(?:\.ipv6)?\.s3", name) is not None


def _resolve(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host: those for IPv4, or else those for IPv6. Raise OptionError if there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OptionError(
            f"the name {host} cannot be resolved: {error.strerror}", "check the bucket's name, the Region, and the DNS"
        ) from error
    by_family = {
        family: tuple(dict.fromkeys(str(row[4][0]) for row in found if row[0] == family))
        for family in (socket.AF_INET, socket.AF_INET6)
    }
    return by_family[socket.AF_INET] or by_family[socket.AF_INET6]


def _are_within(addresses: Sequence[str], networks: Sequence[Network]) -> bool:
    return all(any(ip_address(address.partition("%")[0]) in network for network in networks) for address in addresses)


def _listed(addresses: Sequence[str]) -> str:
    return ", ".join(addresses)
