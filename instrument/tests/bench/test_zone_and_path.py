"""Before a measurement, bench finds out where it runs, refuses to measure across zones, and reports the path."""

from collections.abc import Iterator

import pytest

from config_rule_sandbox.server import Sandbox
from express_path_cli.aws.sessions import connect
from express_path_instrument.bench.instance import Instance, read_instance, read_path
from instrument.tests.bench.raw_server import RawServer, response, serving
from tests.support.command import invoke
from tests.support.network import Builder, Private

EXPRESS = "fast--use1-az4--x-s3"
METADATA = {
    "PUT /latest/api/token": "a-token",
    "GET /latest/meta-data/mac": "0a:1b:2c:3d:4e:5f",
    "GET /latest/meta-data/instance-type": "c7gn.16xlarge",
    "GET /latest/meta-data/placement/availability-zone-id": "use1-az6",
    "GET /latest/meta-data/network/interfaces/macs/0a:1b:2c:3d:4e:5f/subnet-id": "subnet-0a1b2c3d4e5f60718",
}


def metadata(request: bytes) -> bytes:
    """Answer like the EC2 instance metadata: without a token, nothing is told."""
    line, _, rest = request.decode().partition(" HTTP/1.1\r\n")
    if line.startswith("GET") and "X-aws-ec2-metadata-token: a-token" not in rest:
        return response("401 Unauthorized")
    return response("200 OK", METADATA[line].encode()) if line in METADATA else response("404 Not Found")


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Iterator[RawServer]:
    """This machine is an EC2 instance in the zone use1-az6."""
    with serving(metadata) as raw:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", raw.url)
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
        yield raw


@pytest.mark.usefixtures("instance")
def test_the_instance_metadata_is_read_with_a_token() -> None:
    """The instance's type, zone ID, and subnet are known."""
    assert read_instance() == Instance("c7gn.16xlarge", "use1-az6", "subnet-0a1b2c3d4e5f60718")


@pytest.mark.parametrize("answer", [response("403 Forbidden"), response("404 Not Found")])
def test_without_metadata_nothing_is_known(answer: bytes, instance: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata that is turned off, or missing outside EC2, is no error."""
    instance.answer = lambda _: answer
    assert read_instance() == Instance()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "TRUE")
    instance.answer = metadata
    assert read_instance() == Instance()


@pytest.mark.parametrize("command", [["get", EXPRESS], ["open", EXPRESS]], ids=" ".join)
@pytest.mark.usefixtures("instance", "sandbox")
def test_a_bucket_in_another_zone_is_refused(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command compares the zone of the instance, or --zone-id, with that in the bucket's name."""
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    result = invoke(["bench", *command])
    assert result.exit_code == 2
    assert "use1-az6" in result.stderr
    assert "--allow-other-zone" in result.stderr
    given = invoke(["bench", *command, "--zone-id", "use1-az5", "--endpoint-url", "http://127.0.0.1:9"])
    assert "this machine is in use1-az5" in given.stderr


def test_the_path_of_the_subnet_is_reported(builder: Builder, sandbox: Sandbox) -> None:
    """--subnet names the subnet; the verdict is the rule's, and the result has it, with the hops."""
    network = Private(builder)
    path = read_path(connect(), network.subnet)
    assert path is not None
    assert (path.verdict, path.reason) == ("NON_COMPLIANT", "NAT_GATEWAY")
    assert any(network.nat in hop for hop in path.hops)
    sandbox.client("s3").create_bucket(Bucket="lab")
    line = ["bench", "get", "lab", "--endpoint-url", sandbox.endpoint_url, "--subnet", network.subnet, "--output", "-"]
    line += ["--size", "1KiB", "--objects", "1", "--connections", "1", "--count", "1", "--repeats", "1"]
    result = invoke([*line, "--processes", "1", "--warm-up", "0"])
    assert "path: NON_COMPLIANT NAT_GATEWAY: " in result.stderr
    assert '"reason": "NAT_GATEWAY"' in result.stdout


def test_a_path_that_cannot_be_read_is_unknown(sandbox: Sandbox) -> None:
    """A measurement does not need permission to read the network."""
    assert read_path(connect(), "subnet-0a1b2c3d4e5f60718") is None
    sandbox.faults.deny("ec2", "DescribeSubnets")
    assert read_path(connect(), "subnet-0a1b2c3d4e5f60718") is None
