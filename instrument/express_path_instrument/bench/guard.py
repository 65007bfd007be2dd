"""Check where requests would go, before the first one is sent: to the bucket that the user named, or to a lab.

Every address of a name is checked, for IPv4 and IPv6, and connections are made to checked addresses, not to the name.
"""

import os
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import botocore.session
import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import EndpointConnectionError

from express_path.adapters.aws import Aws, pages
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import ApiError
from express_path_cli.aws.sessions import FALLBACK_REGION
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.bucket import Bucket
from express_path_instrument.bench.load import Server

if TYPE_CHECKING:
    import boto3

Network = IPv4Network | IPv6Network
LAB_NETWORKS: tuple[Network, ...] = tuple(
    map(ip_network, ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)
"""The addresses of a lab: loopback, and private ones (RFC 1918, RFC 4193). Link-local ones, such as those of the EC2
instance metadata, are none."""
_LINK_NETWORKS: tuple[Network, ...] = (ip_network("169.254.0.0/16"),)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_PORTS = {"http": 80, "https": 443}
_AWS_HOST = re.compile(r"[a-z0-9.-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)")
_SECONDS = urllib3.Timeout(connect=3, read=10)
_CONNECTIONS = 10
"""How many connections are kept for later: botocore's default, which is also what its transfer manager uses."""


def lab_server(endpoint_url: str, ca_file: str | None) -> Server:
    """Return the server of an endpoint URL. Raise OptionError unless all of its addresses are those of a lab."""
    parts = urlsplit(endpoint_url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise OptionError(
            f"--endpoint-url {endpoint_url}: not the URL of a server", "use a URL such as http://127.0.0.1:7070"
        )
    port = parts.port or _PORTS[parts.scheme]
    addresses = _resolve(parts.hostname, port)
    if not _are_within(addresses, LAB_NETWORKS):
        raise OptionError(
            f"--endpoint-url {endpoint_url} leads to {_listed(addresses)}, which is not a loopback or private address; "
            "nothing was sent",
            "leave out --endpoint-url to measure the bucket in AWS, or use a server in a private network",
        )
    return Server(parts.hostname, port, _reachable(addresses), parts.scheme == "https", ca_file)


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
    return Server(host, _PORTS["https"], _reachable(addresses), tls=True, ca_file=ca_file)


def aws_server(host: str, ca_file: str | None) -> Server | None:
    """Return the server of an API of AWS, or None for a host that is not AWS's. TLS proves that it is the host's."""
    if not _AWS_HOST.fullmatch(host):
        return None
    return Server(host, _PORTS["https"], _reachable(_resolve(host, _PORTS["https"])), tls=True, ca_file=ca_file)


def guard_session(session: "boto3.Session", endpoint_url: str | None, ca_file: str | None) -> None:
    """Let every client of a session, also that of STS for credentials, send to AWS only, or to the lab.

    The clients of S3 have a guard of their own.
    """

    @cache
    def server_of(host: str) -> Server | None:
        """Return the lab, or a server of AWS."""
        lab = lab_server(endpoint_url, ca_file) if endpoint_url else None
        return lab if lab and lab.host == host else aws_server(host, ca_file)

    def send(request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
        """Send a request, unless it is one for S3."""
        return None if event_name.startswith("before-send.s3.") else send_pinned(request, server_of)

    session.events.register("before-send", send)  # type: ignore[arg-type]  # an answer replaces botocore's sending


def check_credentials(session: "boto3.Session") -> None:
    """Raise OptionError if the AWS settings read credentials from elsewhere than AWS, this machine, and its link."""
    settings = botocore.session.Session(profile=None if session.profile_name == "default" else session.profile_name)
    for name, source in {
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": settings.get_config_variable("ec2_metadata_service_endpoint"),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    }.items():
        if source and not _is_of_this_machine(urlsplit(source).hostname or ""):
            raise OptionError(
                f"your AWS settings read credentials from {source}, which is not an address of this machine, its link, "
                "or a private network; nothing was sent",
                f"use an address in {name} or ec2_metadata_service_endpoint, such as http://169.254.169.254",
            )


def check_settings(session: "boto3.Session", endpoint_url: str | None) -> None:
    """Raise OptionError if the AWS settings name a server of STS or EC2 that is neither AWS nor the lab.

    endpoint_url: that of a lab, or None for AWS.
    """
    for service in ("sts", "ec2"):
        url = session.client(service, region_name=session.region_name or FALLBACK_REGION).meta.endpoint_url
        is_lab = url.rstrip("/") == (endpoint_url or "").rstrip("/")
        if not is_lab and not _AWS_HOST.fullmatch(urlsplit(url).hostname or ""):
            raise OptionError(
                f"your AWS settings send requests to {url}, which is neither AWS nor the lab; nothing was sent",
                "remove endpoint_url from your AWS settings and AWS_ENDPOINT_URL from the environment",
            )


def _is_of_this_machine(host: str) -> bool:
    """Return whether a host is one from which credentials are read: an address, because a name can change."""
    with suppress(ValueError):
        return host == "localhost" or any(ip_address(host) in network for network in (*LAB_NETWORKS, *_LINK_NETWORKS))
    return False


@contextmanager
def without_proxies() -> Iterator[None]:
    """Remove the variables that name proxies: botocore uses them to read credentials from the EC2 instance metadata."""
    proxies = {name: value for name, value in os.environ.items() if name.lower() in _PROXIES}
    for name in proxies:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(proxies)


def send_pinned(request: AWSPreparedRequest, server_of: Callable[[str], Server | None]) -> AWSResponse:
    """Send a request of botocore to a checked address: through no proxy, and without following a redirect.

    server_of: returns the server for a host, or None if nothing may be sent there, which raises OptionError. Raise
    EndpointConnectionError if none of its addresses answers.
    """
    parts = urlsplit(request.url)
    server = server_of(parts.hostname or "")
    if (
        server is None
        or (parts.scheme == "https") is not server.tls
        or (parts.port or _PORTS[parts.scheme]) != server.port
    ):
        raise OptionError(
            f"a redirect or your AWS settings lead a request to {parts.scheme}://{parts.netloc}; it was not sent",
            "check the bucket's Region, set --region, and remove endpoint URLs from your AWS settings",
        )
    others = {name: _text(value) for name, value in request.headers.items() if name.lower() != "host"}
    headers = {**others, "Host": server.authority}
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    failed: Exception | None = None
    for address in server.addresses:
        try:
            answer = _pool(server, address).urlopen(
                request.method,
                path,
                cast("bytes | None", request.body),
                headers,
                redirect=False,
                retries=False,
                preload_content=False,
                assert_same_host=False,
            )
        except urllib3.exceptions.HTTPError as error:
            failed = error
        else:
            return AWSResponse(request.url, answer.status, answer.headers, answer)  # type: ignore[arg-type]
    raise EndpointConnectionError(endpoint_url=request.url, error=failed)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


@cache
def _pool(server: Server, address: str) -> urllib3.HTTPConnectionPool:
    """Return what connects to an address, with TLS as that of the server's name. Its connections are used again."""
    host = f"[{address}]" if ":" in address else address
    if not server.tls:
        return urllib3.HTTPConnectionPool(host, server.port, timeout=_SECONDS, maxsize=_CONNECTIONS)
    context = ssl.create_default_context(cafile=server.ca_file)
    return urllib3.HTTPSConnectionPool(
        host,
        server.port,
        timeout=_SECONDS,
        maxsize=_CONNECTIONS,
        ssl_context=context,
        server_hostname=server.host,
        assert_hostname=server.host,
    )


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
    """Return all addresses of a host, for IPv4 and for IPv6. Raise OptionError if there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OptionError(
            f"the name {host} cannot be resolved: {error.strerror}", "check the bucket's name, the Region, and the DNS"
        ) from error
    return tuple(dict.fromkeys(str(row[4][0]) for row in found))


def _reachable(addresses: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses to connect to: those for IPv4, or else those for IPv6, which many machines have no route for."""
    return tuple(address for address in addresses if ":" not in address) or tuple(addresses)


def _are_within(addresses: Sequence[str], networks: Sequence[Network]) -> bool:
    return all(any(ip_address(address.partition("%")[0]) in network for network in networks) for address in addresses)


def _listed(addresses: Sequence[str]) -> str:
    return ", ".join(addresses)
