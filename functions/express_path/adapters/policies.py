"""Read the policies that a heal evaluates: of directory buckets, of their access points, and of endpoints."""

from collections.abc import Collection, Iterable, Iterator

from express_path.adapters.aws import Aws, calling, pages, unless_denied
from express_path.domain.heal.preflight import Policy
from express_path.errors import ApiError
from express_path.fields import Description

_NONE = frozenset({"NoSuchBucketPolicy", "NoSuchBucket", "NoSuchAccessPointPolicy", "NoSuchAccessPoint"})
"""S3's error codes if a bucket or an access point has no policy, or was deleted since it was listed."""


def resource_policies(aws: Aws, account_id: str) -> Iterator[Policy]:
    """Yield the policies of this account's directory buckets and access points; those of other accounts cannot be read.

    For a policy that cannot be read, the Policy says why; an error would stop the heals of every VPC in the Region.
    https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketPolicy.html
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-points-directory-buckets-policies.html
    """
    buckets = unless_denied(lambda: pages(aws.s3, "s3", "list_directory_buckets", "Buckets"))
    if buckets is None:
        yield Policy("each directory bucket", "", "s3express:ListAllMyDirectoryBuckets is denied")
    for bucket in buckets or ():
        try:
            with calling("s3:GetBucketPolicy"):
                yield Policy(bucket["Name"], aws.s3.get_bucket_policy(Bucket=bucket["Name"])["Policy"])
        except ApiError as error:
            if error.code not in _NONE:
                yield Policy(bucket["Name"], "", str(error))
    if buckets != []:
        yield from _access_point_policies(aws, account_id)


def _access_point_policies(aws: Aws, account_id: str) -> Iterator[Policy]:
    control = aws.client("s3control")
    try:
        points = pages(
            control, "s3control", "list_access_points_for_directory_buckets", "AccessPointList", AccountId=account_id
        )
    except ApiError as error:
        yield Policy("each access point of a directory bucket", "", str(error))
        return
    for point in points:
        try:
            with calling("s3control:GetAccessPointPolicy"):
                answer = control.get_access_point_policy(AccountId=account_id, Name=point["Name"])
                yield Policy(f"access point {point['Name']}", answer["Policy"])
        except ApiError as error:
            if error.code not in _NONE:
                yield Policy(f"access point {point['Name']}", "", str(error))


def endpoint_policies(endpoints: Iterable[Description], endpoint_ids: Collection[str]) -> Iterator[Policy]:
    """Yield the policies of these endpoints, of all that EC2 described."""
    for endpoint in endpoints:
        if endpoint["VpcEndpointId"] in endpoint_ids and endpoint.get("PolicyDocument"):
            yield Policy(endpoint["VpcEndpointId"], endpoint["PolicyDocument"], endpoint_id=endpoint["VpcEndpointId"])
