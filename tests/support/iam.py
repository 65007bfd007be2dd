"""What is wrong with a statement of a policy, by AWS's Service Authorization Reference.

https://docs.aws.amazon.com/service-authorization/latest/reference/
"""

import re
from typing import Any

from config_rule_sandbox.iam.policies import as_list
from config_rule_sandbox.iam.reference import Action, action, matching

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
OF_ANY_RESOURCE = {
    "cloudformation:DescribeStacks",
    "cloudwatch:GetMetricData",
    "config:DescribeConfigurationRecorderStatus",
    "config:DescribeConfigurationRecorders",
    "network-firewall:ListVpcEndpointAssociations",
    "servicequotas:GetServiceQuota",
    "sns:GetSubscriptionAttributes",
}
"""Reads that get "*": those of all stacks, of metrics that are in no data set, and of quotas. AWS does not say on which ARN it authorizes
those that name no stack, recorder, association, or topic.

https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html,
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html,
https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsconfig.html,
https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsnetworkfirewall.html,
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsns.html
"""
OF_ONE_TYPE = {"dynamodb:GetResourcePolicy"}
"""Actions whose requests are about a table or a stream, although the reference calls both types required."""
NOT_LISTED = {"dynamodb:StartBulkPutItems"}
"""Actions that AWS's documentation has, and the data do not: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/."""


def actions(statement: dict[str, Any]) -> list[str]:
    """Return a statement's actions as a list; a statement can have one or several."""
    return as_list(statement["Action"])


def access_level(name: str) -> str:
    """Return the access level of an action: List, Read, Write, Tagging or Permissions management."""
    return action(name).access_level


def faults(statement: dict[str, Any], *, of_person: bool = False) -> list[str]:
    """Return what a statement names that has no effect, or more than needed. Its ARNs may have wildcards.

    Each action must exist, and each resource must be of a type that an action supports. An action that supports no type
    needs "*". One that supports some needs an ARN, except in a resource policy, where "*" means the resource itself, in a
    Deny, and where a person reads. Each condition key must be global or supported by each action for one of the resources. A trust
    policy has no resource.
    """
    found, used = [], {"*"}
    resources, keys = as_list(statement.get("Resource", "*")), _keys(statement)
    for pattern in actions(statement):
        if pattern in NOT_LISTED:
            continue
        names = list(matching(pattern))
        if not names:
            found.append(f"{pattern} does not exist")
        for known in map(action, names):
            used |= {arn for arn in resources if known.types_of(arn)}
            if "*" not in pattern:
                is_known = known.name in OF_ANY_RESOURCE or (of_person and known.is_read)
                may_be_any = is_known or "Principal" in statement or statement["Effect"] == "Deny"
                found += _faults_of_resources(known, resources, may_be_any=may_be_any)
            found += [f"{known.name} does not support {key}" for key in keys if not _supports(known, resources, key)]
    return found + [f"{arn} is of no type of {actions(statement)}" for arn in resources if arn not in used]


def lacking(statements: list[dict[str, Any]]) -> list[str]:
    """Return the actions that a policy allows on some of the types of resources that each request for them needs."""
    allowed = [row for row in statements if row["Effect"] == "Allow"]
    named = {name for row in allowed for name in actions(row) if "*" not in name and any(matching(name))}
    found = []
    for known in map(action, sorted(named)):
        of_action = [row for row in allowed if any(known.name in matching(pattern) for pattern in actions(row))]
        arns = [arn for row in of_action for arn in as_list(row.get("Resource", "*"))]
        missing = [kind.pattern for kind in known.required if not any(kind.includes(arn) for arn in arns)]
        if missing and not (known.name in OF_ONE_TYPE and len(missing) < len(known.required)):
            found.append(f"{known.name} also needs resources like {missing}")
    return found


def _faults_of_resources(known: Action, resources: list[str], *, may_be_any: bool) -> list[str]:
    """Return what is wrong with the resources of one action."""
    if not known.types:
        return [] if resources == ["*"] else [f"{known.name} supports no resources: it needs *, not {resources}"]
    if "*" in resources:
        return [] if may_be_any else [f"{known.name} supports resources: {sorted(known.types)}"]
    if any(known.types_of(arn) for arn in resources):
        return []
    return [f"{known.name} supports {sorted(known.types)}, not {resources}"]


def _supports(known: Action, resources: list[str], key: str) -> bool:
    """Return whether an action comes with a condition key for one of the resources."""
    of_types = [kind.keys for arn in resources for kind in known.types_of(arn)]
    return any(_is_key(key, documented) for documented in GLOBAL.union(known.keys, *of_types))


def _keys(statement: dict[str, Any]) -> set[str]:
    return {key for tested in statement.get("Condition", {}).values() for key in tested}


def _is_key(key: str, documented: str) -> bool:
    """Return whether a key is a documented one. That may end in a variable, such as aws:ResourceTag/${TagKey}."""
    start, variable, _ = re.sub(r"<key>|tag-key$", "${Key}", documented).lower().partition("${")
    return key.lower().startswith(start) if variable else key.lower() == start
