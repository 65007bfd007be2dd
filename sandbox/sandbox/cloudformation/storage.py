"""Tables, buckets, and documents."""

import json
from typing import Any

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import Created, TemplateError

NO_CONSTRAINT = "us-east-1"
"""The Region that CreateBucket does not accept: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html."""


def create_table(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a table with its resource policy and its recovery to a point in time."""
    name = properties.pop("TableName", name)
    recovery = properties.pop("PointInTimeRecoverySpecification", None)
    encryption = properties.pop("SSESpecification", {})
    policy = properties.pop("ResourcePolicy", None)
    made = account.call(
        "dynamodb",
        "create_table",
        TableName=name,
        **properties,
        **({"SSESpecification": {"Enabled": encryption["SSEEnabled"]}} if encryption else {}),
        **({"ResourcePolicy": json.dumps(policy["PolicyDocument"])} if policy else {}),
    )["TableDescription"]
    if recovery:
        account.call("dynamodb", "update_continuous_backups", TableName=name, PointInTimeRecoverySpecification=recovery)
    return Created(name, {"Arn": made["TableArn"]})


def update_table(account: Account, physical_id: str, earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Update the resource policy of a table. TemplateError if anything else differs, which is not known here."""
    changed = {name for name in earlier.keys() | properties if earlier.get(name) != properties.get(name)}
    if changed != {"ResourcePolicy"} or "ResourcePolicy" not in properties:
        raise TemplateError(f"updates of {sorted(changed)} of a table are not known here")
    policy = json.dumps(properties["ResourcePolicy"]["PolicyDocument"])
    found = account.call("dynamodb", "describe_table", TableName=physical_id)["Table"]
    account.call("dynamodb", "put_resource_policy", ResourceArn=found["TableArn"], Policy=policy)


def delete_table(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a table. ClientError if it is protected against deletion."""
    account.call("dynamodb", "delete_table", TableName=physical_id)


def create_bucket(account: Account, name: str, properties: dict[str, Any]) -> Created:
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


def delete_bucket(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a bucket. ClientError if it is not empty."""
    account.call("s3", "delete_bucket", Bucket=physical_id)


def create_bucket_policy(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Set the policy of a bucket."""
    update_bucket_policy(account, name, {}, properties)
    return Created(name)


def update_bucket_policy(
    account: Account, _physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Put the policy as it is to be."""
    policy = json.dumps(properties["PolicyDocument"])
    account.call("s3", "put_bucket_policy", Bucket=properties["Bucket"], Policy=policy)


def delete_bucket_policy(account: Account, _physical_id: str, properties: dict[str, Any]) -> None:
    """Remove the policy of a bucket."""
    account.call("s3", "delete_bucket_policy", Bucket=properties["Bucket"])


def create_document(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a document of Systems Manager. ClientError (DocumentAlreadyExists) if its name is taken."""
    name = properties.pop("Name", name)
    properties.pop("UpdateMethod", None)  # how CloudFormation itself updates the document
    account.call("ssm", "create_document", Name=name, DocumentFormat="JSON", **properties)
    return Created(name)


def update_document(account: Account, physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Create a new version of a document, and make it the default version, as the update method NewVersion does.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ssm-document.html
    """
    content = {"Content": properties["Content"], "DocumentFormat": "JSON", "DocumentVersion": "$LATEST"}
    made = account.call("ssm", "update_document", Name=physical_id, **content)["DocumentDescription"]
    version = made["DocumentVersion"]
    account.call("ssm", "update_document_default_version", Name=physical_id, DocumentVersion=version)


def delete_document(account: Account, physical_id: str, _properties: dict[str, Any]) -> None:
    """Delete a document."""
    account.call("ssm", "delete_document", Name=physical_id)
