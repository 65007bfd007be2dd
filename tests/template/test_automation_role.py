"""The role of the runbooks allows exactly what their steps do. tests/iam/ shows what its conditions refuse."""

import re
from functools import cache
from typing import Any

import pytest

from config_rule_sandbox.dynamodb.operations import POLICY_ACTIONS
from express_path.adapters.ledger_policy import TABLE_CHANGES, WRITES
from org.expansion import runbook
from tests.support.heals import called
from tests.support.iam import actions
from tests.support.template import MAIN, ROOT, expanded

RUNBOOKS = sorted(path.stem for path in (ROOT / "runbooks").glob("*.yaml"))
TOPIC = "arn:aws:sns:us-east-1:123456789012:AutomationApprovals"
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
EVERYTHING = {"ApprovalTopicArn": TOPIC, "ApprovalTopicKeyArn": KEY}
CHINA = {"AWS::Partition": "aws-cn", "AWS::Region": "cn-north-1"}
# The permissions of each action, in addition to the API call that the step may name:
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
STEPS = {
    "aws:approve": {"sns:Publish"},
    "aws:branch": set(),
    "aws:executeAutomation": {"ssm:StartAutomationExecution", "ssm:GetAutomationExecution", "iam:PassRole"},
    "aws:executeAwsApi": set(),
    "aws:executeScript": set(),
    "aws:invokeLambdaFunction": {"lambda:InvokeFunction"},
    "aws:loop": set(),
    "aws:sleep": set(),
    "aws:waitForAwsResourceProperty": set(),
}
# CreateVpcEndpoint's dependent actions, which only read:
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
DEPENDENCIES = {"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"}
# Of a topic that a customer managed key encrypts: https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
TOPIC_KEY_ACTIONS = {"kms:Decrypt", "kms:GenerateDataKey"}
# What a policy of a table may name, changes something, and writes no item of this table. A transaction needs the actions of
# its parts, and a restore makes another table.
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
ADMINISTRATION = {
    *("CreateBackup", "ExportTableToPointInTime", "RestoreTableToPointInTime", "TransactWriteItems"),
    *("DisableKinesisStreamingDestination", "EnableKinesisStreamingDestination", "UpdateKinesisStreamingDestination"),
    *("TagResource", "UntagResource", "UpdateContinuousBackups", "UpdateContributorInsights"),
    "UpdateTableReplicaAutoScaling",
}
READS = re.compile(r"(BatchGet|TransactGet|Get|List|Describe|Query|Scan|PartiQLSelect)\w*")


@cache
def statements(**parameters: str) -> list[dict[str, Any]]:
    """Return the statements of all policies of the role, in a deployed stack."""
    stack = expanded(**parameters)
    policies = list(stack.properties("AutomationRole")["Policies"])
    policies += [
        resource["Properties"] for resource in stack.resources.values() if resource["Type"] == "AWS::IAM::RolePolicy"
    ]
    found: list[dict[str, Any]] = [
        statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]
    ]
    return [stack.deployed(statement) for statement in found]


def statement_named(sid: str, **parameters: str) -> dict[str, Any]:
    """Return the statement with the given Sid."""
    [found] = [statement for statement in statements(**parameters) if statement["Sid"] == sid]
    return found


def steps() -> list[dict[str, Any]]:
    """Return the steps of all runbooks."""
    steps = [step for name in RUNBOOKS for step in runbook(name)["mainSteps"]]
    return [inner for step in steps for inner in (step, *step["inputs"].get("Steps", []))]


def test_role_allows_what_the_steps_do_and_nothing_else() -> None:
    """The allowed actions are exactly those of the runbooks' steps."""
    named = {call for step in steps() for call in called(step)}
    implied = set().union(*(STEPS[step["action"]] for step in steps()))
    at_creation = {"ec2:CreateTags"}
    assert len(named) == 4
    allowed = {
        action
        for statement in statements(**EVERYTHING)
        if statement["Effect"] == "Allow"
        for action in actions(statement)
    }
    assert allowed == named | implied | at_creation | DEPENDENCIES | TOPIC_KEY_ACTIONS


