"""Resource types of CloudWatch Logs."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting
from config_rule_sandbox.cloudformation.values import Created


def create_log_group(account: Account, name: str, properties: Properties) -> Created:
    """Create a log group."""
    name = properties.get("LogGroupName", name)
    account.call("logs", "create_log_group", logGroupName=name)
    if "RetentionInDays" in properties:
        update_log_group(account, name, {}, properties)
    return Created(name, {"Arn": f"arn:aws:logs:{account.region}:{account.account_id}:log-group:{name}:*"})


def update_log_group(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Set for how long a log group keeps its events."""
    days = properties["RetentionInDays"]
    account.call("logs", "put_retention_policy", logGroupName=physical_id, retentionInDays=days)


KINDS = {
    "AWS::Logs::LogGroup": Kind(
        create_log_group, deleting("logs", "delete_log_group", "logGroupName"), update_log_group
    ),
}
