"""S3 directory buckets: a list of their own, for each Region, apart from the general purpose buckets."""

from typing import Any

from moto.core.responses import ActionResult
from moto.s3.responses import S3Response
from moto.s3control import urls
from moto.s3control.responses import S3ControlResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches

SUFFIX = "--x-s3"
"""https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-naming-rules.html."""


def apply(patches: Patches) -> None:
    """Answer ListDirectoryBuckets with the directory buckets of the Region, and ListBuckets with the others.

    Both are the same HTTP request; on AWS they go to different hosts, here the signing name tells them apart
    (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListDirectoryBuckets.html, permission
    s3express:ListAllMyDirectoryBuckets).
    """
    patches.wrap(S3Response, "all_buckets", _listing)


def _listing(original: Moto) -> Moto:
    """List directory buckets for requests signed for S3 Express, and the other buckets for all others."""

    def all_buckets(self: Moto) -> Moto:
        buckets = self.backend.buckets
        directories = {name: bucket for name, bucket in buckets.items() if name.endswith(SUFFIX)}
        if "/s3express/" in self.headers.get("Authorization", ""):
            return _list_directory_buckets(self, directories)
        self.backend.buckets = {name: bucket for name, bucket in buckets.items() if name not in directories}
        try:
            return original(self)
        finally:
            self.backend.buckets = buckets

    return all_buckets


def _list_directory_buckets(self: Moto, directories: dict[str, Moto]) -> Moto:
    """Return a page of at most MaxDirectoryBuckets (1,000) buckets, beginning after the ContinuationToken."""
    self.data["Action"] = "ListAllMyDirectoryBuckets"
    self._authenticate_and_authorize_s3_action()
    self.data["Action"] = "ListDirectoryBuckets"
    after = self._get_param("continuation-token", "")
    names = sorted(name for name, bucket in directories.items() if bucket.region_name == self.region and name > after)
    page = names[: int(self._get_param("max-directory-buckets", 1000))]
    listed = [_describe(self, directories[name]) for name in page]
    more = {"ContinuationToken": page[-1]} if len(page) < len(names) else {}
    return self.serialized(ActionResult({"Buckets": listed, **more}))


def _describe(self: Moto, bucket: Moto) -> dict[str, Any]:
    arn = f"arn:aws:s3express:{self.region}:{self.current_account}:bucket/{bucket.name}"
    return {"Name": bucket.name, "CreationDate": bucket.creation_date_ISO8601, "BucketArn": arn}


def apply_access_points(patches: Patches) -> None:
    """List the access points of directory buckets, which their names tell apart from the others.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_control_ListAccessPointsForDirectoryBuckets.html
    """
    path = "/v20180820/accesspointfordirectory"
    patches.set(urls, "url_paths", {**urls.url_paths, path: S3ControlResponse.dispatch})
    patches.set(S3ControlResponse, "list_access_points_for_directory_buckets", _list_access_points)


def _list_access_points(self: Moto) -> ActionResult:
    listed, _ = self.backend.list_access_points(
        account_id=self._get_param("AccountId"), bucket=self._get_param("DirectoryBucket")
    )
    points = [{"Name": point.name, "Bucket": point.bucket} for point in listed if point.bucket.endswith(SUFFIX)]
    return ActionResult({"AccessPointList": points})
