"""The parts of a dump that describe the account, in the format of the AWS CLI."""

from tests.support.network_files.vpc_rows import AccountRegion, Row


def identity(place: AccountRegion) -> Row:
    """Return the response of GetCallerIdentity, with the Region that a dump adds to it."""
    return {
        "UserId": "AROA4X7Q2M9LD5K3B6T1Z:auditor",
        "Account": place.account,
        "Arn": f"arn:aws:sts::{place.account}:assumed-role/NetworkAuditor/auditor",
        "Region": place.region,
    }


def directory_bucket_row(place: AccountRegion, name: str) -> Row:
    """Return a row of S3's ListDirectoryBuckets."""
    return {
        "Name": name,
        "CreationDate": "2026-04-02T11:20:09+00:00",
        "BucketArn": place.arn("s3express", f"bucket/{name}"),
    }


def shared_subnet_row(place: AccountRegion, subnet_id: str) -> Row:
    """Return a row of RAM's ListResources for a subnet that the account shares with others."""
    return {
        "arn": place.arn("ec2", f"subnet/{subnet_id}"),
        "type": "ec2:Subnet",
        "resourceShareArn": place.arn("ram", "resource-share/5f6a1e0c-3d27-4b8e-9c41-7a2d9be60f13"),
        "status": "UNAVAILABLE",
        "creationTime": "2026-01-20T09:14:07.512000+00:00",
        "lastUpdatedTime": "2026-02-03T16:40:55.087000+00:00",
        "resourceRegionScope": "REGIONAL",
    }
