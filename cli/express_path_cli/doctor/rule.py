"""Whether AWS Config records changes, and the rule runs: its stack, its function, its last run, and its errors."""

import shlex
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime, timedelta

from express_path.adapters.aws import Expecting, calling
from express_path.adapters.health import (
    NO_NOTICES,
    NOTICES,
    FunctionState,
    alarm_problem,
    alarm_topic_problem,
    function_problem,
    health_rule_problem,
    is_throttled,
    notice_problem,
    read_function,
    read_topic,
    role_problem,
    subscriptions_problem,
)
from express_path_cli.automation.deployments import in_few_lines
from express_path_cli.doctor.check_context import CheckContext, needed
from express_path_cli.installation.checks import (
    CheckResult,
    CheckState,
    check_deliveries,
    check_frequency,
    check_last_recording,
    check_recording,
    check_types,
    fail,
    judged,
    ok,
    unknown,
    warn,
)
from express_path_cli.installation.recorder import read_bucket, read_deliveries
from express_path_cli.installation.rule import (
    FAILED,
    MAX_COUNTED,
    FunctionActivity,
    RuleTimes,
    Sweep,
    count_flagged,
    last_sweep,
    read_failures,
)
from express_path_cli.terminal.errors import OptionError, one_line
from express_path_cli.terminal.texts import count_text, rough_duration_text, time_text


def recorder(context: CheckContext) -> CheckResult:
    """Return whether there is a recorder, and it is on."""
    status = context.recorder_status()
    if status is None:
        return fail(
            "AWS Config has no recorder in this Region: rules cannot be deployed or invoked",
            "AWS Config, Settings: set it up in this Region",
        )
    return check_recording(status)


def last_recording(context: CheckContext) -> CheckResult:
    """Return whether the recorder works."""
    return check_last_recording(needed(context.recorder_status()))


def recorded_types(context: CheckContext) -> CheckResult:
    """Return whether the four resource types are recorded."""
    return check_types(needed(context.recorder()))


def frequency(context: CheckContext) -> CheckResult | None:
    """Return whether they are recorded continuously or once a day."""
    return check_frequency(needed(context.recorder()))


def delivery(context: CheckContext) -> CheckResult:
    """Return whether recorded items are delivered."""
    needed(context.recorder_status())
    bucket = read_bucket(context.aws.config)
    if bucket is None:
        return fail(
            "AWS Config has no delivery channel, and a recorder cannot start without one",
            "AWS Config, Settings: choose a bucket",
        )
    return check_deliveries(bucket, read_deliveries(context.aws.config))


GRACE = timedelta(hours=2)
"""How late a scheduled run may be before it counts as missed: AWS Config does not document its hour."""
STATES = {"ACTIVE": "is active", "EVALUATING": "is being evaluated on request"}
"""The states in which a rule works (botocore model: config ConfigRuleState)."""


def check_stack(name: str, status: str, reason: str) -> CheckResult:
    """Return whether the stack is deployed completely.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
    """
    finding = f"stack {name} is {status}{f': {reason}' if reason else ''}"
    if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"):
        return ok(finding)
    if status in ("UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"):
        return warn(f"{finding}; the last update was rolled back", "see the stack's events, then update again")
    if status.startswith(("CREATE_IN", "UPDATE_")) and status.endswith("_IN_PROGRESS"):
        return warn(finding, "wait, and check again")
    return fail(finding, "see the stack's events, fix what they name, then deploy it again")


def check_state(name: str, state: str, others: tuple[str, ...]) -> CheckResult:
    """Return whether the rule is active, and deployed only once."""
    if state not in STATES:
        return fail(f"rule {name} is {state}", "wait until it is deleted, then deploy it again")
    if not others:
        return ok(f"rule {name} {STATES[state]}")
    return warn(
        f"rule {name} {STATES[state]}, but it is deployed several times: {', '.join(others)}",
        "keep one: each evaluates every change, and AWS charges for each evaluation",
    )


