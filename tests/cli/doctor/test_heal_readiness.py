"""Checks of whether heals can work, based on what is deployed."""

from dataclasses import replace

import pytest

from express_path.domain.heal.preflight import ENDPOINT_QUOTA
from express_path_cli.doctor.healing import (
    Calendar,
    check_automations,
    check_calendar,
    check_document,
    check_exceptions,
    check_mode,
    check_quota,
    check_remediation,
    check_service,
    mode_of,
)
from express_path_cli.installation.checks import CheckState
from express_path_cli.installation.rule import Remediation

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
    answer = check_document("heal", status)
    assert (answer.state, "heal" in answer.finding) == (state, True)
    assert "does not exist" in answer.finding or status


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
