"""Resource types of IAM."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, putting
from config_rule_sandbox.cloudformation.values import Created

LONGEST_NAME = 64


def create_role(account: Account, name: str, properties: Properties) -> Created:
    """Create a role with its inline policies."""
    name = properties.pop("RoleName", name[-LONGEST_NAME:])
    policies = properties.pop("Policies", [])
    made = account.call("iam", "create_role", RoleName=name, **properties)["Role"]
    for policy in policies:
        account.call("iam", "put_role_policy", RoleName=name, **policy)
    return Created(name, {"Arn": made["Arn"], "RoleId": made["RoleId"]})


def delete_role(account: Account, physical_id: str, properties: Properties) -> None:
    """Delete a role after its policies."""
    for policy in properties.get("Policies", []):
        account.call("iam", "delete_role_policy", RoleName=physical_id, PolicyName=policy["PolicyName"])
    account.call("iam", "delete_role", RoleName=physical_id)


def put_role_policy(account: Account, properties: Properties) -> None:
    """Put the policy as it is to be."""
    account.call("iam", "put_role_policy", **properties)


def delete_role_policy(account: Account, physical_id: str, properties: Properties) -> None:
    """Remove an inline policy from a role."""
    account.call("iam", "delete_role_policy", RoleName=properties["RoleName"], PolicyName=physical_id)


KINDS = {
    "AWS::IAM::Role": Kind(create_role, delete_role),
    "AWS::IAM::RolePolicy": putting(put_role_policy, delete_role_policy, "PolicyName"),
}