def check_run(
    name: str, times: RuleTimes, activity: FunctionActivity | None, period: timedelta | None, now: datetime
) -> CheckResult:
    """Return whether the rule ran on its schedule.

    According to its reference, AWS Config does not report the times of custom Lambda rules
    (https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigRuleEvaluationStatus.html). Without them, the
    function's invocations in CloudWatch count.
    """
    start = f"aws configservice start-config-rules-evaluation --config-rule-names {shlex.quote(name)}"
    last = max(filter(None, (times.invoked, activity.last if activity else None)), default=None)
    if last is None:
        return _never_ran(times, activity, now, start)
    finding = f"last ran {rough_duration_text(now - last)} ago ({time_text(last)})"
    if period is None:
        return warn(
            f"{finding}; the rule has no schedule, so missed changes are not evaluated later", "deploy it again"
        )
    if now - last > period + GRACE:
        late = f"{finding}, although it is due every {rough_duration_text(period)}"
        return fail(late, "start it, and check that it runs", start)
    return ok(f"{finding}; it is due every {rough_duration_text(period)}")


def _never_ran(times: RuleTimes, activity: FunctionActivity | None, now: datetime, start: str) -> CheckResult:
    if times.activated and now - times.activated <= GRACE:
        return warn(
            f"was activated {rough_duration_text(now - times.activated)} ago and has not run yet",
            "wait, or start it",
            start,
        )
    if activity is None and times.activated is None:
        return unknown(
            "neither AWS Config nor CloudWatch reports when it ran", "check the account where its function is deployed"
        )
    return fail("has not run in the last week", "start it, and check that it runs", start)


def check_errors(times: RuleTimes) -> CheckResult:
    """Return whether AWS Config's last attempts to invoke the rule and to get its results succeeded."""
    failed = max(filter(None, (times.invocation_failed, times.evaluation_failed)), default=None)
    worked = max(filter(None, (times.invoked, times.evaluated)), default=None)
    if failed is None:
        return ok("AWS Config reports no failure")
    failure = f"{time_text(failed)}: {times.error or 'AWS Config gives no reason'}"
    if worked and worked > failed:
        return ok(f"AWS Config's last failure was on {failure}; it has worked since")
    return fail(
        f"AWS Config failed on {failure}",
        "deploy the stack again: it allows AWS Config to invoke the function, and the function to report its results",
    )


SHOWN = 3
"""How many failures are shown."""


def check_activity(activity: FunctionActivity, failures: Mapping[str, str], log_group: str) -> CheckResult:
    """Return whether the function's invocations of the last day succeeded; failures are the last errors, by resource."""
    finding = f"{count_text(activity.invocations, 'invocation')} in the last 24 hours, {activity.errors:,} failed"
    if not activity.errors and not activity.dropped:
        return ok(finding)
    finding += f", {count_text(activity.dropped, 'event')} dropped: the affected subnets keep their old verdicts until a later run"
    shown = [f"{resource}: {error}" for resource, error in failures.items()][-SHOWN:]
    shown = shown or ["the log has no error, so the function timed out, ran out of memory, or was throttled"]
    return warn(
        f"{finding}. {'; '.join(shown)}",
        "fix the cause, which the log shows, then wait for the next sweep",
        f"aws logs tail {shlex.quote(log_group)} --since 1d --filter-pattern '\"{FAILED}\"'",
    )


def check_function(name: str, found: FunctionState | None, *, throttled: bool = False) -> CheckResult:
    """Return whether Lambda can run a function. `found` is None if it does not exist.

    A function that was idle for long is Inactive until its next invocation
    (https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html).
    """
    problem = function_problem(name, found, throttled=throttled)
    if problem or found is None:
        fix = "remove its reserved concurrency, or set it above 0" if throttled else "deploy the stack again"
        return fail(problem, fix)
    if found.state != "Active" or found.update == "InProgress":
        reason = f": {found.reason}" if found.reason else ""
        return warn(
            f"function {name} is {found.state}, its last update {found.update}{reason}", "wait, and check again"
        )
    return ok(f"function {name} is active")


