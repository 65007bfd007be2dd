"""The permissions of people: the operator's and the auditor's role, who deploys, and who uses the stack of one account.

`python -m org.policies` writes them into the files of FILES. Resources are written as for Fn::Sub, and conditions and lists are
as IAM has them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROLE_FILE, PAGE_FILE = "org/operator-role.yaml", "docs/troubleshoot.md"
AUDIT_ROLE_FILE, AUDIT_PAGE_FILE = "org/audit-role.yaml", "docs/organization.md"
DEPLOYER_FILE, BOUNDARY_FILE = "deployer-policy.json", "deployer-boundary-policy.json"
FILES = (ROLE_FILE, AUDIT_ROLE_FILE, DEPLOYER_FILE, BOUNDARY_FILE, PAGE_FILE, AUDIT_PAGE_FILE)
BEGIN, END = "generated: org/policies.py", "end of what is generated"
"""The text of the comments around what is written into a file."""
EXAMPLE_ACCOUNT = "111122223333"
"""The account in the policies of pages."""
EXAMPLES = {
    "AWS::Partition": "aws",
    "RuleName": "",
    "LedgerTableName": "express-path-*",
    "ArtifactBucketPrefix": "example-express-path",
    "EndpointPolicyParameter": "/network/endpoint-policy",
    "NetworkRoleArn": "arn:aws:iam::999988887777:role/express-path/example-network-role",
}
"""What stands for the parameters of the templates in the policies of pages."""

HEAL, APPROVAL, UNDO = (
    "AddS3ExpressGatewayEndpoint",
    "AddS3ExpressGatewayEndpointWithApproval",
    "RemoveS3ExpressGatewayEndpoint",
)
RUNBOOK_ROLES = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/express-path/automation/*"
"""The roles that may write to a ledger."""
RUNS = "arn:${AWS::Partition}:ssm:*:${AWS::AccountId}:automation-execution/*"


def _document(name: str) -> str:
    return f"arn:${{AWS::Partition}}:ssm:*:${{AWS::AccountId}}:document/{name}${{RuleName}}"


def _starting(*names: str) -> Sequence[str]:
    """Return what a start of these runbooks needs: each of them, its versions, and the new run."""
    versions = (
        f"arn:${{AWS::Partition}}:ssm:*:${{AWS::AccountId}}:automation-definition/{name}${{RuleName}}:*"
        for name in names
    )
    return [*map(_document, names), *versions, RUNS]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a policy. why: a comment, for what the statement does not say.

    only: the condition of the template under which the role has the statement, empty for always.
    """

    sid: str
    actions: str | Sequence[str]
    resources: str | Sequence[str]
    condition: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    effect: str = "Allow"
    only: str = ""

    def fields(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Return the statement as IAM has it, with values for what Fn::Sub would fill in."""

        def filled(text: str) -> str:
            return re.sub(r"\$\{([\w:]+)\}", lambda found: values[found[1]], text)

        resources = self.resources
        found: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": self.effect,
            "Action": self.actions,
            "Resource": filled(resources) if isinstance(resources, str) else [filled(text) for text in resources],
        }
        return found | ({"Condition": self.condition} if self.condition else {})


OPERATOR = (
    Statement(
        "ListStacks",
        ["cloudformation:DescribeStacks", "cloudformation:ListStacks"],
        "*",
        why="To name stacks that only look like ours. AWS does not say on which ARN a list of all stacks is authorized.",
    ),
    Statement(
        "ReadStacks",
        "cloudformation:ListStackResources",
        "arn:${AWS::Partition}:cloudformation:*:${AWS::AccountId}:stack/*",
    ),
    Statement(
        "StopAndStart",
        "sts:AssumeRole",
        RUNBOOK_ROLES,
        why="Of the roles with this path, only StopRole trusts the account.",
    ),
    Statement(
        "ListHeals",
        ["dynamodb:GetItem", "dynamodb:Scan"],
        "arn:${AWS::Partition}:dynamodb:*:${AWS::AccountId}:table/${LedgerTableName}",
    ),
    Statement(
        "ListRuns",
        "ssm:DescribeAutomationExecutions",
        "*",
        why="Who started each heal. IAM has no resources for this list.",
    ),
    Statement(
        "CheckRole",
        "iam:GetRole",
        RUNBOOK_ROLES,
        why="Nothing is started before the role of the runbooks and their content were compared.",
    ),
    Statement("CompareRunbooks", "ssm:GetDocument", [_document(name) for name in (HEAL, APPROVAL, UNDO)]),
    Statement(
        "Undo",
        "ssm:StartAutomationExecution",
        _starting(UNDO),
        why="Systems Manager needs a permission on the new run, too.",
    ),
    Statement("FollowRuns", "ssm:GetAutomationExecution", RUNS),
    Statement(
        "SeeWhatWaits",
        [
            "config:DescribeRemediationConfigurations",
            "config:DescribeRemediationExecutionStatus",
            "config:GetComplianceDetailsByConfigRule",
        ],
        [
            "arn:${AWS::Partition}:config:*:${AWS::AccountId}:config-rule/*",
            "arn:${AWS::Partition}:config:*:${AWS::AccountId}:remediation-configuration/*",
        ],
        why="Which heals AWS Config has not started. The IDs of rules and remediations are generated.",
    ),
    Statement(
        "SeeExceptionsAndRouteTables",
        ["config:DescribeRemediationExceptions", "ec2:DescribeRouteTables", "ec2:DescribeSubnets"],
        "*",
        why="These have no resources in IAM.",
    ),
    Statement(
        "StartHeals",
        "config:StartRemediationExecution",
        "*",
        why="IAM has no resources for it, but AWS Config needs the role of its remediation to be passed:\n"
        "https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsconfig.html",
    ),
    Statement(
        "RunWithTheRoleOfTheRunbooks",
        "iam:PassRole",
        RUNBOOK_ROLES,
        {
            "StringEqualsIfExists": {
                "iam:PassedToService": ["config.amazonaws.com", "remediation.config.amazonaws.com", "ssm.amazonaws.com"]
            }
        },
        why="To which service AWS Config passes the role, and whether it says so, is not documented.",
    ),
)
"""What the operator of a roll-out may do in each account: stop, start, list, and undo heals."""

_ARN = "arn:${AWS::Partition}"
AUDITOR = (
    Statement(
        "CheckInAccount",
        [
            "cloudformation:DescribeStackResources",
            "cloudformation:DescribeStacks",
            "cloudformation:ListStackResources",
            "cloudwatch:DescribeAlarms",
            "config:DescribeConfigRules",
            "config:DescribeConfigurationRecorderStatus",
            "config:DescribeConfigurationRecorders",
            "config:DescribeDeliveryChannels",
            "config:ListConfigurationRecorders",
            "ec2:DescribePrefixLists",
            "ec2:DescribeRegions",
            "ec2:DescribeVpcEndpoints",
            "sns:GetSubscriptionAttributes",
            "sns:GetTopicAttributes",
            "sns:ListSubscriptionsByTopic",
            "ssm:ListDocuments",
        ],
        "*",
        why="org check. Before a roll-out, nothing that it looks for has a known name.",
    ),
    Statement(
        "ReadCode",
        ["s3:GetObject", "s3:ListBucket"],
        [f"{_ARN}:s3:::${{ArtifactBucketPrefix}}-*", f"{_ARN}:s3:::${{ArtifactBucketPrefix}}-*/*"],
    ),
    Statement("ReadTrustOfNetworkRole", "iam:GetRole", f"{_ARN}:iam::${{AWS::AccountId}}:role/express-path/*"),
    Statement(
        "ReadEndpointPolicy",
        "ssm:GetParameter",
        f"{_ARN}:ssm:*:${{AWS::AccountId}}:parameter${{EndpointPolicyParameter}}",
        only="HasEndpointPolicy",
    ),
    Statement(
        "ReadFunctions",
        "lambda:GetFunctionConfiguration",
        f"{_ARN}:lambda:*:${{AWS::AccountId}}:function:StackSet-express-path-*",
        why="org check and org status. The environment of other functions may contain secrets.",
    ),
    Statement(
        "ReadSweeps",
        "logs:FilterLogEvents",
        f"{_ARN}:logs:*:${{AWS::AccountId}}:log-group:StackSet-express-path-*",
        why="org status",
    ),
    Statement(
        "ShadowInAccount",
        ["config:GetComplianceDetailsByConfigRule", "config:GetComplianceDetailsByResource"],
        "*",
        why="org shadow, with the permissions of a scan",
    ),
    Statement(
        "ReadNetwork",
        [
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeInstances",
            "ec2:DescribeManagedPrefixLists",
            "ec2:DescribeNatGateways",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribePrefixLists",
            "ec2:DescribeRouteTables",
            "ec2:DescribeSubnets",
            "ec2:DescribeTransitGatewayAttachments",
            "ec2:DescribeTransitGatewayVpcAttachments",
            "ec2:DescribeVpcEndpoints",
            "ec2:DescribeVpcs",
            "ec2:GetManagedPrefixListEntries",
            "ec2:GetTransitGatewayPolicyTableEntries",
            "ec2:SearchTransitGatewayRoutes",
            "network-firewall:DescribeFirewall",
            "network-firewall:DescribeVpcEndpointAssociation",
            "network-firewall:ListFirewalls",
            "network-firewall:ListVpcEndpointAssociations",
            "ram:ListResources",
            "s3express:ListAllMyDirectoryBuckets",
        ],
        "*",
    ),
    Statement(
        "FollowTransitGateways",
        "sts:AssumeRole",
        "${NetworkRoleArn}",
        why="Its trust policy admits roles with the path /express-path/.",
        only="HasNetworkRole",
    ),
)
"""What the auditor of a roll-out may read in each account: org check, org status, and org shadow."""

IN_ONE_ACCOUNT = (
    *OPERATOR,
    Statement("Heal", "ssm:StartAutomationExecution", _starting(HEAL, APPROVAL)),
    Statement(
        "ReadLedgerOfFunction",
        "lambda:GetFunctionConfiguration",
        "arn:${AWS::Partition}:lambda:*:${AWS::AccountId}:function:*express-path-*",
        why="A roll-out's functions have names that begin with StackSet-express-path-.",
    ),
)
"""What a person may do with the stack of one account: the same, heals, and stacks with LedgerTableName."""

OF_OUR_FUNCTIONS = {"ArnLike": {"lambda:FunctionArn": "arn:aws:lambda:*:*:function:express-path-*"}}
"""A condition on event source mappings, whose ARNs do not say of which function they are."""

_ALARMS = f"{_ARN}:cloudwatch:*:${{AWS::AccountId}}:alarm:express-path-*"
DEPLOYER = (
    Statement(
        "Stacks",
        "cloudformation:*",
        [
            f"{_ARN}:cloudformation:*:${{AWS::AccountId}}:stack/express-path/*",
            f"{_ARN}:cloudformation:*:${{AWS::AccountId}}:stack/express-path-*/*",
        ],
    ),
    Statement(
        "Transforms",
        "cloudformation:CreateChangeSet",
        [
            f"{_ARN}:cloudformation:*:aws:transform/Include",
            f"{_ARN}:cloudformation:*:aws:transform/Serverless-2016-10-31",
        ],
    ),
    Statement(
        "SamUploads",
        "s3:*",
        [
            f"{_ARN}:s3:::aws-sam-cli-managed-default-*/express-path/*",
            f"{_ARN}:s3:::aws-sam-cli-managed-default-*/express-path-*/*",
        ],
    ),
    Statement(
        "SamLists",
        "s3:ListBucket",
        f"{_ARN}:s3:::aws-sam-cli-managed-default-*",
        {"StringLike": {"s3:prefix": ["express-path/*", "express-path-*/*"]}},
    ),
    Statement("Functions", "lambda:*", f"{_ARN}:lambda:*:${{AWS::AccountId}}:function:express-path-*"),
    Statement(
        "NewEventSources",
        "lambda:CreateEventSourceMapping",
        "*",
        OF_OUR_FUNCTIONS,
    ),
    Statement(
        "EventSources",
        [
            "lambda:DeleteEventSourceMapping",
            "lambda:GetEventSourceMapping",
            "lambda:UpdateEventSourceMapping",
        ],
        f"{_ARN}:lambda:*:${{AWS::AccountId}}:event-source-mapping:*",
        OF_OUR_FUNCTIONS,
    ),
    Statement(
        "EventSourceTags",
        ["lambda:ListTags", "lambda:TagResource", "lambda:UntagResource"],
        f"{_ARN}:lambda:*:${{AWS::AccountId}}:event-source-mapping:*",
    ),
    Statement("Ledger", "dynamodb:*", f"{_ARN}:dynamodb:*:${{AWS::AccountId}}:table/express-path-*"),
    Statement(
        "Runbooks",
        [
            "ssm:AddTagsToResource",
            "ssm:CreateDocument",
            "ssm:DeleteDocument",
            "ssm:DescribeDocument*",
            "ssm:GetDocument",
            "ssm:ListTagsForResource",
            "ssm:RemoveTagsFromResource",
            "ssm:UpdateDocument*",
        ],
        [f"{_document(name)}*" for name in (HEAL, UNDO)],
        why="No action that runs a document: some need no permission on the instances that run it (ssm:CreateAssociationBatch).",
    ),
    Statement(
        "Events",
        "events:*",
        [
            f"{_ARN}:events:*:${{AWS::AccountId}}:event-bus/express-path-*",
            f"{_ARN}:events:*:${{AWS::AccountId}}:rule/express-path-*",
        ],
    ),
    Statement("BusPolicies", ["events:PutPermission", "events:RemovePermission"], "*"),
    Statement("Queues", "sqs:*", f"{_ARN}:sqs:*:${{AWS::AccountId}}:express-path-*"),
    Statement(
        "NewAlarms",
        "cloudwatch:PutMetricAlarm",
        _ALARMS,
        {"ForAllValues:StringLike": {"cloudwatch:AlarmActions": "arn:*:sns:*"}},
        why="Other actions of an alarm stop and terminate instances of other teams:\n"
        "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/iam-cw-condition-keys-alarm-actions.html",
    ),
    Statement(
        "Alarms",
        [
            "cloudwatch:DeleteAlarms",
            "cloudwatch:DescribeAlarms",
            "cloudwatch:ListTagsForResource",
            "cloudwatch:TagResource",
            "cloudwatch:UntagResource",
        ],
        _ALARMS,
    ),
    Statement("Logs", "logs:*", f"{_ARN}:logs:*:${{AWS::AccountId}}:log-group:express-path-*"),
    Statement(
        "Rule",
        ["config:DeleteConfigRule", "config:PutConfigRule"],
        f"{_ARN}:config:*:${{AWS::AccountId}}:config-rule/*",
    ),
    Statement(
        "Remediation",
        ["config:DeleteRemediationConfiguration", "config:PutRemediationConfigurations"],
        f"{_ARN}:config:*:${{AWS::AccountId}}:remediation-configuration/*",
    ),
    Statement(
        "RemediationRole",
        "iam:CreateServiceLinkedRole",
        f"{_ARN}:iam::${{AWS::AccountId}}:role/aws-service-role/remediation.config.amazonaws.com/*",
    ),
    Statement(
        "Roles",
        [
            "iam:*Role",
            "iam:*RolePolicy",
            "iam:*RolePolicies",
            "iam:ListRoleTags",
            "iam:UpdateRoleDescription",
            "iam:UpdateAssumeRolePolicy",
            "iam:*RolePermissionsBoundary",
        ],
        f"{_ARN}:iam::${{AWS::AccountId}}:role/express-path/*",
    ),
    Statement(
        "Look",
        [
            "cloudformation:DescribeStacks",
            "cloudformation:GetTemplateSummary",
            "cloudformation:ValidateTemplate",
            "cloudwatch:DescribeAlarms",
            "config:Describe*",
            "dynamodb:ListTables",
            "logs:DescribeIndexPolicies",
            "logs:DescribeLogGroups",
            "logs:DescribeResourcePolicies",
        ],
        "*",
    ),
)
"""What SAM and CloudFormation do in the name of the person who deploys both stacks of one account."""


BOUNDARY = (
    Statement(
        "OnlyRolesWithTheBoundary",
        [
            "iam:AttachRolePolicy",
            "iam:CreateRole",
            "iam:PutRolePermissionsBoundary",
            "iam:PutRolePolicy",
            "iam:UpdateAssumeRolePolicy",
        ],
        f"{_ARN}:iam::${{AWS::AccountId}}:role/express-path/*",
        {"StringNotEquals": {"iam:PermissionsBoundary": "PERMISSIONS-BOUNDARY-ARN"}},
        effect="Deny",
    ),
    Statement(
        "KeepTheBoundary",
        "iam:DeleteRolePermissionsBoundary",
        f"{_ARN}:iam::${{AWS::AccountId}}:role/express-path/*",
        effect="Deny",
    ),
)
"""What is denied to who deploys, where a permissions boundary is configured (the stacks' PermissionsBoundaryArn).

https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
"""


def as_policy(statements: Sequence[Statement], account_id: str) -> str:
    """Return statements as a policy in JSON, for a rule with the default name."""
    values = EXAMPLES | {"AWS::AccountId": account_id}
    rows = [statement.fields(values) for statement in statements]
    text = json.dumps({"Version": "2012-10-17", "Statement": rows}, indent=2)
    # A list of one line where it fits.
    return re.sub(r"\[\s+([^\[\]{}]{1,70}?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def as_template(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield the lines of statements in a template of CloudFormation."""
    for statement in statements:
        yield from (f"# {line}" for line in statement.why.splitlines())
        if statement.only:
            yield "- !If"
            yield f"  - {statement.only}"
            yield from (f"  {line}" for line in _in_template(statement))
            yield "  - !Ref AWS::NoValue"
        else:
            yield from _in_template(statement)


def _in_template(statement: Statement) -> Iterator[str]:
    yield f"- Sid: {statement.sid}"
    yield f"  Effect: {statement.effect}"
    yield from _listed("Action", statement.actions, "")
    yield from _listed("Resource", statement.resources, "!Sub ")
    if statement.condition:
        yield f"  Condition: {json.dumps(statement.condition)}"


def _listed(name: str, values: str | Sequence[str], prefix: str) -> Iterator[str]:
    if values == "*":
        yield f'  {name}: "*"'
    elif isinstance(values, str):
        yield f"  {name}: {prefix}{values}"
    else:
        yield f"  {name}:"
        yield from (f"    - {prefix}{value}" for value in values)


def written(name: str, text: str) -> str:
    """Return the text of one of the files, with what is generated in it written again."""
    if name == DEPLOYER_FILE:
        return as_policy(DEPLOYER, "*")
    if name == BOUNDARY_FILE:
        return as_policy(BOUNDARY, "*")
    statements = OPERATOR if name == ROLE_FILE else AUDITOR
    if name in (PAGE_FILE, AUDIT_PAGE_FILE):
        shown = IN_ONE_ACCOUNT if name == PAGE_FILE else AUDITOR
        block = ["", "```json", as_policy(shown, EXAMPLE_ACCOUNT).rstrip("\n"), "```", ""]
        return _between(text, f"<!-- {BEGIN} -->", f"<!-- {END} -->", "", block)
    return _between(text, f"# {BEGIN}", f"# {END}", 14 * " ", list(as_template(statements)))


def _between(text: str, begin: str, end: str, indent: str, lines: Sequence[str]) -> str:
    before, _, rest = text.partition(f"{begin}\n")
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n" + "".join(f"{indent}{line}".rstrip() + "\n" for line in lines) + f"{indent}{end}{after}"


if __name__ == "__main__":
    for file in FILES:
        path = ROOT / file
        path.write_text(written(file, path.read_text(encoding="utf-8")), encoding="utf-8")
