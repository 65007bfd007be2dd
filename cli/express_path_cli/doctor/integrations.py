"""Whether the integration with Security Hub works: its rule of EventBridge, queue, function, and alarms.

It is a stack of its own, which is found by the name of its rule of EventBridge (integrations/template.yaml).
"""

import json
from collections.abc import Iterator, Mapping

from express_path.adapters.aws import Expecting, calling
from express_path.adapters.health import (
    alarm_problem,
    event_rule_problem,
    function_problem,
    is_throttled,
    read_event_rule,
    read_function,
    read_installation,
)
from express_path_cli.doctor.check_context import CheckContext, needed
from express_path_cli.installation.checks import CheckResult, judged
from express_path_cli.terminal.texts import count_text

_EVENT_RULE = "express-path-security-hub"
"""The name of its rule of EventBridge on the bus of the rule."""


def security_hub(context: CheckContext) -> CheckResult | None:
    """Return whether the integration gets events and processes them, and its alarms tell if not; None without it."""
    bus = needed(context.output("EventBusName"))
    event_rule = read_event_rule(context.aws.events, _EVENT_RULE, bus)
    stack_name = _stack_name(context, bus)
    if event_rule is None and not stack_name:
        return None  # not deployed
    queue = next((target for target in event_rule.targets if ":sqs:" in target), "") if event_rule else ""
    problems = [
        event_rule_problem(_EVENT_RULE, event_rule, queue or "a queue"),
        *_alarm_problems(context, stack_name),
        *_hub_problems(context),
        *(_queue_problems(context, queue) if queue else ()),
    ]
    fix = "deploy the integrations again; if messages failed, read the log of their function"
    return judged(problems, fix, f"{_EVENT_RULE} gets the events of the rule, and processes them")


def _stack_name(context: CheckContext, bus: str) -> str:
    """Read the name of the stack of the integration from its rule of EventBridge, which CloudFormation knows after it is gone.

    CloudFormation calls a rule on a bus of its own by the name of the bus, |, and its name.
    """
    cloudformation = context.aws.client("cloudformation")
    for physical_id in (f"{bus}|{_EVENT_RULE}", _EVENT_RULE):
        with Expecting("ValidationError"), calling("cloudformation:DescribeStackResources"):  # it is of no stack
            resources = cloudformation.describe_stack_resources(PhysicalResourceId=physical_id)["StackResources"]
            return str(resources[0]["StackName"])
    return ""


def _alarm_problems(context: CheckContext, stack_name: str) -> Iterator[str]:
    """Yield which alarms of the integration do not tell its alarm topic."""
    if not stack_name:
        yield f"rule {_EVENT_RULE} of EventBridge is of no stack, so it is not known which alarms there must be"
        return
    stack = read_installation(context.aws, stack_name)
    for logical_id in stack.alarms:
        yield alarm_problem(context.aws.cloudwatch, stack, logical_id)


def _hub_problems(context: CheckContext) -> Iterator[str]:
    with Expecting("InvalidAccessException"), calling("securityhub:DescribeHub"):
        context.aws.security_hub.describe_hub()
        return
    yield "Security Hub is not enabled in this account and Region"


def _queue_problems(context: CheckContext, queue: str) -> Iterator[str]:
    """Yield what is wrong with a queue, and with the function that takes its messages."""
    attributes = _attributes(context, queue)
    if attributes is None:
        yield f"queue {_name(queue)} does not exist"
        return
    dead_letters = str(json.loads(attributes.get("RedrivePolicy", "{}")).get("deadLetterTargetArn", ""))
    failed = _attributes(context, dead_letters) if dead_letters else None
    if failed is None:
        yield f"queue {_name(queue)} has no queue for failed messages"
    elif number := int(failed["ApproximateNumberOfMessages"]):
        yield f"{count_text(number, 'message')} failed, and {'is' if number == 1 else 'are'} in queue {_name(dead_letters)}"
    with calling("lambda:ListEventSourceMappings"):
        mappings = context.aws.functions.list_event_source_mappings(EventSourceArn=queue)["EventSourceMappings"]
    if not mappings:
        yield f"no function takes the messages of queue {_name(queue)}"
    for mapping in mappings:
        if mapping["State"] in ("Disabled", "Disabling"):
            yield f"the event source mapping {mapping['UUID']} of queue {_name(queue)} is {mapping['State']}"
        function, functions = _name(mapping["FunctionArn"]), context.aws.functions
        throttled = is_throttled(functions, function)
        yield function_problem(function, read_function(functions, function), throttled=throttled)


def _attributes(context: CheckContext, arn: str) -> Mapping[str, str] | None:
    """Read the attributes of a queue of this account, or return None if it does not exist. Raise ApiError."""
    sqs = context.aws.client("sqs")
    with Expecting("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"):
        with calling("sqs:GetQueueUrl"):
            url = sqs.get_queue_url(QueueName=_name(arn))["QueueUrl"]
        with calling("sqs:GetQueueAttributes"):
            names = ["ApproximateNumberOfMessages", "RedrivePolicy"]
            attributes: Mapping[str, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
            return attributes
    return None


def _name(arn: str) -> str:
    return arn.rpartition(":")[2]
