"""S3 directory buckets (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListDirectoryBuckets.html)."""

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

DIRECTORY = {
    "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
    "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
}


@pytest.fixture
def s3(sandbox: Sandbox) -> Client:
    """Create a general purpose bucket and three directory buckets, and return an S3 client."""
    client = sandbox.client("s3")
    client.create_bucket(Bucket="general")
    for name in ("one", "three", "two"):
        client.create_bucket(Bucket=f"{name}--use1-az4--x-s3", CreateBucketConfiguration=DIRECTORY)
    sandbox.calls.clear()
    return client


def test_lists_directory_buckets_apart(sandbox: Sandbox, s3: Client) -> None:
    """ListDirectoryBuckets returns the directory buckets of its Region in pages, and ListBuckets does not."""
    pages = [
        page["Buckets"]
        for page in s3.get_paginator("list_directory_buckets").paginate(PaginationConfig={"PageSize": 2})
    ]
    names = [[bucket["Name"] for bucket in page] for page in pages]
    assert names == [["one--use1-az4--x-s3", "three--use1-az4--x-s3"], ["two--use1-az4--x-s3"]]
    first = pages[0][0]
    assert first["BucketArn"] == "arn:aws:s3express:us-east-1:123456789012:bucket/one--use1-az4--x-s3"
    assert first["CreationDate"]
    assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["general"]
    assert sandbox.client("s3", "eu-west-1").list_directory_buckets()["Buckets"] == []
