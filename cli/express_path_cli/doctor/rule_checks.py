"""Whether the rule runs: its state, when it last ran, what failed, and what waits for somebody to look at it."""

from datetime import datetime, timedelta
from typing import NamedTuple

from express_path_cli.doctor.answers import Answer, fail, length, moment, ok, some, unknown, warn

GRACE = timedelta(hours=2)
"""How late a scheduled run may be before it counts as missed: AWS Config names no hour for it."""
STATES = {"ACTIVE": "is active", "EVALUATING": "is being evaluated on request"}
"""The states in which a rule works (botocore model: config ConfigRuleState)."""


class RuleTimes(NamedTuple):
    """When AWS Config invoked a rule and took results, or failed to; None where it never did, or does not tell."""

    activated: datetime | None = None
    invoked: datetime | None = None
    invocation_failed: datetime | None = None
    evaluated: datetime | None = None
    evaluation_failed: datetime | None = None
    error: str = ""


class Activity(NamedTuple):
    """What CloudWatch counted of a function: invocations and errors of the last day, and its last invocation's hour."""

    invocations: int
    errors: int
    last: datetime | None


class FunctionState(NamedTuple):
    """A function as Lambda has it: its state, its last update's, why either is not good, and where it logs."""

    state: str
    update: str
    reason: str
    log_group: str


def judge_stack(name: str, status: str, reason: str) -> Answer:
    """Whether what the stack describes is there.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
    """
    told = f"stack {name} is {status}{f': {reason}' if reason else ''}"
    if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"):
        return ok(told)
    if status in ("UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"):
        return warn(f"{told}; what was before the last update is in force", "see the stack's events, then update again")
    if status.startswith(("CREATE_IN", "UPDATE_")) and status.endswith("_IN_PROGRESS"):
        return warn(told, "wait, and look again")
    return fail(told, "see the stack's events, fix what they name, then deploy it again")


def judge_state(name: str, state: str, others: tuple[str, ...]) -> Answer:
    """Whether the rule is in force, once."""
    if state not in STATES:
        return fail(f"rule {name} is {state}", "wait until it is gone, then deploy it again")
    if not others:
        return ok(f"rule {name} {STATES[state]}")
    return warn(
        f"rule {name} {STATES[state]}, and so that there are several: {', '.join(others)}",
        "keep one: each evaluates every change, and each evaluation is paid for",
    )


def judge_run(
    name: str, times: RuleTimes, activity: Activity | None, period: timedelta | None, now: datetime
) -> Answer:
    """Whether the rule ran when its schedule wanted it to.

    AWS Config's reference says that it tells no times of custom Lambda rules
    (https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigRuleEvaluationStatus.html); where it does tell
    none, the function's invocations in CloudWatch count.
    """
    again = f"aws configservice start-config-rules-evaluation --config-rule-names {name}"
    last = max(filter(None, (times.invoked, activity.last if activity else None)), default=None)
    if last is None:
        return _never_ran(times, activity, now, again)
    told = f"last ran {length(now - last)} ago ({moment(last)})"
    if period is None:
        return warn(f"{told}; the rule has no schedule, so nothing catches up on what was missed", "deploy it again")
    if now - last > period + GRACE:
        return fail(f"{told}, although it is due every {length(period)}", "start it, and see whether it runs", again)
    return ok(f"{told}; it is due every {length(period)}")


def _never_ran(times: RuleTimes, activity: Activity | None, now: datetime, again: str) -> Answer:
    if times.activated and now - times.activated <= GRACE:
        return warn(
            f"was activated {length(now - times.activated)} ago and has not run yet", "wait, or start it", again
        )
    if activity is None and times.activated is None:
        return unknown("neither AWS Config nor CloudWatch tells when it ran", "look where its function is deployed")
    return fail("has not run in the last week", "start it, and see whether it runs", again)


def judge_errors(times: RuleTimes) -> Answer:
    """Whether AWS Config's last attempt to invoke the rule, and to take its results, succeeded."""
    failed = max(filter(None, (times.invocation_failed, times.evaluation_failed)), default=None)
    worked = max(filter(None, (times.invoked, times.evaluated)), default=None)
    if failed is None:
        return ok("AWS Config tells of no failure")
    told = f"{moment(failed)}: {times.error or 'AWS Config gives no reason'}"
    if worked and worked > failed:
        return ok(f"AWS Config's last failure was on {told}; it has worked since")
    return fail(
        f"AWS Config failed on {told}",
        "deploy the stack again: it lets AWS Config invoke the function, and the function report its results",
    )


def judge_activity(activity: Activity, log_group: str) -> Answer:
    """Whether the function's invocations of the last day succeeded."""
    told = f"{some(activity.invocations, 'invocation')} in the last 24 hours, {activity.errors} failed"
    if not activity.errors:
        return ok(told)
    return warn(
        f"{told}: what they concerned keeps its old verdict until a later run",
        "see why",
        f"aws logs tail {log_group} --since 1d --filter-pattern ERROR",
    )


def judge_function(name: str, found: FunctionState | None) -> Answer:
    """Whether Lambda would run a function; None where there is no such function.

    https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html; a function that was idle for long is Inactive,
    and its first invocation brings it back.
    """
    if found is None:
        return fail(f"function {name} does not exist", "deploy the stack again")
    reason = f": {found.reason}" if found.reason else ""
    if found.state not in ("Active", "Inactive", "Pending"):
        return fail(f"function {name} is {found.state}{reason}", "deploy the stack again")
    if found.update == "Failed":
        return fail(f"the last update of function {name} failed{reason}", "deploy the stack again")
    if found.state != "Active" or found.update == "InProgress":
        return warn(f"function {name} is {found.state}, its last update {found.update}{reason}", "wait, and look again")
    return ok(f"function {name} is active")


def judge_queue(messages: int, url: str) -> Answer:
    """Whether events wait that were given up after retries; the daily sweep has caught up on most of them since."""
    if not messages:
        return ok("no event was given up")
    return warn(
        f"{some(messages, 'event')} given up after retries: verdicts may be those from before, until the next sweep",
        "see what failed, fix it, and then purge the queue",
        f"aws sqs receive-message --queue-url {url}",
    )
