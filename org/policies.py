"""The permissions of people: those of the operator's role, of who deploys, and of who uses the stack of one account.

`python -m org.policies` writes them into org/operator-role.yaml, deployer-policy.json, deployer-boundary-policy.json, and
docs/troubleshoot.md. Resources are
written as for Fn::Sub, and conditions and lists are as IAM has them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROLE_FILE, PAGE_FILE = "org/operator-role.yaml", "docs/troubleshoot.md"
DEPLOYER_FILE, BOUNDARY_FILE = "deployer-policy.json", "deployer-boundary-policy.json"
FILES = (ROLE_FILE, DEPLOYER_FILE, BOUNDARY_FILE, PAGE_FILE)
BEGIN, END = "generated: org/policies.py", "end of what is generated"
"""The text of the comments around what is written into a file."""
EXAMPLE_ACCOUNT = "111122223333"
"""The account in the policy of the page."""

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
    """A statement of a policy. why: a comment, for what the statement does not say."""

    sid: str
    actions: str | Sequence[str]
    resources: str | Sequence[str]
    condition: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    effect: str = "Allow"

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

_ARN = "arn:${AWS::Partition}"
OF_OUR_FUNCTIONS = {"ArnLike": {"lambda:FunctionArn": "arn:aws:lambda:*:*:function:express-path-*"}}
"""A condition on event source mappings, whose ARNs do not say of which function they are."""
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
    Statement("Runbooks", "ssm:*", [f"{_document(name)}*" for name in (HEAL, UNDO)]),
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
    Statement("Alarms", "cloudwatch:*", f"{_ARN}:cloudwatch:*:${{AWS::AccountId}}:alarm:express-path-*"),
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


def as_policy(statements: Sequence[Statement], account_id: str, ledger: str = "express-path-*") -> str:
    """Return statements as a policy in JSON, for a rule with the default name."""
    values = {"AWS::Partition": "aws", "AWS::AccountId": account_id, "RuleName": "", "LedgerTableName": ledger}
    rows = [statement.fields(values) for statement in statements]
    text = json.dumps({"Version": "2012-10-17", "Statement": rows}, indent=2)
    # A list of one line where it fits.
    return re.sub(r"\[\s+([^\[\]{}]{1,70}?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def as_template(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield the lines of statements in a template of CloudFormation."""
    for statement in statements:
        yield from (f"# {line}" for line in statement.why.splitlines())
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
    if name == PAGE_FILE:
        block = ["", "```json", as_policy(IN_ONE_ACCOUNT, EXAMPLE_ACCOUNT).rstrip("\n"), "```", ""]
        return _between(text, f"<!-- {BEGIN} -->", f"<!-- {END} -->", "", block)
    return _between(text, f"# {BEGIN}", f"# {END}", 14 * " ", list(as_template(OPERATOR)))


def _between(text: str, begin: str, end: str, indent: str, lines: Sequence[str]) -> str:
    before, _, rest = text.partition(f"{begin}\n")
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n" + "".join(f"{indent}{line}".rstrip() + "\n" for line in lines) + f"{indent}{end}{after}"


if __name__ == "__main__":
    for file in FILES:
        path = ROOT / file
        path.write_text(written(file, path.read_text(encoding="utf-8")), encoding="utf-8")
