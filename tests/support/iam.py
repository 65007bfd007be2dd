"""IAM's actions and a policy linter, both from parliament's copy of AWS's data."""

import json
import warnings
from functools import cache
from importlib import import_module
from typing import Any


def actions(statement: dict[str, Any]) -> list[str]:
    """Return a statement's actions as a list; a statement can have one or several."""
    return [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


NEWER = {"s3express:GetAccessPointPolicy": "Read", "s3express:ListAccessPointsForDirectoryBuckets": "List"}
"""The access levels of actions that parliament's data does not have yet
(https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3express.html)."""


def access_level(action: str) -> str:
    """Return the access level of an action: List, Read, Write, Tagging or Permissions management."""
    return NEWER.get(action) or str(_privileges()[action]["access_level"])


def condition_keys(action: str, resource_type: str) -> set[str]:
    """Return the condition keys of an action for a resource type, with those for any resource."""
    types = {row["resource_type"].rstrip("*"): row for row in _privileges()[action]["resource_types"]}
    return {key for name in (resource_type, "") if name in types for key in types[name]["condition_keys"]}


def actions_of(service: str) -> set[str]:
    """Return the names of all actions of a service, such as PutItem."""
    return {name.partition(":")[2] for name in _privileges() if name.startswith(f"{service}:")}


@cache
def _parliament(module: str = "parliament") -> Any:
    # It takes long to import, because it reads its data, and it imports a deprecated module.
    with warnings.catch_warnings(action="ignore"):
        found = import_module(module)
    if module == "parliament":
        # Its data lacks newer actions:
        # https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsnetworkfirewall.html
        [firewall] = [service for service in found.iam_definition if service["prefix"] == "network-firewall"]
        [described] = [action for action in firewall["privileges"] if action["privilege"] == "DescribeFirewall"]
        firewall["privileges"] += [
            {**described, "privilege": "DescribeVpcEndpointAssociation"},
            {**described, "privilege": "ListVpcEndpointAssociations", "access_level": "List", "resource_types": []},
        ]
    return found


@cache
def _privileges() -> dict[str, dict[str, Any]]:
    return {
        f"{service['prefix']}:{privilege['privilege']}": privilege
        for service in _parliament().iam_definition
        for privilege in service["privileges"]
    }


def lint(policy: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings that parliament prints for a policy: unknown actions, wrong resources, malformed statements.

    Its findings about S3 Express buckets are left out, because it expects the ARN of an S3 bucket, which has no slash.
    """
    parliament, is_left_out = _parliament(), _parliament("parliament.cli").is_finding_filtered
    analyzed = parliament.analyze_policy_string(json.dumps(policy), config=parliament.config)
    findings = map(parliament.enhance_finding, analyzed.findings)
    return [
        {"issue": finding.issue, "detail": finding.detail, "location": finding.location}
        for finding in findings
        if not is_left_out(finding) and "'required_format': 'arn:*:s3express:*:*:bucket/*'" not in str(finding.detail)
    ]
