"""Check whether an account can read the function's code in the artifact bucket of a Region."""

from collections.abc import Iterator
from dataclasses import dataclass

from botocore.exceptions import ClientError

from express_path.adapters.aws import calling
from express_path.errors import ApiError
from express_path_cli.org.place import Place
from express_path_cli.org.reasons import CheckReason, Problem

_ABSENT = frozenset({"404", "NoSuchBucket", "NoSuchKey"})
_DENIED = frozenset({"403", "AccessDenied"})
_ELSEWHERE = frozenset({"301", "PermanentRedirect"})
"""Error codes of S3. The answers of HEAD requests have no body, so botocore uses the HTTP status as the code."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """The code of the functions: the prefix of the buckets' names, and its key, empty if only buckets are checked."""

    bucket_prefix: str
    key: str = ""

    def bucket(self, region: str) -> str:
        """Return the bucket of a Region: Lambda reads code only from a bucket of the function's own Region.

        https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCode.html
        """
        return f"{self.bucket_prefix}-{region}"

    def problems(self, place: Place) -> Iterator[Problem]:
        """Yield why the account cannot read the code. Raise ApiError if that cannot be determined."""
        bucket = self.bucket(place.region)
        found_in = _region_of(place, bucket)
        if found_in is None:
            yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} does not exist")
        elif found_in != place.region:
            yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} is in {found_in}")
        elif self.key:
            yield from self._unreadable(place, bucket)

    def _unreadable(self, place: Place, bucket: str) -> Iterator[Problem]:
        """Yield why the object cannot be read.

        Who may not list the bucket cannot tell a missing object from one that is denied
        (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html).
        """
        try:
            with calling("s3:HeadObject"):
                place.aws.s3.head_object(Bucket=bucket, Key=self.key)
        except ApiError as error:
            if error.code in _ABSENT:
                yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} has no object {self.key}")
            elif error.code in _DENIED:
                yield Problem(
                    CheckReason.BUCKET_UNREADABLE,
                    f"the account cannot read {self.key} in the artifact bucket {bucket}, or it is not there",
                )
            else:
                raise


def _region_of(place: Place, bucket: str) -> str | None:
    """Read the Region of a bucket; None if it does not exist. Raise ApiError.

    The answer names the Region also if the bucket may not be listed, which is usual: the artifact buckets' policy only
    allows the organization to read objects (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html).
    """
    with calling("s3:HeadBucket"):
        try:
            headers = place.aws.s3.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPHeaders"]
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _ABSENT:
                return None
            if code not in _DENIED | _ELSEWHERE:
                raise
            headers = error.response["ResponseMetadata"]["HTTPHeaders"]
    return str(headers.get("x-amz-bucket-region", place.region))
