"""Nothing is sent unless the address belongs to the bucket that the user named, or to a lab."""

import socket
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path_cli.aws.sessions import connect
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.bucket import parse_bucket
from express_path_instrument.bench.guard import is_own_host, lab_server
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.load import Load
from express_path_instrument.bench.store import open_store
from instrument.tests.bench.raw_server import response, serving
from tests.support.command import invoke

EXPRESS = "fast--use1-az4--x-s3"
EXPRESS_HOST = "fast--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com"


@pytest.fixture
def dns(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, ...]]:
    """The addresses that names resolve to in this test; other names are looked up as usual."""
    names: dict[str, tuple[str, ...]] = {}
    original = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *arguments: Any, **options: Any) -> Any:
        if host not in names:
            return original(host, port, *arguments, **options)
        families = {address: socket.AF_INET6 if ":" in address else socket.AF_INET for address in names[host]}
        return [(family, socket.SOCK_STREAM, 6, "", (address, port)) for address, family in families.items()]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return names


@pytest.fixture
def aws(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Aws:
    """The sandbox's EC2 with the prefix lists, and the S3 of AWS."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", sandbox.endpoint_url)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    return connect("us-east-1")


def address_in(sandbox: Sandbox, service: str) -> str:
    """Return an address of a service's prefix list."""
    lists = sandbox.client("ec2").describe_prefix_lists()["PrefixLists"]
    [found] = [row for row in lists if row["PrefixListName"] == f"com.amazonaws.us-east-1.{service}"]
    address, _, _ = found["Cidrs"][0].partition("/")
    return str(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "172.16.0.9", "192.168.1.1", "[::1]", "[fd00::5]"])
def test_a_lab_has_a_loopback_or_private_address(host: str) -> None:
    """These addresses are those of a lab, and the server is connected to at exactly this address."""
    server = lab_server(f"http://{host}:7070", None)
    assert server.addresses == (host.strip("[]"),)
    assert server.authority == f"{host}:7070"


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "169.254.169.254", "172.32.0.1", "100.64.0.1", "0.0.0.0", "[2001:db8::1]", "[fe80::1]"]
)
def test_every_other_address_is_refused(host: str) -> None:
    """A public or link-local address is no lab, even if the user gives its URL."""
    result = invoke(["bench", "get", "lab", "--endpoint-url", f"http://{host}", "--region", "us-east-1"])
    assert result.exit_code == 2
    assert host.strip("[]") in result.stderr
    assert "nothing was sent" in result.stderr


def test_a_name_is_refused_if_any_of_its_addresses_is_no_lab(dns: dict[str, tuple[str, ...]]) -> None:
    """What counts is what the name resolves to, and all of it."""
    dns["lab.example.com"] = ("10.0.0.1", "203.0.113.9")
    with pytest.raises(OptionError, match=r"leads to 10\.0\.0\.1, 203\.0\.113\.9"):
        lab_server("http://lab.example.com", None)
    dns["lab.example.com"] = ("10.0.0.1", "10.0.0.2")
    assert lab_server("https://lab.example.com", None).addresses == ("10.0.0.1", "10.0.0.2")
    dns["lab.example.com"] = ("10.0.0.1", "2001:db8::1")
    with pytest.raises(OptionError, match=r"leads to 10\.0\.0\.1, 2001:db8::1"):
        lab_server("http://lab.example.com", None)
    dns["lab.example.com"] = ("::1", "10.0.0.1")
    assert lab_server("https://lab.example.com", None).addresses == ("10.0.0.1",)
    dns["lab.example.com"] = ("::1",)
    assert lab_server("https://lab.example.com", None).addresses == ("::1",)


@pytest.mark.parametrize("url", ["127.0.0.1:7070", "ftp://127.0.0.1", "http://", "http://127.0.0.1/path", "http://a@b"])
def test_a_url_that_is_no_server_is_refused(url: str) -> None:
    """The endpoint is the URL of a server, without a path, a query, or a user."""
    with pytest.raises(OptionError, match="not the URL of a server"):
        lab_server(url, None)


