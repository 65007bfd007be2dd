"""Checks of whether the rule runs, based on its state, its times, and Lambda's metrics."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.adapters.health import FunctionState
from express_path_cli.doctor.rule import (
    GRACE,
    check_activity,
    check_errors,
    check_function,
    check_run,
    check_stack,
    check_state,
)
from express_path_cli.installation.checks import CheckState
from express_path_cli.installation.rule import FunctionActivity, RuleTimes

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def ago(span: timedelta) -> datetime:
    """Return the time this long before now."""
    return NOW - span


@pytest.mark.parametrize(
    ("times", "activity", "period", "state", "expected_text"),
    [
        (RuleTimes(invoked=ago(HOUR)), None, DAY, CheckState.OK, "last ran 60 minutes ago"),
        (RuleTimes(invoked=ago(DAY + GRACE)), None, DAY, CheckState.OK, "26 hours ago"),
        (RuleTimes(invoked=ago(DAY + GRACE + MINUTE)), None, DAY, CheckState.FAIL, "although it is due every 24 hours"),
        (RuleTimes(invoked=ago(4 * HOUR)), None, HOUR, CheckState.FAIL, "due every 60 minutes"),
        (RuleTimes(invoked=ago(3 * DAY)), FunctionActivity(1, 0, 0, ago(HOUR)), DAY, CheckState.OK, "60 minutes ago"),
        (RuleTimes(), FunctionActivity(5, 0, 0, ago(2 * HOUR)), DAY, CheckState.OK, "2 hours ago"),
        (RuleTimes(), FunctionActivity(0, 0, 0, ago(3 * DAY)), DAY, CheckState.FAIL, "3 days ago"),
        (RuleTimes(), FunctionActivity(0, 0, 0, None), DAY, CheckState.FAIL, "has not run"),
        (RuleTimes(activated=ago(10 * MINUTE)), None, DAY, CheckState.WARN, "activated 10 minutes ago"),
        (
            RuleTimes(activated=ago(10 * MINUTE)),
            FunctionActivity(0, 0, 0, None),
            DAY,
            CheckState.WARN,
            "has not run yet",
        ),
        (RuleTimes(activated=ago(2 * DAY)), None, DAY, CheckState.FAIL, "has not run"),
        (RuleTimes(), None, DAY, CheckState.UNKNOWN, "neither"),
        (RuleTimes(invoked=ago(HOUR)), None, None, CheckState.WARN, "no schedule"),
    ],
)
def test_last_run(
    times: RuleTimes, activity: FunctionActivity | None, period: timedelta | None, state: CheckState, expected_text: str
) -> None:
    """A run is late after its period plus two hours; a rule that never ran is new, broken, or unknown."""
    answer = check_run("rule", times, activity, period, NOW)
    assert (answer.state, expected_text in answer.finding) == (state, True), answer
    assert bool(answer.fix) is (state is not CheckState.OK)


@given(st.timedeltas(timedelta(0), timedelta(days=30)), st.sampled_from([1, 3, 6, 12, 24]))
def test_a_run_is_late_from_one_moment_on(since: timedelta, hours: int) -> None:
    """For any period, the check changes only once, when the period and the grace time are over."""
    answer = check_run("rule", RuleTimes(invoked=ago(since)), None, hours * HOUR, NOW)
    assert (answer.state is CheckState.FAIL) is (since > hours * HOUR + GRACE)


@pytest.mark.parametrize(
    ("times", "state"),
    [
        (RuleTimes(), CheckState.OK),
        (RuleTimes(invoked=ago(HOUR)), CheckState.OK),
        (RuleTimes(invoked=ago(HOUR), invocation_failed=ago(DAY), error="AccessDenied: no"), CheckState.OK),
        (RuleTimes(invoked=ago(DAY), invocation_failed=ago(HOUR), error="AccessDenied: no"), CheckState.FAIL),
        (RuleTimes(evaluated=ago(DAY), evaluation_failed=ago(HOUR)), CheckState.FAIL),
        (RuleTimes(invocation_failed=ago(HOUR)), CheckState.FAIL),
        (RuleTimes(evaluated=ago(HOUR), evaluation_failed=ago(HOUR)), CheckState.FAIL),
    ],
)
def test_last_error(times: RuleTimes, state: CheckState) -> None:
    """A failure counts until a later success, and its time and reason are reported."""
    answer = check_errors(times)
    assert answer.state is state
    if times.invocation_failed or times.evaluation_failed:
        assert (times.error or "gives no reason") in answer.finding


@pytest.mark.parametrize(
    ("state", "others", "expected"),
    [
        ("ACTIVE", (), CheckState.OK),
        ("EVALUATING", (), CheckState.OK),
        ("DELETING", (), CheckState.FAIL),
        ("DELETING_RESULTS", (), CheckState.FAIL),
        ("ACTIVE", ("OrgConfigRule-rule-1",), CheckState.WARN),
        ("DELETING", ("OrgConfigRule-rule-1",), CheckState.FAIL),
    ],
)
def test_state_of_the_rule(state: str, others: tuple[str, ...], expected: CheckState) -> None:
    """One active rule is OK; several are named, because each has a cost."""
    answer = check_state("rule", state, others)
    assert answer.state is expected
    assert all(other in answer.finding for other in others) or expected is CheckState.FAIL


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, CheckState.FAIL),
        (FunctionState("Active", "Successful", "", ""), CheckState.OK),
        (FunctionState("Active", "InProgress", "", ""), CheckState.WARN),
        (FunctionState("Pending", "InProgress", "being created", ""), CheckState.WARN),
        (FunctionState("Inactive", "Successful", "idle", ""), CheckState.WARN),
        (FunctionState("Active", "Failed", "no such key", ""), CheckState.FAIL),
        (FunctionState("Failed", "Successful", "no such subnet", ""), CheckState.FAIL),
        (FunctionState("Deactivated", "Successful", "", ""), CheckState.FAIL),
    ],
)
def test_state_of_a_function(found: FunctionState | None, expected: CheckState) -> None:
    """A function that cannot run fails, one that soon cannot warns, and Lambda's reason is reported."""
    answer = check_function("evaluate", found)
    assert (answer.state, "evaluate" in answer.finding) == (expected, True)
    assert found is None or found.reason in answer.finding


