"""A bucket, and signed requests for its objects.

All of them, and botocore's own requests, go to the addresses that the guard has checked.
"""

import hmac
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from botocore import UNSIGNED
from botocore.auth import S3ExpressQueryAuth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from express_path.adapters.aws import Aws, calling
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.bucket import Bucket
from express_path_instrument.bench.guard import bucket_server, lab_server, send_pinned
from express_path_instrument.bench.load import Presigned, Server
from express_path_instrument.bench.plan import MOST_SECONDS, SESSION_SECONDS, longest_load

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectTypeDef

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

    @property
    def has_session(self) -> bool:
        """Whether requests for objects need a session. A lab has none, so its requests are those of S3."""
        return self.bucket.is_directory and not self.endpoint_url

    @property
    def longest_load(self) -> float:
        """How many seconds a load may send the requests of `targets`, so that none of them expires."""
        return longest_load(has_session=self.has_session)

    def targets(self, method: str, keys: Sequence[str], body_bytes: int = 0) -> Presigned:
        """Return a signed request for each key.

        botocore signs one URL; the others differ in their paths only. Raise ApiError if the bucket gives no session.
        """
        auth = self._auth()
        folder = f"/{self.bucket.name}/" if self.endpoint_url else "/"
        request = AWSRequest(method, f"{self.url}{folder}{_ANY_KEY}")
        auth.add_auth(request)
        query = urlsplit(str(request.url)).query
        parameters = parse_qs(query)
        scope = parameters["X-Amz-Credential"][0].partition("/")[2]
        signing_key = f"AWS4{auth.credentials.secret_key}".encode()
        for part in scope.split("/"):
            signing_key = hmac.digest(signing_key, part.encode(), "sha256")
        return Presigned(
            method,
            keys,
            body_bytes,
            folder,
            self.server.authority,
            "&".join(sorted(part for part in query.split("&") if not part.startswith("X-Amz-Signature="))),
            f"AWS4-HMAC-SHA256\n{parameters['X-Amz-Date'][0]}\n{scope}",
            signing_key.hex(),
        )

    def listed(self, prefix: str) -> Iterator["ObjectTypeDef"]:
        """Yield each object under a prefix, which ends with a slash, as ListObjectsV2 describes it. Raise ApiError."""
        with calling("s3:ListObjectsV2"):
            pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket.name, Prefix=prefix)
            for page in pages:
                yield from page.get("Contents", ())

    def _auth(self) -> SigV4Auth:
        """Return what signs requests for objects."""
        if not self.has_session:
            with calling("boto3:Credentials"):
                found = self.aws.session.get_credentials()
                own = found.get_frozen_credentials() if found else None
            if own is None:
                raise OptionError("your AWS settings have no credentials", "set --profile, or AWS_ACCESS_KEY_ID")
            return S3SigV4QueryAuth(own, "s3", self.aws.region, expires=2 * MOST_SECONDS)
        with calling("s3:CreateSession"):
            session = self.client().create_session(Bucket=self.bucket.name)["Credentials"]
        credentials = Credentials(session["AccessKeyId"], session["SecretAccessKey"], session["SessionToken"])
        return S3ExpressQueryAuth(
            credentials,
            "s3express",
            self.aws.region,
            identity_cache=None,  # type: ignore[arg-type]  # for signers without credentials
            expires=SESSION_SECONDS,
        )

    def client(self) -> "S3Client":
        """Return a client that sends requests for this bucket to checked addresses only."""

        def server_of(host: str) -> Server | None:
            """Return the bucket's server, and none for another host."""
            return self.server if host == self.server.host else None

        client = _client_of(self.aws, self.endpoint_url)
        send: Any = lambda request, **_: send_pinned(request, server_of)  # noqa: E731  # its answer replaces botocore's sending
        client.meta.events.register("before-send.s3", send)
        if self.endpoint_url:  # botocore signs for s3express if the name is one of a directory bucket
            as_s3: Any = lambda context, **_: context["signing"].update(signing_name="s3")  # noqa: E731
            client.meta.events.register("before-call.s3", as_s3)
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
    with calling("boto3:URL"):
        url = unsigned.generate_presigned_url("get_object", Params={"Bucket": bucket.name, "Key": _ANY_KEY})
    return Store(bucket, bucket_server(url, bucket, aws, ca_file), aws, None)


def _client_of(aws: Aws, endpoint_url: str | None, *, signs: bool = True) -> "S3Client":
    """Return a client of S3. One that does not sign sends nothing to find out the URL of an object."""
    s3: Any = {"us_east_1_regional_endpoint": "regional"}
    if endpoint_url:
        s3 |= {"addressing_style": "path", "disable_s3_express_session_auth": True}
    config = Config(
        signature_version=None if signs else UNSIGNED,
        retries={"mode": "standard", "total_max_attempts": 3},
        s3=s3,
    )
    with calling(f"boto3:s3 in {aws.region}"):
        return aws.session.client("s3", region_name=aws.region, endpoint_url=endpoint_url, config=config)
