"""A bucket, and signed requests for its objects.

Every engine but one, and botocore's own requests, connect to the addresses that the guard has checked. awscrt resolves
the name again, so it is used with TLS, where the certificate proves the server, or with an address instead of a name.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore import UNSIGNED
from botocore.auth import S3ExpressQueryAuth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from express_path.adapters.aws import Aws, calling
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.bucket import Bucket
from express_path_instrument.bench.guard import aws_server, bucket_server, lab_server, send_pinned
from express_path_instrument.bench.load import Server, Target

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_EXPIRES = 3600
_SESSION_SECONDS = 300
"""How long the credentials of CreateSession are valid
(https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html)."""
_ANY_KEY = "any"


@dataclass(frozen=True, slots=True)
class Store:
    """A bucket at a checked server. endpoint_url is that of a lab, or None for AWS."""

    bucket: Bucket
    server: Server
    aws: Aws
    endpoint_url: str | None

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"{'https' if self.server.tls else 'http'}://{self.server.authority}"

    def targets(self, method: str, keys: Iterable[str], body_bytes: int = 0) -> list[Target]:
        """Return a signed request for each key. For a directory bucket they are valid for five minutes.

        Raise ApiError if the bucket gives no session.
        """
        auth = self._auth()
        return [self._signed(auth, AWSRequest(method, self._url_of(key)), body_bytes) for key in keys]

    def copies(self, source: Bucket, keys: Sequence[tuple[str, str]]) -> list[Target]:
        """Return a signed CopyObject for each pair of a key in the source and a key in this bucket.

        CopyObject is authorized with the caller's own credentials, also in a directory bucket
        (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html).
        """
        auth = self._caller_auth()
        return [
            self._signed(auth, AWSRequest("PUT", self._url_of(to), {"x-amz-copy-source": f"{source.name}/{key}"}))
            for key, to in keys
        ]

    def sizes(self, prefix: str) -> dict[str, int]:
        """Read the size of each object under a prefix, which ends with a slash, by its key. Raise ApiError."""
        with calling("s3:ListObjectsV2"):
            pages = self._client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket.name, Prefix=prefix)
            return {row["Key"]: row["Size"] for page in pages for row in page.get("Contents", ())}

    def create(self) -> None:
        """Create the bucket. Raise ApiError, also if it exists."""
        with calling("s3:CreateBucket"):
            self._client().create_bucket(Bucket=self.bucket.name, **_configuration(self.bucket, self.aws.region))

    def delete(self) -> None:
        """Delete the bucket. Raise ApiError if it is not empty."""
        with calling("s3:DeleteBucket"):
            self._client().delete_bucket(Bucket=self.bucket.name)

    def _url_of(self, key: str) -> str:
        folder = f"/{self.bucket.name}" if self.endpoint_url else ""
        return f"{self.url}{folder}/{key}"

    def _signed(self, auth: SigV4Auth, request: AWSRequest, body_bytes: int = 0) -> Target:
        headers = tuple(request.headers.items())
        auth.add_auth(request)
        parts = urlsplit(str(request.url))
        return Target(str(request.method), f"{parts.path}?{parts.query}", headers, body_bytes)

    def _auth(self) -> SigV4Auth:
        """Return what signs requests for objects. A lab has no CreateSession, so its requests are those of S3."""
        if not self.bucket.is_directory or self.endpoint_url:
            return self._caller_auth()
        with calling("s3:CreateSession"):
            session = self._client().create_session(Bucket=self.bucket.name)["Credentials"]
        credentials = Credentials(session["AccessKeyId"], session["SecretAccessKey"], session["SessionToken"])
        return S3ExpressQueryAuth(
            credentials,
            "s3express",
            self.aws.region,
            identity_cache=None,  # type: ignore[arg-type]  # for signers without credentials
            expires=_SESSION_SECONDS,
        )

    def _caller_auth(self) -> SigV4Auth:
        with calling("boto3:Credentials"):
            credentials = self.aws.session.get_credentials()
        if credentials is None:
            raise OptionError("your AWS settings have no credentials", "set --profile, or AWS_ACCESS_KEY_ID")
        service = "s3express" if self.bucket.is_directory and not self.endpoint_url else "s3"
        return S3SigV4QueryAuth(credentials.get_frozen_credentials(), service, self.aws.region, expires=_EXPIRES)

    def _client(self) -> "S3Client":
        """Return a client that sends requests for this bucket to checked addresses only."""
        control = f"s3express-control.{self.aws.region}.amazonaws.com"
        controls = () if self.endpoint_url else (control, f"{control}.cn")

        def server_of(host: str) -> Server | None:
            """Return the bucket's server, or that which creates and deletes directory buckets."""
            if host == self.server.host:
                return self.server
            return aws_server(host, self.server.ca_file) if host in controls else None

        client = _client_of(self.aws, self.endpoint_url)
        send: Any = lambda request, **_: send_pinned(request, server_of)  # noqa: E731  # its answer replaces botocore's sending
        client.meta.events.register("before-send.s3", send)
        return client


def own_ca_file() -> str | None:
    """Return the file of certificates that the environment names instead of the system's."""
    return os.environ.get("AWS_CA_BUNDLE") or None


def open_store(bucket: Bucket, aws: Aws, endpoint_url: str | None) -> Store:
    """Check where requests for a bucket would go, and return the bucket. Nothing is sent to it. Raise OptionError."""
    ca_file = own_ca_file()
    if endpoint_url:
        return Store(bucket, lab_server(endpoint_url, ca_file), aws, endpoint_url.rstrip("/"))
    unsigned = _client_of(aws, None, signs=False)
    url = unsigned.generate_presigned_url("get_object", Params={"Bucket": bucket.name, "Key": _ANY_KEY})
    return Store(bucket, bucket_server(url, bucket, aws, ca_file), aws, None)


def _client_of(aws: Aws, endpoint_url: str | None, *, signs: bool = True) -> "S3Client":
    """Return a client of S3. One that does not sign sends nothing to find out the URL of an object."""
    config = Config(
        signature_version=None if signs else UNSIGNED,
        retries={"mode": "standard", "total_max_attempts": 3},
        s3={"us_east_1_regional_endpoint": "regional", **({"addressing_style": "path"} if endpoint_url else {})},
    )
    with calling(f"boto3:s3 in {aws.region}"):
        return aws.session.client("s3", region_name=aws.region, endpoint_url=endpoint_url, config=config)


def _configuration(bucket: Bucket, region: str) -> dict[str, Any]:
    """Return the configuration of a new bucket.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
    """
    if bucket.is_directory:
        # The ID of a Local Zone contains the one of its location: usw2-lax1-az1.
        kind = "LocalZone" if bucket.zone_id.count("-") > 1 else "AvailabilityZone"
        redundancy = "SingleLocalZone" if kind == "LocalZone" else "SingleAvailabilityZone"
        location = {"Location": {"Type": kind, "Name": bucket.zone_id}}
        return {"CreateBucketConfiguration": location | {"Bucket": {"Type": "Directory", "DataRedundancy": redundancy}}}
    return {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