def test_a_throttled_function_fails() -> None:
    """With a reserved concurrency of 0, a function never runs, although its state is Active."""
    answer = check_function("evaluate", FunctionState("Active", "Successful", "", ""), throttled=True)
    assert (answer.state, "concurrency" in answer.fix) == (CheckState.FAIL, True)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("CREATE_COMPLETE", CheckState.OK),
        ("UPDATE_COMPLETE", CheckState.OK),
        ("IMPORT_COMPLETE", CheckState.OK),
        ("UPDATE_ROLLBACK_COMPLETE", CheckState.WARN),
        ("CREATE_IN_PROGRESS", CheckState.WARN),
        ("UPDATE_IN_PROGRESS", CheckState.WARN),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", CheckState.WARN),
        ("DELETE_IN_PROGRESS", CheckState.FAIL),
        ("REVIEW_IN_PROGRESS", CheckState.FAIL),
        ("ROLLBACK_COMPLETE", CheckState.FAIL),
        ("CREATE_FAILED", CheckState.FAIL),
        ("UPDATE_ROLLBACK_FAILED", CheckState.FAIL),
    ],
)
def test_status_of_the_stack(status: str, expected: CheckState) -> None:
    """A stack can be complete, in progress, or broken, with CloudFormation's reason."""
    answer = check_stack("express-path", status, "because")
    assert (answer.state, f"{status}: because" in answer.finding) == (expected, True)


def test_failing_invocations_and_dropped_events_warn() -> None:
    """They are counted, the last errors are named, and a command to show details is printed."""
    assert check_activity(FunctionActivity(3, 0, 0, NOW), {}, "/logs").state is CheckState.OK
    failures = {f"subnet-{number}": "ApiError: denied" for number in range(5)}
    failing = check_activity(FunctionActivity(3, 2, 1, NOW), failures, "/logs")
    assert (failing.state, "/logs" in failing.command) == (CheckState.WARN, True)
    assert "2 failed, 1 event dropped" in failing.finding
    assert "subnet-4: ApiError: denied" in failing.finding
    assert "subnet-1" not in failing.finding
