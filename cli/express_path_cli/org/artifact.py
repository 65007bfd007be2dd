"""Check whether an account can read the function's code in the artifact bucket of a Region."""

from collections.abc import Iterator
from dataclasses import dataclass

from express_path.adapters.aws import calling
from express_path.errors import ApiError
from express_path_cli.org.place import Place
from express_path_cli.org.reasons import CheckReason, Problem

_ABSENT = frozenset({"404", "NoSuchBucket", "NoSuchKey", "NotFound"})
_DENIED = frozenset({"403", "Forbidden", "AccessDenied"})
_ELSEWHERE = frozenset({"301", "PermanentRedirect", "MovedPermanently"})
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
        try:
            self._read(place, bucket)
        except ApiError as error:
            if error.code in _ABSENT:
                what = f"has no object {self.key}" if error.operation == "s3:HeadObject" else "does not exist"
                yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} {what}")
            elif error.code in _ELSEWHERE:
                yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} is in another Region")
            elif error.code in _DENIED:
                yield Problem(
                    CheckReason.BUCKET_UNREADABLE,
                    f"the artifact bucket {bucket} cannot be read from this account ({error.operation} is denied)",
                )
            else:
                raise

    def _read(self, place: Place, bucket: str) -> None:
        """Ask for the bucket, and for the object if its key is known. Raise ApiError."""
        with calling("s3:HeadBucket"):
            found = place.aws.s3.head_bucket(Bucket=bucket)
        if found.get("BucketRegion", place.region) != place.region:
            raise ApiError("s3:HeadBucket", "PermanentRedirect", f"the bucket is in {found['BucketRegion']}")
        if self.key:
            with calling("s3:HeadObject"):
                place.aws.s3.head_object(Bucket=bucket, Key=self.key)
