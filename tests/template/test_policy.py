"""The functions' roles allow exactly the operations that each function calls, and no change to the network."""

import json
from functools import cache
from typing import Any

import pytest

from tests.support.iam import actions
from tests.support.template import ROOT, expanded

NETWORK_ROLE = "arn:aws:iam::210987654321:role/network-reader"
EVERYTHING = {
    "NetworkRoleArn": NETWORK_ROLE,
    "EndpointPolicyParameter": "/network/policy",
    "ChangeCalendarName": "changes",
    "AlarmTopicArn": "arn:aws:sns:us-east-1:210987654321:alarms",
}
ROLES = {"check_health": "HealthRole", "evaluate": "EvaluateRole", "plan_heal": "PlanRole"}
# Operations whose permission has another name: https://docs.aws.amazon.com/service-authorization/latest/reference/
ACTIONS = {
    "service-quotas:GetAWSDefaultServiceQuota": "servicequotas:GetAWSDefaultServiceQuota",
    "service-quotas:GetServiceQuota": "servicequotas:GetServiceQuota",
    "s3:GetBucketPolicy": "s3express:GetBucketPolicy",
    "s3:ListDirectoryBuckets": "s3express:ListAllMyDirectoryBuckets",
    "s3control:GetAccessPointPolicy": "s3express:GetAccessPointPolicy",
    "s3control:ListAccessPointsForDirectoryBuckets": "s3express:ListAccessPointsForDirectoryBuckets",
}
LAMBDAS_OWN = {"logs:CreateLogStream", "logs:PutLogEvents"}
"""What Lambda itself does in the role's name: it writes the log."""


@cache
def statements(role: str, **parameters: str) -> list[dict[str, Any]]:
    """Return the statements of all policies of a role."""
    policies = expanded(**parameters).properties(role)["Policies"]
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def allowed(role: str, **parameters: str) -> list[str]:
    """Return every action that a role allows."""
    return [action for statement in statements(role, **parameters) for action in actions(statement)]


def resource_of(role: str, action: str, **parameters: str) -> str | list[str]:
    """Return the resource, or the resources, that a role allows an action on."""
    found: list[str | list[str]] = [
        statement["Resource"] for statement in statements(role, **parameters) if action in actions(statement)
    ]
    [resource] = found
    return resource


@pytest.mark.parametrize(("handler", "role"), ROLES.items())
def test_role_allows_the_operations_that_are_called_and_no_other(handler: str, role: str) -> None:
    """The policy has exactly the function's operations in operations.json, by their IAM names."""
    operations = json.loads((ROOT / "functions" / "operations.json").read_bytes())[handler]
    called = {f"{service}:{operation}" for service, names in operations.items() for operation in names}
    found = allowed(role, **EVERYTHING)
    assert len(found) == len(set(found))
    assert set(found) == {ACTIONS.get(operation, operation) for operation in called} | LAMBDAS_OWN


def test_each_role_belongs_to_the_function_of_its_handler() -> None:
    """The mapping from handlers to roles above is that of the template."""
    functions = [
        resource["Properties"]
        for resource in expanded().resources.values()
        if resource["Type"] == "AWS::Lambda::Function"
    ]
    of_handler = {function["Handler"].split(".")[-2]: function["Role"] for function in functions}
    assert of_handler == {handler: f"<{role}.Arn>" for handler, role in ROLES.items()}


