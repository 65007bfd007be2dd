"""AWS::DynamoDB::Table: the table that CloudFormation makes from a resource's properties."""

import json
from collections.abc import Mapping
from typing import Any

from sandbox.dynamic import Client

OF_CREATE_TABLE = (
    "TableName",
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "ProvisionedThroughput",
    "DeletionProtectionEnabled",
    "TableClass",
    "Tags",
)
"""Properties that CreateTable takes as they are.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
"""

OF_THEIR_OWN = (
    "SSESpecification",
    "ResourcePolicy",
    "PointInTimeRecoverySpecification",
    "TimeToLiveSpecification",
)
"""Properties that have another form in the API, or another operation."""


class UnsupportedPropertyError(Exception):
    """A property of the resource that is not deployed here."""


def deploy_table(dynamodb: Client, properties: Mapping[str, Any], name: str | None = None) -> str:
    """Make a table from the resolved properties of a resource and return its ARN.

    `dynamodb` is a boto3 client, `name` the table's name if the properties have none. UnsupportedPropertyError if a
    property is unknown here.
    """
    unknown = sorted(set(properties) - set(OF_CREATE_TABLE) - set(OF_THEIR_OWN))
    if unknown:
        raise UnsupportedPropertyError(unknown)
    given = {key: properties[key] for key in OF_CREATE_TABLE if key in properties}
    given.setdefault("TableName", name)
    if encryption := dict(properties.get("SSESpecification", {})):
        enabled = encryption.pop("SSEEnabled")
        given["SSESpecification"] = {"Enabled": enabled, **encryption}
    if policy := properties.get("ResourcePolicy"):
        given["ResourcePolicy"] = json.dumps(policy["PolicyDocument"])
    made = dynamodb.create_table(**given)["TableDescription"]
    if recovery := properties.get("PointInTimeRecoverySpecification"):
        dynamodb.update_continuous_backups(TableName=given["TableName"], PointInTimeRecoverySpecification=recovery)
    if expiry := properties.get("TimeToLiveSpecification"):
        dynamodb.update_time_to_live(TableName=given["TableName"], TimeToLiveSpecification=expiry)
    return str(made["TableArn"])
