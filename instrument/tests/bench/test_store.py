"""Requests are signed as botocore signs them: with SigV4, and with a session for a directory bucket."""

import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.httpsession import URLLib3Session
from urllib3 import HTTPResponse, HTTPSConnectionPool

from express_path.errors import ApiError
from express_path_cli.aws.sessions import connect
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.bucket import Bucket, parse_bucket
from express_path_instrument.bench.load import Server, Target
from express_path_instrument.bench.store import Store

EXPRESS = parse_bucket("fast--use1-az4--x-s3")
PLAIN = parse_bucket("plain")
HOSTS = {
    EXPRESS: "fast--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com",
    PLAIN: "plain.s3.us-east-1.amazonaws.com",
}
CONTROL_ADDRESS = "198.51.100.99"
SESSION = (
    b"<CreateSessionResult><Credentials><AccessKeyId>SESSIONKEY</AccessKeyId><SecretAccessKey>hidden</SecretAccessKey>"
    b"<SessionToken>a-token</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
    b"</CreateSessionResult>"
)


class Sent(NamedTuple):
    """A request: the address that is connected to, and what is sent."""

    address: str
    host: str
    path: str
    body: bytes


def now(remove_tzinfo: bool = True) -> datetime:
    """The time at which everything is signed."""
    moment = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    return moment.replace(tzinfo=None) if remove_tzinfo else moment


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """The requests that are sent to AWS, which answers each as CreateSession, at one moment."""
    requests: list[Sent] = []

    def urlopen(
        pool: HTTPSConnectionPool, _method: str, path: str, body: Any, headers: Mapping[str, str], **_: object
    ) -> HTTPResponse:
        requests.append(Sent(pool.host, headers["Host"], path, body))
        return HTTPResponse(BytesIO(SESSION), status=200, preload_content=False)

    def send(_session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        return AWSResponse(request.url, 200, {}, HTTPResponse(BytesIO(SESSION), preload_content=False))

    monkeypatch.setattr(HTTPSConnectionPool, "urlopen", urlopen)
    monkeypatch.setattr(URLLib3Session, "send", send)  # of the client that signs what is compared with
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(socket.AF_INET, 1, 6, "", (CONTROL_ADDRESS, 443))])
    monkeypatch.setattr("botocore.auth.get_current_datetime", now)
    for name, value in {"ACCESS_KEY_ID": "KEY", "SECRET_ACCESS_KEY": "secret", "SESSION_TOKEN": "caller"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    return requests


def store_of(bucket: Bucket) -> Store:
    return Store(bucket, Server(HOSTS[bucket], 443, ("198.51.100.7",), tls=True), connect("us-east-1"), None)


def presigned(operation: str, bucket: Bucket, seconds: int, **parameters: str) -> str:
    """Return the URL that botocore itself signs."""
    config = Config(
        signature_version=None if bucket.is_directory else "s3v4",
        s3={"us_east_1_regional_endpoint": "regional"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = boto3.client("s3", region_name="us-east-1", config=config)
    given: Any = {"Bucket": bucket.name, "Key": "folder/key", **parameters}
    return client.generate_presigned_url(operation, Params=given, ExpiresIn=seconds)


def assert_same(target: Target, url: str) -> None:
    """Check that a target has the path, the parameters, and the signature of a URL."""
    ours, theirs = urlsplit(target.path), urlsplit(url)
    assert ours.path == theirs.path
    assert parse_qs(ours.query) == parse_qs(theirs.query)


@pytest.mark.parametrize(("method", "operation"), [("GET", "get_object"), ("PUT", "put_object")])
@pytest.mark.parametrize(("bucket", "seconds"), [(PLAIN, 14_400), (EXPRESS, 300)])
@pytest.mark.usefixtures("sent")
def test_objects_have_botocore_s_signature(method: str, operation: str, bucket: Bucket, seconds: int) -> None:
    """The signature is the one that botocore makes for the same request at the same moment."""
    [target] = store_of(bucket).targets(method, ["folder/key"], 5)
    assert_same(target, presigned(operation, bucket, seconds))
    assert (target.method, target.body_bytes) == (method, 5)


def test_a_directory_bucket_needs_one_session_for_all_objects(sent: list[Sent]) -> None:
    """CreateSession is called once, at the bucket's own host, and its token is in every request."""
    targets = store_of(EXPRESS).targets("GET", ["1", "2", "3"])
    [request] = sent
    assert (request.address, request.host) == ("198.51.100.7", HOSTS[EXPRESS])
    assert "session" in urlsplit(request.path).query
    assert all("X-Amz-S3session-Token=a-token" in target.path for target in targets)
    assert all("SESSIONKEY" in target.path for target in targets)


def test_without_credentials_nothing_is_signed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message names the options that give credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises((OptionError, ApiError), match="credentials"):
        store_of(PLAIN).targets("GET", ["key"])
