"""The role that stops all heals can do only that, and everybody whom the account allows can use it."""

from typing import Any

from tests.support.iam import actions
from tests.support.template import expanded


def statements(**parameters: str) -> dict[str, dict[str, Any]]:
    """Return the statements of the role by their Sids."""
    [policy] = expanded(**parameters).properties("StopRole")["Policies"]
    return {statement["Sid"]: statement for statement in policy["PolicyDocument"]["Statement"]}


def test_the_role_allows_what_stop_and_start_call() -> None:
    """It allows these actions and no other."""
    allowed = {action for statement in statements().values() for action in actions(statement)}
    assert {statement["Effect"] for statement in statements().values()} == {"Allow"}
    assert allowed == {
        *("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"),
        *("config:DeleteRemediationExceptions", "config:DescribeRemediationExceptions"),
        *("config:DescribeRemediationExecutionStatus", "ssm:DescribeAutomationExecutions"),
    }


def test_the_role_writes_one_item_of_the_ledger() -> None:
    """The item is STOP, in the stack's own ledger or in the one that the stack adopts."""
    assert statements()["WriteOnlyTheStop"]["Resource"] == "<LedgerTable.Arn>"
    adopted = statements(LedgerTableName="heals")["WriteOnlyTheStop"]
    assert adopted["Resource"] == "arn:aws:dynamodb:us-east-1:123456789012:table/heals"
    assert adopted["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["STOP"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def test_the_account_decides_who_uses_the_role() -> None:
    """The role trusts its account, and no service and no other account. The output names it."""
    stack = expanded()
    [trusted] = stack.properties("StopRole")["AssumeRolePolicyDocument"]["Statement"]
    assert trusted == {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
        "Action": "sts:AssumeRole",
    }
    assert stack.outputs["StopRoleArn"]["Value"] == "<StopRole.Arn>"
