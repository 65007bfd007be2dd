"""ExpectedBucketOwner (https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-owner-condition.html)."""

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.server import Sandbox

OTHER = "999988887777"


def test_a_bucket_of_another_account_is_denied(sandbox: Sandbox) -> None:
    """Whoever names the owner is denied if it is another account, and served if it is not. Nobody has to name it."""
    owner = sandbox.client("s3", credentials=sandbox.credentials(OTHER))
    owner.create_bucket(Bucket="artifacts")
    owner.put_object(Bucket="artifacts", Key="code.zip", Body=b"code")
    reader = sandbox.client("s3")
    named = {"Bucket": "artifacts", "Key": "code.zip"}
    for right in ({}, {"ExpectedBucketOwner": OTHER}):
        assert reader.head_object(**named, **right)["ContentLength"] == len(b"code")
        assert reader.head_bucket(Bucket="artifacts", **right)
    for call, given, code in (
        (reader.head_object, named, "403"),
        (reader.get_object, named, "AccessDenied"),
        (reader.head_bucket, {"Bucket": "artifacts"}, "403"),
        (reader.list_objects_v2, {"Bucket": "artifacts"}, "AccessDenied"),
    ):
        with pytest.raises(ClientError) as refused:
            call(**given, ExpectedBucketOwner=sandbox.account_id)
        assert refused.value.response["Error"]["Code"] == code
