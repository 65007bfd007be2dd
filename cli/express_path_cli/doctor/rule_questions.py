"""Questions about the stack, the rule and its function."""

from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.rule_checks import (
    check_activity,
    check_errors,
    check_function,
    check_queue,
    check_run,
    check_stack,
    check_state,
)
from express_path_cli.installation.answers import Answer, count_text, fail, ok, warn
from express_path_cli.installation.rule import MAX_COUNTED, RuleTimes, count_flagged, count_messages


def stack(context: CheckContext) -> Answer:
    """Return whether the stack is deployed completely."""
    found = context.stack()
    if found:
        return check_stack(found.name, found.status, found.reason)
    return warn(
        f"there is no stack {context.stack_name} here: the rule is found by name, and healing by its remediation",
        "if the stack has another name, use --stack",
    )


def rule(context: CheckContext) -> Answer:
    """Return whether the rule is deployed and active."""
    found = context.rules()
    if not found:
        return fail(f"rule {context.rule_name} is not deployed here", "deploy the stack", "sam deploy --guided")
    return check_state(found[0].name, found[0].state, tuple(other.name for other in found[1:]))


def last_run(context: CheckContext) -> Answer | None:
    """Return when the rule last ran."""
    found = context.rule
    if found is None:
        return None
    times = context.times()
    activity = None if times.invoked or context.function_account else context.activity()
    return check_run(found.name, times, activity, found.period, context.now)


def last_error(context: CheckContext) -> Answer | None:
    """Return whether AWS Config can invoke the function and gets its results."""
    if context.rule is None:
        return None
    times = context.times()
    return None if times == RuleTimes() else check_errors(times)


def function(context: CheckContext) -> Answer | None:
    """Return whether the rule's function can run."""
    if context.rule is None:
        return None
    if context.function_account:
        return ok(f"function {context.function_name} is in account {context.function_account}: check it there")
    return check_function(context.function_name, context.function())


def errors(context: CheckContext) -> Answer | None:
    """Return whether the function's invocations fail."""
    if context.rule is None or context.function_account:
        return None
    found = context.function()
    return check_activity(context.activity(), found.log_group) if found else None


def failed_events(context: CheckContext) -> Answer | None:
    """Return whether events failed all retries."""
    url = context.output("FailedEventsQueueUrl")
    return check_queue(count_messages(context.aws.client("sqs"), url), url) if url else None


def verdicts(context: CheckContext) -> Answer | None:
    """Return how many subnets are flagged."""
    if context.rule is None:
        return None
    flagged = count_flagged(context.aws.config, context.rule.name)
    more = " or more" if flagged >= MAX_COUNTED else ""
    return ok(f"{count_text(flagged, 'subnet')}{more} NON_COMPLIANT")