def stack(context: CheckContext) -> CheckResult:
    """Return whether the stack is deployed completely. If there is no rule either, the question about the rule says so.

    A stack that only looks like one of express-path fails, because `heal`, `undo`, and `start` do not use it. Nor does any
    other question.
    """
    described_stack = context.stack()
    if described_stack:
        answer = check_stack(described_stack.name, described_stack.status, described_stack.reason)
        if answer.state is CheckState.FAIL or context.own_stack():
            return answer
        error = context.stacks().refused.get(described_stack.name)
        if isinstance(error, OptionError):
            return fail(str(error), error.hint)
        if answer.state is CheckState.WARN:  # while it is created, it has no outputs
            return answer
        return fail(
            f"stack {described_stack.name} is not a stack of express-path: it does not have the outputs of one",
            "use --stack with the name of the stack of express-path, or deploy it under another name",
        )
    needed(context.rule)
    return warn(
        f"there is no stack {context.stack_name} here, so the rule is looked up by its name, and the runbook by the rule's remediation",
        "use --stack if the stack has another name",
    )


def decoys(context: CheckContext) -> CheckResult:
    """Return whether other stacks look like one of express-path, and are none."""
    refused = {name: error for name, error in context.stacks().refused.items() if name != context.stack_name}
    lines = [one_line(error) for error in in_few_lines(refused)]
    if not lines:
        return ok("no other stack has the outputs of express-path without its resources")
    return warn("; ".join(lines), "heal, undo, and start do not use these stacks")


def rule(context: CheckContext) -> CheckResult:
    """Return whether the rule is deployed and active."""
    rules = context.rules()
    if not rules:
        nothing = "" if context.stack() else f"nothing is deployed here: there is no stack {context.stack_name}, and "
        return fail(f"{nothing}rule {context.rule_name} is not deployed", "deploy the stack", "sam deploy --guided")
    return check_state(rules[0].name, rules[0].state, tuple(further.name for further in rules[1:]))


def last_run(context: CheckContext) -> CheckResult:
    """Return when the rule last ran."""
    rule, times = needed(context.rule), context.times()
    activity = None if times.invoked or context.function_account else context.activity()
    return check_run(rule.name, times, activity, rule.period, context.now)


def last_error(context: CheckContext) -> CheckResult | None:
    """Return whether AWS Config can invoke the function and gets its results."""
    times = context.times()
    return None if times == RuleTimes() else check_errors(times)


def function(context: CheckContext) -> CheckResult:
    """Return whether the rule's function can run."""
    if context.function_account:
        return ok(f"function {context.function_name} is in account {context.function_account}: check it there")
    return read_and_check_function(context, context.function_name)


def read_and_check_function(context: CheckContext, name: str) -> CheckResult:
    """Return whether a function can run, and has the code of the package, whose key ends in the code's SHA-256.

    https://docs.aws.amazon.com/lambda/latest/api/API_FunctionConfiguration.html. CloudFormation's detection of drift
    does not see code, because Lambda does not say where it came from. `sam deploy` has no such key.
    """
    functions, key = context.aws.functions, context.parameter("CodeKey")
    answer = check_function(name, read_function(functions, name), throttled=is_throttled(functions, name))
    if not key or answer.state is CheckState.FAIL:
        return answer
    with calling("lambda:GetFunctionConfiguration"):
        actual = functions.get_function_configuration(FunctionName=name)["CodeSha256"]
    if f"{b64decode(actual).hex()}.zip" == key.rpartition("/")[2]:
        return answer
    bucket = f"{context.parameter('ArtifactBucketPrefix')}-{context.aws.region}"
    return fail(
        f"function {name} does not run the code of the package {key}: its CodeSha256 is {actual}",
        "find out who changed it, then put the code of the package back",
        f"aws lambda update-function-code --function-name {shlex.quote(name)} --s3-key {shlex.quote(key)} "
        f"--s3-bucket {shlex.quote(bucket)}",
    )


