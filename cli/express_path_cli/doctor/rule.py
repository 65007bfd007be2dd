"""Is the rule deployed, and does it run."""

from express_path_cli.doctor.checks import Answer, fail, ok, some, warn
from express_path_cli.doctor.function_reader import count_messages
from express_path_cli.doctor.look import Look
from express_path_cli.doctor.rule_checks import (
    RuleTimes,
    judge_activity,
    judge_errors,
    judge_function,
    judge_queue,
    judge_run,
    judge_stack,
    judge_state,
)
from express_path_cli.doctor.rule_reader import MOST_COUNTED, count_flagged


def stack(look: Look) -> Answer:
    """Whether the stack is there and whole."""
    found = look.stack()
    if found:
        return judge_stack(found.name, found.status, found.reason)
    return warn(
        f"there is no stack {look.stack_name} here: the rule is looked for by name, and healing by its remediation",
        "name the stack with --stack, if it has another name",
    )


def rule(look: Look) -> Answer:
    """Whether the rule is there and in force."""
    found = look.rules()
    if not found:
        return fail(
            f"rule {look.rule_name} is not deployed here", "deploy the stack (README.md)", "sam deploy --guided"
        )
    return judge_state(found[0].name, found[0].state, tuple(each.name for each in found[1:]))


def last_run(look: Look) -> Answer | None:
    """When the rule last ran."""
    found = look.rule
    if found is None:
        return None
    times = look.times()
    activity = None if times.invoked or look.function_account else look.activity()
    return judge_run(found.name, times, activity, found.period, look.now)


def last_error(look: Look) -> Answer | None:
    """Whether AWS Config can invoke the function and take its results."""
    if look.rule is None:
        return None
    times = look.times()
    return None if times == RuleTimes() else judge_errors(times)


def function(look: Look) -> Answer | None:
    """Whether the rule's function can run."""
    if look.rule is None:
        return None
    if look.function_account:
        return ok(f"function {look.function_name} is in account {look.function_account}: look at it there")
    return judge_function(look.function_name, look.function())


def errors(look: Look) -> Answer | None:
    """Whether the function's invocations fail."""
    if look.rule is None or look.function_account:
        return None
    found = look.function()
    return judge_activity(look.activity(), found.log_group) if found else None


def failed_events(look: Look) -> Answer | None:
    """Whether events were given up."""
    url = look.output("FailedEventsQueueUrl")
    return judge_queue(count_messages(look.aws.sqs, url), url) if url else None


def verdicts(look: Look) -> Answer | None:
    """How many subnets are flagged."""
    if look.rule is None:
        return None
    flagged = count_flagged(look.aws.config, look.rule.name)
    more = " or more" if flagged >= MOST_COUNTED else ""
    return ok(f"{some(flagged, 'subnet')}{more} NON_COMPLIANT")
