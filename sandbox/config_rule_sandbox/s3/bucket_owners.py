"""Requests that say which account must own the bucket."""

from typing import Any

from moto.s3.exceptions import S3AccessDeniedError
from moto.s3.models import s3_backends
from moto.s3.responses import S3Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches

HEADER = "x-amz-expected-bucket-owner"


def apply(patches: Patches) -> None:
    """Deny a request whose ExpectedBucketOwner is not the account of the bucket.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-owner-condition.html
    """
    for name in ("_bucket_response", "_key_response"):
        patches.wrap(S3Response, name, _checking)


def _checking(original: Moto) -> Moto:
    def answer(self: Moto, request: Any, full_url: str) -> Moto:  # noqa: ANN401  # an HTTP request
        expected = request.headers.get(HEADER)
        bucket = self.parse_bucket_name_from_url(request, full_url)
        if expected and bucket in s3_backends.bucket_accounts:
            _, owner = s3_backends.bucket_accounts[bucket]
            if expected != owner:
                if request.method == "HEAD":  # an answer without a body, so clients see the status only
                    return 403, {}, ""
                raise S3AccessDeniedError
        return original(self, request, full_url)

    return answer