def test_approval_is_allowed_only_with_a_topic() -> None:
    """Without a topic, the role cannot start a runbook or pass a role."""
    services = {action.split(":")[0] for statement in statements() for action in actions(statement)}
    assert services == {"dynamodb", "ec2", "lambda"}


def test_topic_key_is_used_only_through_sns() -> None:
    """The key of an encrypted topic can be used only through SNS, and only if the stack has that parameter."""
    found = statement_named("EncryptRequests", **EVERYTHING)
    assert found["Resource"] == KEY
    assert found["Condition"] == {"StringEquals": {"kms:ViaService": "sns.us-east-1.amazonaws.com"}}
    assert "EncryptRequests" not in {statement["Sid"] for statement in statements(ApprovalTopicArn=TOPIC)}


@pytest.mark.parametrize("template", [MAIN, "org/ledger.yaml"])
def test_ledger_denies_every_write_that_its_policy_can_name(template: str) -> None:
    """DynamoDB refuses a policy with any other action."""
    names = {action.removeprefix("dynamodb:") for action in POLICY_ACTIONS - TABLE_CHANGES} - {"*"}
    writes = {f"dynamodb:{name}" for name in names - ADMINISTRATION if not READS.fullmatch(name)}
    denied = expanded(template).properties("LedgerTable")["ResourcePolicy"]["PolicyDocument"]["Statement"][0]
    assert set(denied["Action"]) == writes == WRITES


def test_only_the_deploying_role_changes_the_table_of_the_ledger() -> None:
    """Whoever can replace the policy, or delete the table and make it again, can write items."""
    role = "arn:aws:iam::123456789012:role/deploy"
    [_, denied] = expanded(DeployingRoleArn=role).properties("LedgerTable")["ResourcePolicy"]["PolicyDocument"][
        "Statement"
    ]
    assert (denied["Effect"], denied["Principal"], denied["Resource"]) == ("Deny", "*", "*")
    assert denied["Condition"] == {"ArnNotLike": {"aws:PrincipalArn": role}}
    assert set(denied["Action"]) == TABLE_CHANGES


@pytest.mark.parametrize("sid", ["CreateOnlyS3ExpressMarkedAsOurs", "DeleteOnlyWhatHealsCreated"])
def test_only_s3_express_is_created_and_deleted_in_china(sid: str) -> None:
    """There, the name of the service begins with cn."""
    found = statement_named(sid, **CHINA)
    assert found["Condition"]["StringEquals"]["ec2:VpceServiceName"] == "cn.com.amazonaws.cn-north-1.s3express"
    assert found["Resource"] == "arn:aws-cn:ec2:cn-north-1:123456789012:vpc-endpoint/*"


def test_only_automation_of_this_account_assumes_the_role() -> None:
    """The role trusts only Systems Manager, and only for executions in this account and Region."""
    [found] = expanded().properties("AutomationRole")["AssumeRolePolicyDocument"]["Statement"]
    assert found == {
        "Effect": "Allow",
        "Principal": {"Service": "ssm.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {
            "StringEquals": {"aws:SourceAccount": "123456789012"},
            "ArnLike": {"aws:SourceArn": "arn:aws:ssm:us-east-1:123456789012:automation-execution/*"},
        },
    }


def test_runbooks_with_scripts_are_yaml() -> None:
    """AWS's page says that a JSON runbook takes no script, and JSON is CloudFormation's default.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeScript.html
    """
    documents = [found for found in expanded().resources.values() if found["Type"] == "AWS::SSM::Document"]
    assert len(documents) == len(RUNBOOKS)
    assert {document["Properties"]["DocumentFormat"] for document in documents} == {"YAML"}
