"""Whether anybody would learn of a fault in an account and Region, and whether endpoints of heals let requests through."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from express_path.adapters.aws import Aws
from express_path.adapters.health import (
    Installation,
    alarm_problem,
    alarm_topic_problem,
    endpoints_problem,
    policy_parameter_problem,
    read_function,
    read_installation,
    read_topic,
    subscriptions_problem,
)
from express_path.domain.network.resources import partition
from express_path.domain.verdict.parameters import RULE_NAME
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.installation.rule import find_rules


def topic_in(place: AccountRegion, topic: str) -> str:
    """Return the ARN of a topic for the stack of one account and Region."""
    return topic.replace("{region}", place.region).replace("{account}", place.account_id)


def topic_problems(place: AccountRegion, topic: str) -> Iterator[str]:
    """Yield why nobody gets what the alarms of a place send to a topic. Raise ApiError.

    Only the account of a topic can read it with every role. The checks after sweeps read it with the role of the stack.
    """
    if topic.split(":")[4] != place.account_id:
        return
    stack = replace(_stack(place), alarm_topic=topic)
    problem = alarm_topic_problem(stack, read_topic(place.aws.sns, topic)) or subscriptions_problem(place.aws, stack)
    if problem:
        yield problem


def alarm_problems(place: AccountRegion, topic: str) -> Iterator[str]:
    """Yield which alarms of the stack that is deployed there do not send to the topic; nothing without one. Raise ApiError."""
    stack = replace(_stack(place), alarm_topic=topic)
    for logical_id in stack.alarms:
        if problem := alarm_problem(place.aws.cloudwatch, stack, logical_id):
            yield problem


def _stack(place: AccountRegion) -> Installation:
    """Read the stack that is deployed there. Without one, it has no resources, and what sends messages is not known."""
    if stack_id := _stack_id(place.aws):
        return read_installation(place.aws, stack_id)
    planned = f"arn:{partition(place.region)}:cloudformation:{place.region}:{place.account_id}:stack/express-path/none"
    return Installation(planned, {}, {}, "", "", (), datetime.now(UTC))


def _stack_id(aws: Aws) -> str:
    """Return the ID of the stack whose function the rule invokes; empty without a rule, or if its function is elsewhere."""
    rule = next(iter(find_rules(aws.config, RULE_NAME)), None)
    function = read_function(aws.functions, rule.function_name) if rule and rule.function_name else None
    return function.environment.get("STACK_ID", "") if function else ""


def policy_problems(place: AccountRegion, parameter: str) -> Iterator[str]:
    """Yield which policies of endpoints let nothing through: those of heals, and the one for new endpoints. Raise ApiError."""
    if problem := endpoints_problem(place.aws):
        yield problem
    if parameter and (problem := policy_parameter_problem(place.aws, parameter)):
        yield problem
