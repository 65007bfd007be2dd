"""The sandbox as a server: its endpoint, accounts, call log, and faults."""

import subprocess
import sys
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.server import Sandbox

ROOT = Path(__file__).parents[1]
LEAVES_NO_TRACE = """
import moto.settings
from moto.ec2.models import EC2Backend, core, route_tables, subnets, vpcs
from moto.ec2.responses import EC2Response
from moto.s3.responses import S3Response

owners = (moto.settings, EC2Backend, EC2Response, S3Response, core.TaggedEC2Resource, vpcs.VPCEndPoint,
          route_tables.Route, route_tables.RouteTable, subnets.Subnet)
attributes = lambda: [dict(vars(owner)) for owner in owners]
before = attributes()
from config_rule_sandbox.server import Sandbox
assert attributes() == before, "importing changed moto"
with Sandbox():
    assert attributes() != before, "nothing was corrected"
assert attributes() == before, "a correction stayed"
"""


def error_of(raised: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    """Return the error code and the HTTP status that a client saw."""
    response = raised.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_sends_an_answer_in_one_piece(sandbox: Sandbox) -> None:
    """The first bytes that a client receives are the whole answer, so that it reads all of it or nothing."""
    address = urlsplit(sandbox.endpoint_url)
    body = "Action=DescribeVpcs"
    head = [
        "POST / HTTP/1.1",
        f"Host: {address.netloc}",
        "Authorization: AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/ec2/aws4_request, Signature=0",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {len(body)}",
    ]
    for _ in range(10):
        with create_connection((address.hostname, address.port)) as client:
            client.sendall("\r\n".join([*head, "", body]).encode())
            assert client.recv(65536).endswith(b"</DescribeVpcsResponse>")


@pytest.mark.parametrize(
    ("service", "operation", "method", "expected"),
    [
        ("ec2", "DescribeRouteTables", "describe_route_tables", ("UnauthorizedOperation", 403)),
        ("sts", "GetCallerIdentity", "get_caller_identity", ("AccessDenied", 403)),
        ("s3", "ListDirectoryBuckets", "list_directory_buckets", ("AccessDenied", 403)),
        ("config", "DescribeConfigRules", "describe_config_rules", ("AccessDeniedException", 400)),
    ],
)
def test_denies(sandbox: Sandbox, service: str, operation: str, method: str, expected: tuple[str, int]) -> None:
    """A denial has AWS's code and status in each protocol, until it is cleared."""
    sandbox.faults.deny(service, operation)
    with pytest.raises(ClientError) as raised:
        getattr(sandbox.client(service), method)()
    assert error_of(raised) == expected
    assert sandbox.calls.of(service)[-1].error == expected[0]


def test_throttles_so_many_times(sandbox: Sandbox) -> None:
    """EC2 throttles with RequestLimitExceeded and 503 as often as requested, and then answers normally."""
    sandbox.faults.throttle("ec2", "DescribeSubnets", times=2)
    client = sandbox.client("ec2")
    for _ in range(2):
        with pytest.raises(ClientError) as raised:
            client.describe_subnets()
        assert error_of(raised) == ("RequestLimitExceeded", 503)
    assert client.describe_subnets()["Subnets"]


def test_throttles_after_so_many_calls(sandbox: Sandbox) -> None:
    """The calls before are served, and all later ones are throttled."""
    sandbox.faults.throttle("ec2", "DescribeSubnets", served=2)
    client = sandbox.client("ec2")
    for _ in range(2):
        assert client.describe_subnets()["Subnets"]
    for _ in range(2):
        with pytest.raises(ClientError) as raised:
            client.describe_subnets()
        assert error_of(raised) == ("RequestLimitExceeded", 503)


@pytest.mark.long
def test_leaves_moto_as_it_was() -> None:
    """Importing the sandbox does not change moto, and every correction is undone when the sandbox ends."""
    subprocess.run([sys.executable, "-c", LEAVES_NO_TRACE], check=True, cwd=ROOT, capture_output=True, text=True)
