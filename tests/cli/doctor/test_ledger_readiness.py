"""Checks of the ledger and the approval settings."""

from dataclasses import replace
from typing import Any

import pytest

from express_path_cli.doctor.healing import POLICY_CHANGES, WRITES, LedgerRecord, Topic, check_approval, check_ledger
from express_path_cli.installation.checks import CheckState

ROLES = "arn:aws:iam::123456789012:role/express-path/automation/*"
STATEMENT: dict[str, Any] = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": sorted(WRITES),
    "Resource": "*",
    "Condition": {"ArnNotLike": {"aws:PrincipalArn": ROLES}},
}
KEPT = {
    **STATEMENT,
    "Action": sorted(POLICY_CHANGES),
    "Condition": {"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::123456789012:role/deploy"}},
}
SAFE = LedgerRecord("ACTIVE", is_protected=True, is_restorable=True, policy={"Statement": [STATEMENT, KEPT]})
TOPIC = "arn:aws:sns:us-east-1:123456789012:AutomationApprovals"


@pytest.mark.parametrize(
    ("found", "state", "expected_text"),
    [
        (SAFE, CheckState.OK, "only the runbooks write"),
        (None, CheckState.FAIL, "does not exist"),
        (replace(SAFE, status="ARCHIVED"), CheckState.FAIL, "is ARCHIVED"),
        (replace(SAFE, policy=None), CheckState.FAIL, "principals other than the runbooks can write"),
        (replace(SAFE, is_protected=False), CheckState.WARN, "can be deleted"),
        (replace(SAFE, is_restorable=False), CheckState.WARN, "point-in-time"),
    ],
)
def test_ledger_check_reports_the_worst_defect(
    found: LedgerRecord | None, state: CheckState, expected_text: str
) -> None:
    """A ledger that anybody can write to fails; one that can be lost warns with the command to protect it."""
    answer = check_ledger("heals", found)
    assert (answer.state, expected_text in answer.finding) == (state, True), answer
    assert ("heals" in answer.command) is (state is CheckState.WARN)


@pytest.mark.parametrize(
    ("change", "safe"),
    [
        ({}, True),
        ({"Principal": {"AWS": "*"}}, True),
        ({"Action": "dynamodb:*"}, True),
        ({"Action": ["dynamodb:[a-o]*", "dynamodb:partiql*", "dynamodb:[p-z]*"]}, False),
        (
            {"Action": ["dynamodb:*Item*", "dynamodb:partiql*", "dynamodb:*table*", "dynamodb:up*", "dynamodb:write*"]},
            True,
        ),
        ({"Effect": "Allow"}, False),
        ({"Action": sorted(WRITES - {"dynamodb:UpdateItem"})}, False),
        ({"Action": None}, False),
        ({"Principal": {"AWS": "arn:aws:iam::123456789012:root"}}, False),
        ({"Condition": {}}, False),
        ({"Condition": {"ArnNotLike": {"aws:PrincipalArn": [ROLES, "*"]}}}, False),
        ({"Condition": {"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::123456789012:role/*"}}}, False),
        ({"Condition": {"ArnNotLike": {"aws:PrincipalArn": ROLES, "aws:SourceArn": "x"}}}, False),
        ({"Condition": {"ArnNotLike": {"aws:PrincipalArn": ROLES}, "Bool": {"aws:SecureTransport": "true"}}}, False),
    ],
)
def test_policy_denies_every_write_to_all_others(change: dict[str, Any], *, safe: bool) -> None:
    """One statement must deny every write to everybody except the runbooks' roles."""
    other = {"Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*"}
    policy = {"Statement": [other, STATEMENT | change, KEPT]}
    assert (check_ledger("heals", replace(SAFE, policy=policy)).state is CheckState.OK) is safe


@pytest.mark.parametrize("policy", [{}, {"Statement": None}, {"Statement": "x"}, {"Statement": {"Effect": "Deny"}}])
def test_policy_of_another_form_protects_nothing(policy: dict[str, Any]) -> None:
    """A policy without a valid statement denies nothing."""
    assert check_ledger("heals", replace(SAFE, policy=policy)).state is CheckState.FAIL


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ([], CheckState.WARN),
        ([KEPT], CheckState.OK),
        ([KEPT | {"Action": ["dynamodb:PutResourcePolicy"]}], CheckState.WARN),
        (
            [KEPT | {"Condition": {"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::123456789012:role/*"}}}],
            CheckState.WARN,
        ),
    ],
)
def test_only_one_role_may_change_the_policy(more: list[dict[str, Any]], state: CheckState) -> None:
    """Without that, doctor names the stack parameter."""
    answer = check_ledger("heals", replace(SAFE, policy={"Statement": [STATEMENT, *more]}))
    assert (answer.state, "DeployingRoleArn" in answer.fix) == (state, state is CheckState.WARN)


def test_policy_of_one_statement_counts() -> None:
    """A single statement need not be in a list."""
    policy = {"Statement": STATEMENT | {"Action": "dynamodb:*"}}
    assert check_ledger("heals", replace(SAFE, policy=policy)).state is CheckState.OK


@pytest.mark.parametrize(
    ("topic", "approvers", "key", "state", "expected_text"),
    [
        (Topic(1), "ann,ben", "", CheckState.OK, "2 approvers"),
        (Topic(1, "alias/aws/sns"), "ann", "", CheckState.OK, "1 approver,"),
        (Topic(1, "1234"), "ann", "arn:aws:kms:us-east-1:123456789012:key/1234", CheckState.OK, "1 approver,"),
        (Topic(1, "1234"), "ann", "", CheckState.FAIL, "encrypted with 1234"),
        (Topic(1), "", "", CheckState.FAIL, "nobody may approve"),
        (None, "ann", "", CheckState.FAIL, "does not exist"),
        (Topic(0), "ann", "", CheckState.WARN, "has no confirmed subscription"),
    ],
)
def test_approval_settings(
    topic: Topic | None, approvers: str, key: str, state: CheckState, expected_text: str
) -> None:
    """There must be approvers and a topic that is writable and has a subscription."""
    answer = check_approval(TOPIC, topic, approvers, key)
    assert (answer.state, expected_text in answer.finding) == (state, True), answer
    assert state is CheckState.OK or answer.fix
