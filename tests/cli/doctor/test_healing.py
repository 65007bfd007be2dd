"""Whether healing can work: modes, runbooks, quotas, calendars, the ledger's protection, and approvers."""

import json
from dataclasses import replace
from typing import Any

import pytest

from express_path.adapters.health import Topic, mode_of
from express_path.adapters.ledger_policy import TABLE_CHANGES, WRITES
from express_path.adapters.remediation import Remediation
from express_path.domain.heal.preflight import ENDPOINT_QUOTA
from express_path_cli.doctor.healing import (
    Calendar,
    LedgerRecord,
    check_approval,
    check_automations,
    check_calendar,
    check_document,
    check_exceptions,
    check_ledger,
    check_mode,
    check_quota,
    check_remediation,
    check_service,
)
from express_path_cli.installation.checks import CheckState
from org.expansion import runbook
from tests.support.heals import APPROVED, HEAL, UNDO

ON, OFF = Remediation(automatic=True, document="heal"), Remediation(automatic=False, document="heal")
ASKING = Remediation(automatic=True, document="ask")


@pytest.mark.parametrize(("found", "mode"), [(None, "OFF"), (OFF, "OFF"), (ON, "ON"), (ASKING, "APPROVAL")])
def test_active_mode(found: Remediation | None, mode: str) -> None:
    """Automatic remediation is mode ON, or APPROVAL with that runbook; otherwise the mode is OFF."""
    assert mode_of(found, "ask") == mode


@pytest.mark.parametrize("found", ["OFF", "ON", "APPROVAL"])
@pytest.mark.parametrize("meant", [None, "OFF", "ON", "APPROVAL"])
def test_mode_is_as_the_stack_says(meant: str | None, found: str) -> None:
    """Each mode is OK, including OFF, unless the stack's parameter has another one."""
    answer = check_mode(meant, found)
    assert answer.state is (CheckState.OK if meant in (None, found) else CheckState.FAIL)
    if meant == found == "OFF":
        assert "healing is off" in answer.finding


@pytest.mark.parametrize(
    ("found", "document", "state"),
    [
        (None, "heal", CheckState.WARN),
        (ON, "heal", CheckState.OK),
        (OFF, "", CheckState.OK),
        (ASKING, "heal", CheckState.FAIL),
    ],
)
def test_remediation_is_the_stacks(found: Remediation | None, document: str, state: CheckState) -> None:
    """The remediation must use the stack's runbook; without a stack, any runbook is OK."""
    assert check_remediation(found, document).state is state


@pytest.mark.parametrize(
    ("status", "state"), [("Active", CheckState.OK), ("Failed", CheckState.FAIL), (None, CheckState.FAIL)]
)
def test_runbooks_are_active(status: str | None, state: CheckState) -> None:
    """A runbook that is missing or not active cannot be started."""
    answer = check_document("heal", status, "")
    assert (answer.state, "heal" in answer.finding) == (state, True)
    assert "does not exist" in answer.finding or status


def test_scripts_of_runbooks_have_a_runtime_that_is_not_retired() -> None:
    """A document that was deployed long ago may have one, in JSON or YAML. The runbooks of this version do not."""
    for content in ('{"inputs":{"Runtime":"python3.8"}}', "inputs:\n  Runtime: python3.8\n  Handler: record"):
        answer = check_document("heal", "Active", content)
        assert (answer.state, "heal has scripts in python3.8" in answer.finding) == (CheckState.FAIL, True)
    for name in (HEAL, UNDO, APPROVED):
        content = json.dumps(runbook(name))
        assert "Runtime" in content
        assert check_document(name, "Active", content).state is CheckState.OK


@pytest.mark.parametrize(
    ("used", "quota", "state"),
    [(0, 20, CheckState.OK), (19, 20, CheckState.OK), (20, 20, CheckState.FAIL), (21, 20, CheckState.FAIL)],
)
def test_quota_of_endpoints(used: int, quota: int, state: CheckState) -> None:
    """At the quota no endpoint can be created."""
    answer = check_quota(used, replace(ENDPOINT_QUOTA, value=quota))
    assert (answer.state, str(used) in answer.finding) == (state, True)


def test_exceptions_automations_and_service() -> None:
    """Exceptions and a full automation queue are warnings; without S3 Express, no heal is possible."""
    assert check_exceptions([], "rule").state is CheckState.OK
    excepted = check_exceptions(["subnet-1"], "rule")
    assert (excepted.state, "1 subnet" in excepted.finding) == (CheckState.WARN, True)
    assert excepted.command == (
        "aws configservice delete-remediation-exceptions --config-rule-name rule "
        "--resource-keys ResourceType=AWS::EC2::Subnet,ResourceId=subnet-1"
    )
    many = check_exceptions([f"subnet-{number:03}" for number in range(101)], "rule")
    assert "subnet-099 and 1 more" in many.finding
    assert many.command.count("ResourceId=") == 100
    assert check_automations(99).state is CheckState.OK
    assert check_automations(100).state is CheckState.WARN
    assert check_service("com.amazonaws.us-east-1.s3express").state is CheckState.OK
    assert check_service(None).state is CheckState.FAIL


@pytest.mark.parametrize(
    ("calendar", "state", "expected_text"),
    [
        (Calendar("OPEN"), CheckState.OK, "is open"),
        (Calendar("OPEN", "2026-12-24T00:00:00Z"), CheckState.OK, "until 2026-12-24"),
        (Calendar("CLOSED", "2027-01-02T00:00:00Z"), CheckState.WARN, "until 2027-01-02"),
        (Calendar("CLOSED"), CheckState.WARN, "is closed"),
        (None, CheckState.FAIL, "does not exist"),
    ],
)
def test_calendar(calendar: Calendar | None, state: CheckState, expected_text: str) -> None:
    """The calendar is open, closed until a given time, or missing."""
    answer = check_calendar("freeze", calendar)
    assert (answer.state, expected_text in answer.finding, "freeze" in answer.finding) == (state, True, True)


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
    "Action": sorted(TABLE_CHANGES),
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
        (replace(SAFE, is_protected=False), CheckState.WARN, "has no deletion protection"),
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
        ([KEPT | {"Action": sorted(TABLE_CHANGES - {"dynamodb:DeleteTable"})}], CheckState.WARN),
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