@pytest.mark.parametrize(
    ("role", "action", "resource"),
    [
        ("EvaluateRole", "logs:PutLogEvents", "<EvaluateLogGroup.Arn>"),
        ("EvaluateRole", "logs:CreateLogStream", "<EvaluateLogGroup.Arn>"),
        ("EvaluateRole", "events:PutEvents", "<EventBus.Arn>"),
        (
            "EvaluateRole",
            "config:GetComplianceDetailsByConfigRule",
            "arn:aws:config:us-east-1:123456789012:config-rule/*",
        ),
        ("EvaluateRole", "ec2:GetManagedPrefixListEntries", "arn:aws:ec2:us-east-1:*:prefix-list/*"),
        (
            "EvaluateRole",
            "ec2:GetTransitGatewayPolicyTableEntries",
            "arn:aws:ec2:us-east-1:123456789012:transit-gateway-policy-table/*",
        ),
        (
            "EvaluateRole",
            "ec2:SearchTransitGatewayRoutes",
            "arn:aws:ec2:us-east-1:123456789012:transit-gateway-route-table/*",
        ),
        ("EvaluateRole", "sts:AssumeRole", NETWORK_ROLE),
        ("HealthRole", "logs:PutLogEvents", "<EvaluateLogGroup.Arn>"),
        ("HealthRole", "logs:DescribeLogStreams", "<EvaluateLogGroup.Arn>"),
        ("HealthRole", "sts:AssumeRole", NETWORK_ROLE),
        ("HealthRole", "ssm:GetParameter", "arn:aws:ssm:us-east-1:123456789012:parameter/network/policy"),
        ("HealthRole", "dynamodb:DescribeTable", "<LedgerTable.Arn>"),
        ("HealthRole", "iam:GetRole", [f"<{name}Role.Arn>" for name in ("Automation", "Plan", "Stop", "Notice")]),
        *(
            ("HealthRole", f"lambda:GetFunction{what}", ["<EvaluateFunction.Arn>", "<PlanFunction.Arn>"])
            for what in ("Configuration", "Concurrency")
        ),
        ("HealthRole", "lambda:GetPolicy", "<EvaluateFunction.Arn>"),
        ("HealthRole", "cloudwatch:DescribeAlarms", "arn:aws:cloudwatch:us-east-1:123456789012:alarm:*"),
        ("HealthRole", "sns:GetTopicAttributes", "arn:aws:sns:us-east-1:210987654321:alarms"),
        (
            "HealthRole",
            "ssm:DescribeDocument",
            [f"arn:aws:ssm:us-east-1:123456789012:document/<{name}Document>" for name in ("Heal", "Approval", "Undo")],
        ),
        (
            "HealthRole",
            "events:DescribeRule",
            [
                "arn:aws:events:us-east-1:123456789012:rule/<EventBus>/*",
                *(f"<{name}Notice.Arn>" for name in ("HealFailed", "HealUndone", "EndpointLost", "Recorder")),
            ],
        ),
        ("PlanRole", "logs:PutLogEvents", "<PlanLogGroup.Arn>"),
        ("PlanRole", "logs:CreateLogStream", "<PlanLogGroup.Arn>"),
        ("PlanRole", "ec2:DescribeVpcAttribute", "arn:aws:ec2:us-east-1:123456789012:vpc/*"),
        ("PlanRole", "ec2:GetManagedPrefixListEntries", "arn:aws:ec2:us-east-1:*:prefix-list/*"),
        (
            "PlanRole",
            "ec2:GetTransitGatewayPolicyTableEntries",
            "arn:aws:ec2:us-east-1:123456789012:transit-gateway-policy-table/*",
        ),
        (
            "PlanRole",
            "ec2:SearchTransitGatewayRoutes",
            "arn:aws:ec2:us-east-1:123456789012:transit-gateway-route-table/*",
        ),
        (
            "PlanRole",
            "s3express:GetBucketPolicy",
            [f"arn:aws:s3express:us-east-1:123456789012:{kind}/*" for kind in ("accesspoint", "bucket")],
        ),
        ("PlanRole", "ssm:GetParameter", "arn:aws:ssm:us-east-1:123456789012:parameter/network/policy"),
        ("PlanRole", "ssm:GetCalendarState", "arn:aws:ssm:us-east-1:123456789012:document/changes"),
        ("PlanRole", "ssm:GetAutomationExecution", "arn:aws:ssm:us-east-1:123456789012:automation-execution/*"),
        ("PlanRole", "dynamodb:GetItem", "<LedgerTable.Arn>"),
        ("PlanRole", "sts:AssumeRole", NETWORK_ROLE),
    ],
)
def test_actions_are_limited_to_resources_if_iam_can(role: str, action: str, resource: str | list[str]) -> None:
    """Actions that support resources are allowed only on the stack's own, or as narrowly as IAM can."""
    assert resource_of(role, action, **EVERYTHING) == resource


def test_shared_calendar_is_named_by_its_arn() -> None:
    """If the change calendar belongs to another account, the function can read only that document."""
    shared = "arn:aws:ssm:eu-west-1:210987654321:document/changes"
    assert resource_of("PlanRole", "ssm:GetCalendarState", ChangeCalendarName=shared) == shared


@pytest.mark.parametrize("role", ROLES.values())
def test_optional_permissions_need_their_parameter(role: str) -> None:
    """A function can assume a role, or read a parameter or calendar, only if the stack has the parameter for it."""
    assert not {"sts:AssumeRole", "ssm:GetParameter", "ssm:GetCalendarState"} & set(allowed(role))


@pytest.mark.parametrize("role", ROLES.values())
def test_only_lambda_assumes_the_role(role: str) -> None:
    """The role trusts only the Lambda service."""
    [statement] = expanded().properties(role)["AssumeRolePolicyDocument"]["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Principal": {"Service": "lambda.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }


@pytest.mark.parametrize("role", [*ROLES.values(), "AutomationRole", "StopRole"])
def test_inline_policies_fit_the_limit_of_iam(role: str) -> None:
    """All inline policies of a role have at most 10,240 characters in total, without white space.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
    """
    stack = expanded(**EVERYTHING, ApprovalTopicArn=f"arn:aws:sns:us-east-1:123456789012:Automation{'t' * 200}")
    policies = list(stack.properties(role)["Policies"])
    policies += [
        resource["Properties"]
        for resource in stack.resources.values()
        if resource["Type"] == "AWS::IAM::RolePolicy" and resource["Properties"]["RoleName"] == f"<{role}>"
    ]
    text = json.dumps([stack.deployed(policy["PolicyDocument"]) for policy in policies], separators=(",", ":"))
    assert 500 < len(text) < 10240
