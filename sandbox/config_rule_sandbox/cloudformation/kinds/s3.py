"""Resource types of S3."""

import json

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting, putting
from config_rule_sandbox.cloudformation.values import Created

NO_CONSTRAINT = "us-east-1"
"""The Region that CreateBucket does not accept: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html."""


def create_bucket(account: Account, name: str, properties: Properties) -> Created:
    """Create a bucket in the stack's Region, with encryption, versions, and blocked public access."""
    name = properties.get("BucketName", name.lower())
    where = {} if account.region == NO_CONSTRAINT else {"LocationConstraint": account.region}
    account.call("s3", "create_bucket", Bucket=name, **({"CreateBucketConfiguration": where} if where else {}))
    if blocked := properties.get("PublicAccessBlockConfiguration"):
        account.call("s3", "put_public_access_block", Bucket=name, PublicAccessBlockConfiguration=blocked)
    if versions := properties.get("VersioningConfiguration"):
        account.call("s3", "put_bucket_versioning", Bucket=name, VersioningConfiguration=versions)
    if encryption := properties.get("BucketEncryption"):
        rules = [
            {"ApplyServerSideEncryptionByDefault": rule["ServerSideEncryptionByDefault"]}
            for rule in encryption["ServerSideEncryptionConfiguration"]
        ]
        configuration = {"Rules": rules}
        account.call("s3", "put_bucket_encryption", Bucket=name, ServerSideEncryptionConfiguration=configuration)
    return Created(name, {"Arn": f"arn:aws:s3:::{name}"})


def put_bucket_policy(account: Account, properties: Properties) -> None:
    """Put the policy as it is to be."""
    policy = json.dumps(properties["PolicyDocument"])
    account.call("s3", "put_bucket_policy", Bucket=properties["Bucket"], Policy=policy)


def delete_bucket_policy(account: Account, _physical_id: str, properties: Properties) -> None:
    """Remove the policy of a bucket."""
    account.call("s3", "delete_bucket_policy", Bucket=properties["Bucket"])


KINDS = {
    "AWS::S3::Bucket": Kind(create_bucket, deleting("s3", "delete_bucket", "Bucket")),
    "AWS::S3::BucketPolicy": putting(put_bucket_policy, delete_bucket_policy),
}
