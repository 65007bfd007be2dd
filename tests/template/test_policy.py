"""What the function's role allows: exactly the operations that the function calls, and nothing that changes EC2."""

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.template.expand import ROOT, Expanded

NETWORK_ROLE = "arn:aws:iam::210987654321:role/network-reader"
# An operation's permission has its name, save for these: https://docs.aws.amazon.com/service-authorization/latest/reference/
ACTIONS = {"s3:ListDirectoryBuckets": "s3express:ListAllMyDirectoryBuckets"}
# What Lambda itself does in the role's name: it writes the log, and keeps events that fail.
LAMBDAS_OWN = {"logs:CreateLogStream", "logs:PutLogEvents", "sqs:SendMessage"}


@cache
def statements(**parameters: str) -> list[dict[str, Any]]:
    """Return the statements of all policies of the function's role."""
    policies = Expanded(**parameters).of_type("AWS::IAM::Role")["Policies"]
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def actions(statement: dict[str, Any]) -> list[str]:
    """Return a statement's actions, which may be one or a list."""
    return [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def resource_of(action: str, **parameters: str) -> str:
    """Return the resource that an action is allowed on."""
    [resource] = [each["Resource"] for each in statements(**parameters) if action in actions(each)]
    return str(resource)


@cache
def access_levels() -> dict[str, str]:
    """Return the access level of every IAM action, from the copy of AWS's service authorization data in parliament."""
    spec = importlib.util.find_spec("parliament")
    assert spec is not None
    assert spec.origin is not None
    definition = json.loads(Path(spec.origin).with_name("iam_definition.json").read_bytes())
    return {
        f"{service['prefix']}:{privilege['privilege']}": privilege["access_level"]
        for service in definition
        for privilege in service["privileges"]
    }


def test_role_allows_the_operations_that_are_called_and_no_other() -> None:
    """Nothing is missing and nothing to spare: the policy is functions/operations.json in IAM's names."""
    operations = json.loads((ROOT / "functions" / "operations.json").read_bytes())
    called = {f"{service}:{operation}" for service, names in operations.items() for operation in names}
    allowed = [action for statement in statements(NetworkRoleArn=NETWORK_ROLE) for action in actions(statement)]
    assert len(allowed) == len(set(allowed))
    assert set(allowed) == {ACTIONS.get(each, each) for each in called} | LAMBDAS_OWN


def test_role_reads_ec2_and_never_writes_it() -> None:
    """Every EC2 action of the role is of the access levels List or Read."""
    ec2 = [action for statement in statements() for action in actions(statement) if action.startswith("ec2:")]
    assert ec2
    assert {access_levels()[action] for action in ec2} <= {"List", "Read"}


def test_every_statement_allows_and_none_uses_a_wildcard_action() -> None:
    """The role is written out: no NotAction, no wildcard, no Deny to undo a grant too wide."""
    for statement in statements(NetworkRoleArn=NETWORK_ROLE):
        assert statement.keys() == {"Sid", "Effect", "Action", "Resource"}
        assert statement["Effect"] == "Allow"
        assert not [action for action in actions(statement) if "*" in action]


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("logs:PutLogEvents", "<EvaluateLogGroup.Arn>"),
        ("logs:CreateLogStream", "<EvaluateLogGroup.Arn>"),
        ("sqs:SendMessage", "<FailedEventsQueue.Arn>"),
        ("config:GetComplianceDetailsByConfigRule", "arn:aws:config:us-east-1:123456789012:config-rule/*"),
        ("ec2:GetManagedPrefixListEntries", "arn:aws:ec2:us-east-1:*:prefix-list/*"),
        ("sts:AssumeRole", NETWORK_ROLE),
    ],
)
def test_actions_are_bound_to_resources_where_iam_can(action: str, resource: str) -> None:
    """Actions that have resources in IAM are allowed on the stack's own, or as near as IAM comes."""
    assert resource_of(action, NetworkRoleArn=NETWORK_ROLE) == resource


def test_network_role_is_assumed_only_if_given() -> None:
    """Without networkRoleArn the function may assume no role at all."""
    assert "sts:AssumeRole" not in [action for statement in statements() for action in actions(statement)]


def test_only_lambda_assumes_the_role() -> None:
    """The role trusts the Lambda service alone."""
    [statement] = Expanded().of_type("AWS::IAM::Role")["AssumeRolePolicyDocument"]["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Principal": {"Service": "lambda.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }


def test_permissions_boundary_is_set_if_given() -> None:
    """An account that demands a permissions boundary gets it on the role."""
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    assert "PermissionsBoundary" not in Expanded().of_type("AWS::IAM::Role")
    assert Expanded(PermissionsBoundaryArn=boundary).of_type("AWS::IAM::Role")["PermissionsBoundary"] == boundary


def lint(policy: dict[str, Any]) -> list[str]:
    """Return what parliament finds in a policy: unknown actions, resources that do not fit, malformed statements."""
    text = json.dumps(policy).replace("<EvaluateLogGroup.Arn>", "arn:aws:logs:us-east-1:123456789012:log-group:name:*")
    text = text.replace("<FailedEventsQueue.Arn>", "arn:aws:sqs:us-east-1:123456789012:name")
    command = Path(sys.executable).with_name("parliament")
    run = subprocess.run([command, "--string", text, "--json"], capture_output=True, text=True, check=False)
    assert run.returncode == bool(run.stdout.strip()), run.stderr
    return run.stdout.splitlines()


def test_policy_linter_finds_nothing() -> None:
    """Parliament, which knows every action and the resources it takes, has nothing to say about the policies."""
    for policy in Expanded(NetworkRoleArn=NETWORK_ROLE).of_type("AWS::IAM::Role")["Policies"]:
        assert lint(policy["PolicyDocument"]) == []


def test_policy_linter_would_find_a_misspelt_action() -> None:
    """The check above can fail: an action that does not exist is found."""
    statement = {"Effect": "Allow", "Action": "ec2:DescribeSubnet", "Resource": "*"}
    [finding] = lint({"Version": "2012-10-17", "Statement": [statement]})
    assert json.loads(finding)["issue"] == "UNKNOWN_ACTION"
