"""The role of the runbooks allows exactly what their steps do. tests/iam/ shows what its conditions refuse."""

import re
from functools import cache
from typing import Any

import pytest
from botocore.session import get_session

from express_path.adapters.ledger_policy import POLICY_CHANGES, WRITES
from tests.support.iam import actions, actions_of
from tests.support.template import ROOT, expanded, included

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
# Actions of DynamoDB that change something and write no item: the deployer needs those of tables.
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
ADMINISTRATION = {
    *("CreateBackup", "CreateTable", "DeleteBackup", "DeleteTable", "DeleteTableReplica", "ExportTableToPointInTime"),
    *("DisableKinesisStreamingDestination", "EnableKinesisStreamingDestination", "UpdateKinesisStreamingDestination"),
    *("PurchaseReservedCapacityOfferings", "StartAwsBackupJob", "TagResource", "UntagResource", "UpdateAbacStatus"),
    *("UpdateContinuousBackups", "UpdateContributorInsights", "UpdateGlobalTableSettings", "UpdateGlobalTableVersion"),
    *("UpdateTable", "UpdateTableReplicaAutoScaling", "CancelBulkOperation"),
}
# Operations of the API whose permissions have other names: those of their parts or statements.
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
OF_PARTS = {"BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction", "TransactGetItems", "TransactWriteItems"}
READS = re.compile(r"(BatchGet|Get|List|Describe|Query|Scan|Search|ConditionCheck|PartiQLSelect)\w*")


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
    steps = [step for name in RUNBOOKS for step in included(f"runbooks/{name}.yaml")["mainSteps"]]
    return [inner for step in steps for inner in (step, *step["inputs"].get("Steps", []))]


def test_role_allows_what_the_steps_do_and_nothing_else() -> None:
    """The allowed actions are exactly those of the runbooks' steps."""
    named = {f"{step['inputs']['Service']}:{step['inputs']['Api']}" for step in steps() if "Api" in step["inputs"]}
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


def test_every_action_of_dynamodb_is_classified() -> None:
    """An action that AWS adds fails this test until somebody decides whether it writes items, which the table denies."""
    operations = set(get_session().get_service_model("dynamodb").operation_names) - OF_PARTS
    known = {action.removeprefix("dynamodb:") for action in ADMINISTRATION | WRITES | POLICY_CHANGES}
    assert [
        name for name in sorted(operations | actions_of("dynamodb")) if name not in known and not READS.fullmatch(name)
    ] == []
    assert {f"dynamodb:{name}" for name in ADMINISTRATION}.isdisjoint(WRITES)
    [denied] = expanded().properties("LedgerTable")["ResourcePolicy"]["PolicyDocument"]["Statement"]
    assert set(denied["Action"]) == WRITES


def test_only_the_deploying_role_changes_the_policy_of_the_ledger() -> None:
    """Whoever can replace the policy can write items. The deployer can still do all else with the table."""
    role = "arn:aws:iam::123456789012:role/deploy"
    [_, denied] = expanded(DeployingRoleArn=role).properties("LedgerTable")["ResourcePolicy"]["PolicyDocument"][
        "Statement"
    ]
    assert (denied["Effect"], denied["Principal"], denied["Resource"]) == ("Deny", "*", "*")
    assert denied["Condition"] == {"ArnNotLike": {"aws:PrincipalArn": role}}
    assert set(denied["Action"]) == POLICY_CHANGES


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