def errors(context: CheckContext) -> CheckResult:
    """Return whether the function's invocations fail."""
    function = needed(context.own_function)
    failures = read_failures(context.aws.client("logs"), function.log_group, context.now)
    return check_activity(context.activity(), failures, function.log_group)


def alarm_topic(context: CheckContext) -> CheckResult:
    """Return whether alarms and notices reach anybody."""
    stack = needed(context.installation())
    arn = stack.alarm_topic
    if not arn:
        return warn(
            "nobody is told anything: the stack has no alarm topic, so its alarms notify nobody, and there are no notices",
            "deploy the stack with AlarmTopicArn",
        )
    fix = "repair the topic, its policy, or its subscriptions"
    problems = [alarm_topic_problem(stack, read_topic(context.aws.sns, arn))]
    if not any(problems) and arn.split(":")[4] == stack.account_id:
        problems.append(subscriptions_problem(context.aws, stack))
    return judged(problems, fix, f"alarms and notices go to {arn}")


def alarm(context: CheckContext) -> CheckResult:
    """Return whether every alarm of the stack tells the alarm topic."""
    stack = needed(context.installation())
    needed(stack.alarm_topic)
    problems = [alarm_problem(context.aws.cloudwatch, stack, logical_id) for logical_id in stack.alarms]
    fix = "deploy the stack again, and enable the actions of its alarms"
    return judged(problems, fix, f"{len(stack.alarms)} alarms on")


def health(context: CheckContext) -> CheckResult:
    """Return whether the function that checks after each sweep can run, and the end of a sweep invokes it."""
    stack = needed(context.installation())
    answer = read_and_check_function(context, stack.name("HealthFunction"))
    if answer.state is CheckState.FAIL or not (problem := health_rule_problem(context.aws, stack)):
        return answer
    return fail(problem, "enable the rule in EventBridge, or deploy the stack again")


def notices(context: CheckContext) -> CheckResult:
    """Return whether the rules of EventBridge send notices, and may."""
    stack, aws = needed(context.installation()), context.aws
    topic = needed(stack.alarm_topic)
    problems = [notice_problem(aws, stack.name(logical_id), topic) for logical_id in NOTICES]
    if stack.notice_role:
        problems.append(role_problem(aws.iam, stack.notice_role, NO_NOTICES))
    fix = "enable the rules in EventBridge, or deploy the stack again"
    return judged(problems, fix, f"{len(NOTICES)} rules of EventBridge on")


def sweep(context: CheckContext) -> CheckResult:
    """Return whether the last sweep in the log is recent, and the check after it found nothing that does not work.

    The check also finds what only the functions can see, such as whether they get the network role.
    """
    function, rule_name, now = needed(context.own_function), needed(context.rule).name, context.now
    found = Sweep(None)
    with Expecting("ResourceNotFoundException"):
        found = last_sweep(context.aws.client("logs"), function.log_group, now)
    start = f"aws configservice start-config-rules-evaluation --config-rule-names {shlex.quote(rule_name)}"
    if found.time is None:
        return warn(
            f"log group {function.log_group} has no sweep of the last three days, or does not exist",
            "if the group does not exist, create it, and wait for the next sweep; to evaluate the subnets now:",
            start,
        )
    last = f"the last sweep, {rough_duration_text(now - found.time)} ago,"
    if found.faults:
        return fail(
            f"the check after {last} found: {'; '.join(found.faults)}",
            "fix these; the check after the next sweep shows whether they are gone",
        )
    if found.is_overdue(now):
        fix = "find out why AWS Config does not invoke the rule (the checks above); to evaluate the subnets now:"
        return fail(f"{last} is too old: there is one each day", fix, start)
    return ok(f"{last} found nothing that does not work")


def verdicts(context: CheckContext) -> CheckResult:
    """Return how many subnets are flagged."""
    flagged = count_flagged(context.aws.config, needed(context.rule).name)
    more = " or more" if flagged >= MAX_COUNTED else ""
    return ok(f"{count_text(flagged, 'subnet')}{more} NON_COMPLIANT")
