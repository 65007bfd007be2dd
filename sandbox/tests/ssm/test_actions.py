"""The behavior of each action.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from sandbox.lambda_runtime import FunctionError
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from sandbox.ssm.actions.invoke_lambda import MAXIMUM_SECONDS

Run = Callable[..., dict[str, Any]]


def invoke(**inputs: object) -> dict[str, Any]:
    """Return a step that invokes the function `f`."""
    return {"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f", **inputs}}


def test_throttled_call_fails_the_step(run: Run, sandbox: Sandbox) -> None:
    """The account's setting decides how long throttled calls are retried. It is not set here, so they fail at once.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-throttling-retry.html
    """
    step = {"name": "look", "action": "aws:executeAwsApi", "inputs": {"Service": "ec2", "Api": "DescribeVpcs"}}
    sandbox.faults.throttle("ec2", "DescribeVpcs", times=3)
    assert "RequestLimitExceeded" in run(step)["FailureMessage"]


def test_api_inputs_that_only_show_at_run_time_fail_the_step(run: Run) -> None:
    """A value that the SDK rejects fails the step, not the executor."""
    step = {
        "name": "look",
        "action": "aws:executeAwsApi",
        "inputs": {"Service": "s3", "Api": "ListObjectsV2", "Bucket": "{{ Name }}"},
    }
    execution = run(step, parameters={"Name": {"type": "String"}}, given={"Name": "no/bucket"})
    assert "Invalid bucket name" in execution["FailureMessage"]


def test_function_gets_its_event_and_gives_its_answer(run: Run, automation: Automation) -> None:
    """InputPayload is the event, with typed values. The response is Payload, and outputs can select from it.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html
    """
    automation.functions.register("f", lambda event: {"ids": event["ids"], "count": len(event["ids"]), "deep": event})
    outputs = [
        {"Name": "Ids", "Selector": "$.Payload.ids", "Type": "StringList"},
        {"Name": "Count", "Selector": "$.Payload.count", "Type": "Integer"},
        {"Name": "Deep", "Selector": "$.Payload.deep", "Type": "StringMap"},
        {"Name": "Missing", "Selector": "$.Payload.missing", "Type": "String"},
    ]
    step = {**invoke(InputPayload={"ids": "{{ Ids }}", "n": 5, "on": True}), "outputs": outputs}
    execution = run(step, parameters={"Ids": {"type": "StringList"}}, given={"Ids": ["a", "b"]})
    found = execution["StepExecutions"][0]["Outputs"]
    assert (found["Ids"], found["Count"], found["StatusCode"]) == (["a", "b"], ["2"], ["200"])
    assert json.loads(found["Deep"][0]) == {"ids": ["a", "b"], "n": 5, "on": True}
    assert json.loads(found["Payload"][0])["count"] == 2
    assert "Missing" not in found
    assert "FunctionError" not in found


def test_event_of_a_function_is_empty_without_a_payload(run: Run, automation: Automation) -> None:
    """A function without InputPayload gets an empty event."""
    events: list[Any] = []
    automation.functions.register("f", events.append)
    run(invoke())
    assert events == [{}]


def test_step_waits_for_a_function_as_long_as_its_action_may_take(sandbox: Sandbox) -> None:
    """Clients wait longer than botocore's 60 seconds, because aws:invokeLambdaFunction may take 300.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html
    """
    assert sandbox.client("lambda").meta.config.read_timeout > MAXIMUM_SECONDS


def test_failed_function_fails_the_step_and_says_why(run: Run, automation: Automation) -> None:
    """A function error fails the step; the failure message has its type and message."""

    def refuse(event: dict[str, Any]) -> None:
        raise LookupError(f"BLOCKED: OWNED_BY_IAC {event['id']}")

    automation.functions.register("f", refuse)
    message = run(invoke(InputPayload={"id": "vpce-1"}))["FailureMessage"]
    assert "Function Error: Unhandled" in message
    assert '"errorMessage": "BLOCKED: OWNED_BY_IAC vpce-1"' in message
    assert '"errorType": "LookupError"' in message


def test_error_of_the_real_runtime_is_passed_on(run: Run, automation: Automation) -> None:
    """An exception of an artifact in the Lambda runtime appears as the runtime reported it."""

    def refuse(_event: object) -> None:
        raise FunctionError("BlockedError", "nothing may be changed", ["line 1"])

    automation.functions.register("f", refuse)
    message = run(invoke())["FailureMessage"]
    assert '"errorType": "BlockedError"' in message
    assert '"errorMessage": "nothing may be changed"' in message


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"FunctionName": "g"}, "ResourceNotFoundException"),
        ({"InputPayload": {"size": "big"}}, "longer than 204800 bytes"),
    ],
)
def test_invocation_that_is_not_possible_fails_the_step(
    run: Run, automation: Automation, inputs: dict[str, Any], reason: str
) -> None:
    """The function must exist, and its response has at most 200 KB.

    https://docs.aws.amazon.com/general/latest/gr/ssm.html
    """
    automation.functions.register("f", lambda event: "x" * 300_000 if event.get("size") else None)
    assert reason in run(invoke(**inputs))["FailureMessage"]


@pytest.mark.parametrize(
    "name",
    [
        "f",
        "arn:aws:lambda:us-east-1:123456789012:function:f",
        "arn:aws:lambda:us-east-1:123456789012:function:f:live",
        "123456789012:function:f",
    ],
)
def test_function_is_found_by_name_and_by_arn(run: Run, automation: Automation, name: str) -> None:
    """A function's name, its ARN, and an ARN with a qualifier refer to the same function.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    automation.functions.register("f", lambda _: "here")
    execution = run(invoke(FunctionName=name))
    assert execution["StepExecutions"][0]["Outputs"]["Payload"] == ['"here"']


def test_sleep_takes_its_time(run: Run, automation: Automation) -> None:
    """aws:sleep waits for a duration in the sandbox's time.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-sleep.html
    """
    automation.knobs.time_scale = 0.005
    execution = run({"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1M"}})
    assert execution["ExecutionEndTime"] - execution["ExecutionStartTime"] >= timedelta(seconds=0.3)


def test_sleep_that_cannot_be_read_fails_the_step(run: Run) -> None:
    """A duration from a parameter is checked at run time; it can be at most seven days."""
    step = {"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "{{ Time }}"}}
    execution = run(step, parameters={"Time": {"type": "String"}}, given={"Time": "P8D"})
    assert "more than 604800 seconds" in execution["FailureMessage"]
