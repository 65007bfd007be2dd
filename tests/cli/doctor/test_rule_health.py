"""Checks of whether the rule runs, based on its state, its times, and Lambda's metrics."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path_cli.doctor.rule import (
    GRACE,
    check_activity,
    check_errors,
    check_function,
    check_queue,
    check_run,
    check_stack,
    check_state,
)
from express_path_cli.installation.answers import State
from express_path_cli.installation.rule import Activity, FunctionState, RuleTimes

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def ago(span: timedelta) -> datetime:
    """Return the time this long before now."""
    return NOW - span


@pytest.mark.parametrize(
    ("times", "activity", "period", "state", "expected_text"),
    [
        (RuleTimes(invoked=ago(HOUR)), None, DAY, State.OK, "last ran 60 minutes ago"),
        (RuleTimes(invoked=ago(DAY + GRACE)), None, DAY, State.OK, "26 hours ago"),
        (RuleTimes(invoked=ago(DAY + GRACE + MINUTE)), None, DAY, State.FAIL, "although it is due every 24 hours"),
        (RuleTimes(invoked=ago(4 * HOUR)), None, HOUR, State.FAIL, "due every 60 minutes"),
        (RuleTimes(invoked=ago(3 * DAY)), Activity(1, 0, ago(HOUR)), DAY, State.OK, "60 minutes ago"),
        (RuleTimes(), Activity(5, 0, ago(2 * HOUR)), DAY, State.OK, "2 hours ago"),
        (RuleTimes(), Activity(0, 0, ago(3 * DAY)), DAY, State.FAIL, "3 days ago"),
        (RuleTimes(), Activity(0, 0, None), DAY, State.FAIL, "has not run"),
        (RuleTimes(activated=ago(10 * MINUTE)), None, DAY, State.WARN, "activated 10 minutes ago"),
        (RuleTimes(activated=ago(10 * MINUTE)), Activity(0, 0, None), DAY, State.WARN, "has not run yet"),
        (RuleTimes(activated=ago(2 * DAY)), None, DAY, State.FAIL, "has not run"),
        (RuleTimes(), None, DAY, State.UNKNOWN, "neither"),
        (RuleTimes(invoked=ago(HOUR)), None, None, State.WARN, "no schedule"),
    ],
)
def test_last_run(
    times: RuleTimes, activity: Activity | None, period: timedelta | None, state: State, expected_text: str
) -> None:
    """A run is late after its period plus two hours; a rule that never ran is new, broken, or unknown."""
    answer = check_run("rule", times, activity, period, NOW)
    assert (answer.state, expected_text in answer.finding) == (state, True), answer
    assert bool(answer.fix) is (state is not State.OK)


@given(st.timedeltas(timedelta(0), timedelta(days=30)), st.sampled_from([1, 3, 6, 12, 24]))
def test_a_run_is_late_from_one_moment_on(since: timedelta, hours: int) -> None:
    """For any period, the check changes only once, when the period and the grace time are over."""
    answer = check_run("rule", RuleTimes(invoked=ago(since)), None, hours * HOUR, NOW)
    assert (answer.state is State.FAIL) is (since > hours * HOUR + GRACE)


@pytest.mark.parametrize(
    ("times", "state"),
    [
        (RuleTimes(), State.OK),
        (RuleTimes(invoked=ago(HOUR)), State.OK),
        (RuleTimes(invoked=ago(HOUR), invocation_failed=ago(DAY), error="AccessDenied: no"), State.OK),
        (RuleTimes(invoked=ago(DAY), invocation_failed=ago(HOUR), error="AccessDenied: no"), State.FAIL),
        (RuleTimes(evaluated=ago(DAY), evaluation_failed=ago(HOUR)), State.FAIL),
        (RuleTimes(invocation_failed=ago(HOUR)), State.FAIL),
        (RuleTimes(evaluated=ago(HOUR), evaluation_failed=ago(HOUR)), State.FAIL),
    ],
)
def test_last_error(times: RuleTimes, state: State) -> None:
    """A failure counts until a later success, and its time and reason are reported."""
    answer = check_errors(times)
    assert answer.state is state
    if times.invocation_failed or times.evaluation_failed:
        assert (times.error or "gives no reason") in answer.finding


@pytest.mark.parametrize(
    ("state", "others", "expected"),
    [
        ("ACTIVE", (), State.OK),
        ("EVALUATING", (), State.OK),
        ("DELETING", (), State.FAIL),
        ("DELETING_RESULTS", (), State.FAIL),
        ("ACTIVE", ("OrgConfigRule-rule-1",), State.WARN),
        ("DELETING", ("OrgConfigRule-rule-1",), State.FAIL),
    ],
)
def test_state_of_the_rule(state: str, others: tuple[str, ...], expected: State) -> None:
    """One active rule is OK; several are named, because each has a cost."""
    answer = check_state("rule", state, others)
    assert answer.state is expected
    assert all(other in answer.finding for other in others) or expected is State.FAIL


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, State.FAIL),
        (FunctionState("Active", "Successful", "", ""), State.OK),
        (FunctionState("Active", "InProgress", "", ""), State.WARN),
        (FunctionState("Pending", "InProgress", "being created", ""), State.WARN),
        (FunctionState("Inactive", "Successful", "idle", ""), State.WARN),
        (FunctionState("Active", "Failed", "no such key", ""), State.FAIL),
        (FunctionState("Failed", "Successful", "no such subnet", ""), State.FAIL),
        (FunctionState("Deactivated", "Successful", "", ""), State.FAIL),
    ],
)
def test_state_of_a_function(found: FunctionState | None, expected: State) -> None:
    """A function that cannot run fails, one that soon cannot warns, and Lambda's reason is reported."""
    answer = check_function("evaluate", found)
    assert (answer.state, "evaluate" in answer.finding) == (expected, True)
    assert found is None or found.reason in answer.finding


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("CREATE_COMPLETE", State.OK),
        ("UPDATE_COMPLETE", State.OK),
        ("IMPORT_COMPLETE", State.OK),
        ("UPDATE_ROLLBACK_COMPLETE", State.WARN),
        ("CREATE_IN_PROGRESS", State.WARN),
        ("UPDATE_IN_PROGRESS", State.WARN),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", State.WARN),
        ("DELETE_IN_PROGRESS", State.FAIL),
        ("REVIEW_IN_PROGRESS", State.FAIL),
        ("ROLLBACK_COMPLETE", State.FAIL),
        ("CREATE_FAILED", State.FAIL),
        ("UPDATE_ROLLBACK_FAILED", State.FAIL),
    ],
)
def test_status_of_the_stack(status: str, expected: State) -> None:
    """A stack can be complete, in progress, or broken, with CloudFormation's reason."""
    answer = check_stack("express-path", status, "because")
    assert (answer.state, f"{status}: because" in answer.finding) == (expected, True)


def test_failing_invocations_and_given_up_events_warn() -> None:
    """They are counted, and a command to show details is printed."""
    assert check_activity(Activity(3, 0, NOW), "/logs").state is State.OK
    failing = check_activity(Activity(3, 2, NOW), "/logs")
    assert (failing.state, "2 failed" in failing.finding, "/logs" in failing.command) == (State.WARN, True, True)
    assert check_queue(0, "https://queue").state is State.OK
    waiting = check_queue(2, "https://queue")
    assert (waiting.state, "2 events" in waiting.finding) == (State.WARN, True)
    assert waiting.command.endswith("https://queue")
