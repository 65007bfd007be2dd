"""Resource types of DynamoDB."""

import json

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting
from config_rule_sandbox.cloudformation.values import Created


def create_table(account: Account, name: str, properties: Properties) -> Created:
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


KINDS = {
    "AWS::DynamoDB::Table": Kind(create_table, deleting("dynamodb", "delete_table", "TableName")),
}
