"""Roles and their policies. IAM has no Regions, so the name of a role differs in each Region's stack."""

import json
from typing import Any

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.values import Created

LONGEST_NAME = 64


def create_role(account: Account, name: str, properties: dict[str, Any]) -> Created:
    """Create a role with its inline and managed policies."""
    name = properties.pop("RoleName", name[-LONGEST_NAME:])
    policies, managed = properties.pop("Policies", []), properties.pop("ManagedPolicyArns", [])
    made = account.call("iam", "create_role", RoleName=name, **properties)["Role"]
    for policy in policies:
        account.call("iam", "put_role_policy", RoleName=name, **policy)
    for arn in managed:
        account.call("iam", "attach_role_policy", RoleName=name, PolicyArn=arn)
    return Created(name, {"Arn": made["Arn"], "RoleId": made["RoleId"]})


def update_role(account: Account, physical_id: str, earlier: dict[str, Any], properties: dict[str, Any]) -> None:
    """Update the description, the trust, the boundary, and the policies of a role."""
    account.call("iam", "update_role", RoleName=physical_id, Description=properties.get("Description", ""))
    trust = properties["AssumeRolePolicyDocument"]
    account.call("iam", "update_assume_role_policy", RoleName=physical_id, PolicyDocument=json.dumps(trust))
    if boundary := properties.get("PermissionsBoundary"):
        account.call("iam", "put_role_permissions_boundary", RoleName=physical_id, PermissionsBoundary=boundary)
    elif "PermissionsBoundary" in earlier:
        account.call("iam", "delete_role_permissions_boundary", RoleName=physical_id)
    policies = properties.get("Policies", [])
    for policy in policies:
        account.call("iam", "put_role_policy", RoleName=physical_id, **policy)
    for name in _names(earlier.get("Policies", [])) - _names(policies):
        account.call("iam", "delete_role_policy", RoleName=physical_id, PolicyName=name)
    managed, before = set(properties.get("ManagedPolicyArns", [])), set(earlier.get("ManagedPolicyArns", []))
    for arn in managed - before:
        account.call("iam", "attach_role_policy", RoleName=physical_id, PolicyArn=arn)
    for arn in before - managed:
        account.call("iam", "detach_role_policy", RoleName=physical_id, PolicyArn=arn)


def _names(policies: list[dict[str, Any]]) -> set[str]:
    return {policy["PolicyName"] for policy in policies}


def delete_role(account: Account, physical_id: str, properties: dict[str, Any]) -> None:
    """Delete a role after its policies."""
    for policy in properties.get("Policies", []):
        account.call("iam", "delete_role_policy", RoleName=physical_id, PolicyName=policy["PolicyName"])
    for arn in properties.get("ManagedPolicyArns", []):
        account.call("iam", "detach_role_policy", RoleName=physical_id, PolicyArn=arn)
    account.call("iam", "delete_role", RoleName=physical_id)


def create_role_policy(account: Account, _name: str, properties: dict[str, Any]) -> Created:
    """Add an inline policy to a role."""
    update_role_policy(account, properties["PolicyName"], {}, properties)
    return Created(properties["PolicyName"])


def update_role_policy(
    account: Account, _physical_id: str, _earlier: dict[str, Any], properties: dict[str, Any]
) -> None:
    """Put the policy as it is to be."""
    account.call("iam", "put_role_policy", **properties)


def delete_role_policy(account: Account, physical_id: str, properties: dict[str, Any]) -> None:
    """Remove an inline policy from a role."""
    account.call("iam", "delete_role_policy", RoleName=properties["RoleName"], PolicyName=physical_id)