@pytest.mark.parametrize(
    ("bucket", "host", "own"),
    [
        (EXPRESS, EXPRESS_HOST, True),
        ("plain", "plain.s3.us-east-1.amazonaws.com", True),
        ("plain", "plain.s3.dualstack.us-east-1.amazonaws.com", True),
        ("plain", "plain.s3.us-east-1.amazonaws.com.cn", True),
        ("plain", "other.s3.us-east-1.amazonaws.com", False),
        ("plain", "plain.s3.us-west-2.amazonaws.com", False),
        ("plain", "plain.s3.us-east-1.amazonaws.com.example.com", False),
        ("plain", "s3.us-east-1.amazonaws.com", False),
        (EXPRESS, "fast--use1-az4--x-s3.s3express-use1-az5.us-east-1.amazonaws.com", False),
        (EXPRESS, "fast--use1-az4--x-s3.s3.us-east-1.amazonaws.com", False),
    ],
)
def test_the_host_must_be_the_bucket_s_own(bucket: str, host: str, own: bool) -> None:
    """Only the virtual host of this bucket, in its zone and Region, is accepted."""
    assert is_own_host(host, parse_bucket(bucket), "us-east-1") is own


@pytest.mark.parametrize(
    ("bucket", "host", "service"),
    [(EXPRESS, EXPRESS_HOST, "s3express"), ("plain", "plain.s3.us-east-1.amazonaws.com", "s3")],
)
def test_a_bucket_s_addresses_must_be_in_its_service_s_prefix_list(
    bucket: str, host: str, service: str, aws: Aws, sandbox: Sandbox, dns: dict[str, tuple[str, ...]]
) -> None:
    """An address of the prefix list is accepted; a private one, to which a changed DNS leads, is refused."""
    inside = address_in(sandbox, service)
    dns[host] = (inside,)
    server = open_store(parse_bucket(bucket), aws, None).server
    assert (server.host, server.addresses, server.port, server.tls) == (host, (inside,), 443, True)
    for outside in ("10.9.9.9", "2001:db8::1"):
        dns[host] = (inside, outside)
        with pytest.raises(OptionError, match=rf"the prefix list of {service} in us-east-1 does not contain"):
            open_store(parse_bucket(bucket), aws, None)


def test_without_prefix_lists_the_host_name_counts(aws: Aws, sandbox: Sandbox, dns: dict[str, tuple[str, ...]]) -> None:
    """A machine that may not read prefix lists can measure: the name is the bucket's, and TLS proves the server."""
    dns[EXPRESS_HOST] = ("198.51.100.7",)
    sandbox.faults.deny("ec2", "DescribePrefixLists")
    assert open_store(parse_bucket(EXPRESS), aws, None).server.addresses == ("198.51.100.7",)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of a lab."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.usefixtures("credentials")
def test_a_name_that_changes_after_the_check_is_not_asked_again(dns: dict[str, tuple[str, ...]]) -> None:
    """Requests of botocore and of the engine go to the checked address."""
    with serving(lambda _: response("200 OK", b"<ListBucketResult></ListBucketResult>")) as lab, serving() as other:
        dns["lab.example.com"] = ("127.0.0.1",)
        url = f"http://lab.example.com:{lab.port}"
        store = open_store(parse_bucket("lab"), connect("us-east-1"), url)
        del dns["lab.example.com"]  # from now on, the name does not resolve
        assert list(store.listed("folder/")) == []
        targets = store.targets("PUT", ["key"])
        assert HttpEngine(1).run(Load(store.server, targets, 0, connections=1, count=1)).errors == {}
    assert len(lab.requests) == 2
    assert all(f"Host: lab.example.com:{lab.port}".encode() in request for request in lab.requests)
    assert other.connections == 0


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("Fast", "not a valid bucket name"),
        ("a.b", "dots do not work with TLS"),
        ("fast--us-east-1a--x-s3", "not a zone name"),
        ("--x-s3", "no zone ID"),
    ],
)
def test_a_bucket_name_that_is_not_valid_is_refused(name: str, named: str) -> None:
    """A directory bucket's name has a zone ID."""
    with pytest.raises(OptionError) as found:
        parse_bucket(name)
    assert named in f"{found.value} {found.value.hint}"
