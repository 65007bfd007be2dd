"""IAM's actions with their resource types and condition keys, from parliament's copy of AWS's reference.

https://docs.aws.amazon.com/service-authorization/latest/reference/
"""

import fnmatch
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

GLOBAL = {
    *("aws:PrincipalAccount", "aws:PrincipalArn", "aws:PrincipalIsAWSService", "aws:PrincipalOrgID"),
    *("aws:PrincipalOrgPaths", "aws:PrincipalServiceName", "aws:PrincipalType", "aws:RequestedRegion"),
    *("aws:ResourceAccount", "aws:ResourceOrgID", "aws:ResourceOrgPaths", "aws:SecureTransport"),
    *("aws:SourceAccount", "aws:SourceArn", "aws:SourceIdentity", "aws:SourceIp", "aws:SourceOrgID"),
    *("aws:SourceOrgPaths", "aws:SourceVpc", "aws:SourceVpcArn", "aws:SourceVpce", "aws:VpcSourceIp"),
}
"""Condition keys of principals, networks, and resources for any action. Those of tags are not global: actions list their own.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
"""


@dataclass(frozen=True)
class ResourceType:
    """The form of the ARNs of a type, with * for what varies, and the condition keys of an action on it."""

    arn: str
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Action:
    """An action: its access level, the resource types that it supports by name, and its keys for any resource."""

    access_level: str
    types: Mapping[str, ResourceType] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()


def actions(statement: dict[str, Any]) -> list[str]:
    """Return a statement's actions as a list; a statement can have one or several."""
    return _list(statement["Action"])


def access_level(action: str) -> str:
    """Return the access level of an action: List, Read, Write, Tagging or Permissions management."""
    return _reference()[action].access_level


def faults(statement: dict[str, Any]) -> list[str]:
    """Return what a statement names that has no effect, or more than needed. Its ARNs may have wildcards.

    Each action must exist, and each resource must be of a type that an action supports. An action that supports no type
    needs "*". One that supports some needs an ARN, except in a resource policy, where "*" means the resource itself. Each
    condition key must be global or supported by each action for one of the resources. A trust policy has no resource.
    """
    found, used = [], {"*"}
    resources, keys = _list(statement.get("Resource", "*")), _keys(statement)
    for pattern in actions(statement):
        named = [name for name in _reference() if fnmatch.fnmatchcase(name.lower(), pattern.lower())]
        if not named:
            found.append(f"{pattern} does not exist")
        for name in named:
            types = _reference()[name].types
            matching = {kind: [arn for arn in resources if _is_of_type(name, kind, arn)] for kind in types}
            used |= {arn for arns in matching.values() for arn in arns}
            if "*" not in pattern:
                found += _faults_of_resources(name, resources, matching, is_resource_policy="Principal" in statement)
            known = GLOBAL.union(
                _reference()[name].keys, *(types[kind].keys for kind, arns in matching.items() if arns)
            )
            found += [f"{name} does not support {key}" for key in keys if not any(_is_key(key, row) for row in known)]
    return found + [f"{arn} is of no type of {actions(statement)}" for arn in resources if arn not in used]


def _faults_of_resources(
    name: str, resources: list[str], matching: Mapping[str, list[str]], *, is_resource_policy: bool
) -> list[str]:
    """Return what is wrong with the resources of one action. matching: those of each type that it supports."""
    if not matching:
        return [] if resources == ["*"] else [f"{name} supports no resources: it needs *, not {resources}"]
    if "*" in resources:
        return [] if is_resource_policy else [f"{name} supports resources: {sorted(matching)}"]
    return [] if any(matching.values()) else [f"{name} supports {sorted(matching)}, not {resources}"]


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _keys(statement: dict[str, Any]) -> set[str]:
    return {key for tested in statement.get("Condition", {}).values() for key in tested}


def _is_key(key: str, documented: str) -> bool:
    """Return whether a key is a documented one. That may end in a variable, such as aws:ResourceTag/${TagKey}."""
    start, variable, _ = re.sub(r"<key>|tag-key$", "${Key}", documented).lower().partition("${")
    return key.lower().startswith(start) if variable else key.lower() == start


def _is_of_type(action: str, resource_type: str, arn: str) -> bool:
    """Return whether an ARN can name a resource of a type that an action supports."""
    # parliament expects no slash in the ARN of any bucket. That is right for S3 and wrong for S3 Express.
    kind = "" if action.startswith("s3express:") else resource_type
    return arn == "*" or bool(
        _parliament().is_arn_strictly_valid(kind, _reference()[action].types[resource_type].arn, arn)
    )


@cache
def _parliament() -> Any:
    # It takes long to import, because it reads its data, and it imports a deprecated module.
    with warnings.catch_warnings(action="ignore"):
        return import_module("parliament")


@cache
def _reference() -> Mapping[str, Action]:
    """Return the actions of all services by their names, such as dynamodb:PutItem."""
    found = {
        f"{service['prefix']}:{privilege['privilege']}": _action(service, privilege)
        for service in _parliament().iam_definition
        for privilege in service["privileges"]
    }
    return found | _newer(found)


def _action(service: dict[str, Any], privilege: dict[str, Any]) -> Action:
    known = {row["resource"]: row for row in service["resources"]}
    rows = {row["resource_type"].rstrip("*"): frozenset(row["condition_keys"]) for row in privilege["resource_types"]}
    types = {
        name: ResourceType(re.sub(r"\$\{.*?\}", "*", known[name]["arn"]), keys.union(known[name]["condition_keys"]))
        for name, keys in rows.items()
        if name in known
    }
    return Action(privilege["access_level"], types, rows.get("", frozenset()))


def _newer(known: Mapping[str, Action]) -> Mapping[str, Action]:
    """Return the actions that parliament's data does not have yet, and those that are not to be limited by ARN.

    Whether AWS authorizes the reads of recorders without a name on a recorder's ARN is not documented:
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsconfig.html.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html,
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsnetworkfirewall.html,
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3express.html,
    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-setup-identity-based-policies.html
    """
    table = {"table": ResourceType("arn:*:dynamodb:*:*:table/*")}
    definition = known["ssm:StartAutomationExecution"].types
    access_point = ResourceType("arn:*:s3express:*:*:accesspoint/*")
    return {
        "config:DescribeConfigurationRecorderStatus": Action("List"),
        "config:DescribeConfigurationRecorders": Action("List"),
        **{
            f"dynamodb:{name}": Action("Write", table)
            for name in ("AssociateTableReplica", "StartBulkPutItems", "WriteDataForReplication")
        },
        "network-firewall:DescribeVpcEndpointAssociation": replace(
            known["network-firewall:DescribeFirewall"],
            types={"VpcEndpointAssociation": ResourceType("arn:*:network-firewall:*:*:vpc-endpoint-association/*")},
        ),
        "network-firewall:ListVpcEndpointAssociations": Action("List"),
        "s3express:GetAccessPointPolicy": Action("Read", {"accesspoint": access_point}),
        "s3express:ListAccessPointsForDirectoryBuckets": Action("List"),
        "ssm:StartAutomationExecution": replace(
            known["ssm:StartAutomationExecution"],
            types={
                **definition,
                **{kind: ResourceType(f"arn:*:ssm:*:*:{kind}/*") for kind in ("automation-execution", "document")},
            },
        ),
    }
