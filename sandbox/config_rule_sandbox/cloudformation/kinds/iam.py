"""Resource types of IAM."""

import json
from functools import cache
from typing import Any

from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy, iam_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, putting, shortened
from config_rule_sandbox.cloudformation.values import Created

LONGEST_NAME = 64
OWNER = "aws"
"""The account in the ARNs of policies that AWS manages."""


def create_role(account: Account, name: str, properties: Properties) -> Created:
    """Create a role with its policies, inline and managed."""
    name = properties.pop("RoleName", shortened(name, LONGEST_NAME))
    policies, managed = properties.pop("Policies", []), properties.pop("ManagedPolicyArns", [])
    _add_if_of_aws(account, properties.get("PermissionsBoundary", ""))
    made = account.call("iam", "create_role", RoleName=name, **properties)["Role"]
    for policy in policies:
        account.call("iam", "put_role_policy", RoleName=name, **policy)
    for arn in managed:
        _add_if_of_aws(account, arn)
        account.call("iam", "attach_role_policy", RoleName=name, PolicyArn=arn)
    return Created(name, {"Arn": made["Arn"], "RoleId": made["RoleId"]})


def delete_role(account: Account, physical_id: str, properties: Properties) -> None:
    """Delete a role after its policies."""
    for policy in properties.get("Policies", []):
        account.call("iam", "delete_role_policy", RoleName=physical_id, PolicyName=policy["PolicyName"])
    for arn in properties.get("ManagedPolicyArns", []):
        account.call("iam", "detach_role_policy", RoleName=physical_id, PolicyArn=arn)
    account.call("iam", "delete_role", RoleName=physical_id)


def _add_if_of_aws(account: Account, arn: str) -> None:
    """Let the account have one of AWS's own policies. moto has all 1,300 of them or, by default, none."""
    partition = get_partition(account.region)
    policies = iam_backends[account.account_id][partition].managed_policies
    name = arn.rpartition("/")[2]
    if arn not in policies and f":iam::{OWNER}:" in arn and name in _of_aws():
        policies[arn] = AWSManagedPolicy.from_data(name, account.account_id, account.region, _of_aws()[name])


@cache
def _of_aws() -> dict[str, Any]:
    policies: dict[str, Any] = json.loads(aws_managed_policies_data)
    return policies


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
