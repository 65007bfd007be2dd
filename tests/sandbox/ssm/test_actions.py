"""What each action does.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sandbox.lambda_runtime import FunctionError
from sandbox.server import Sandbox
from sandbox.ssm import Automation

Run = Callable[..., dict[str, Any]]
VPC = {"VpcId": {"type": "String"}}


def vpc(sandbox: Sandbox) -> str:
    """Make a VPC and return its id."""
    return str(sandbox.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])


def look(action: str, selector: str, *desired: str, **properties: object) -> dict[str, Any]:
    """Return a step that looks at a property of the VPC `VpcId`."""
    inputs = {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ VpcId }}"]}
    wanted = {"PropertySelector": selector, "DesiredValues": list(desired)}
    return {"name": "look", "action": action, "inputs": inputs | wanted, **properties}


def invoke(**inputs: object) -> dict[str, Any]:
    """Return a step that invokes the function `f`."""
    return {"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f", **inputs}}


@pytest.mark.parametrize(
    ("selector", "desired", "status"),
    [
        ("$.Vpcs[0].CidrBlock", ["10.0.0.0/16"], "Success"),
        ("$.Vpcs[0].CidrBlock", ["10.1.0.0/16", "10.0.0.0/16"], "Success"),
        ("$.Vpcs[0].CidrBlock", ["10.1.0.0/16"], "Failed"),
        ("$.Vpcs[0].IsDefault", ["False"], "Success"),
        ("$.Vpcs[0].IsDefault", ["false"], "Failed"),
        ("$.Vpcs[0].Tags[0].Value", ["a"], "Failed"),
    ],
)
def test_assertion_compares_the_selected_property(
    run: Run, sandbox: Sandbox, selector: str, desired: list[str], status: str
) -> None:
    """aws:assertAwsResourceProperty fails unless the property is a desired value; Booleans are True and False.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-assertAwsResourceProperty.html
    """
    step = look("aws:assertAwsResourceProperty", selector, *desired)
    assert run(step, parameters=VPC, given={"VpcId": vpc(sandbox)})["AutomationExecutionStatus"] == status


def test_failed_assertion_says_what_it_found_and_wanted(run: Run, sandbox: Sandbox) -> None:
    """The failure message has the property's value and the desired ones."""
    step = look("aws:assertAwsResourceProperty", "$.Vpcs[0].IsDefault", "True")
    message = run(step, parameters=VPC, given={"VpcId": vpc(sandbox)})["FailureMessage"]
    assert (
        "Property value 'False' from the API output is not in the desired values. Desired values: ['True']." in message
    )


def test_wait_looks_until_the_property_is_as_desired(run: Run, sandbox: Sandbox) -> None:
    """aws:waitForAwsResourceProperty calls the API again and again until the property has a desired value.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-waitForAwsResourceProperty.html
    """
    sandbox.ec2.knobs.pending_describes = 3
    service = f"com.amazonaws.{sandbox.region}.s3express"
    made = sandbox.client("ec2").create_vpc_endpoint(VpcId=vpc(sandbox), ServiceName=service)["VpcEndpoint"]
    inputs = {
        "Service": "ec2",
        "Api": "DescribeVpcEndpoints",
        "VpcEndpointIds": [made["VpcEndpointId"]],
        "PropertySelector": "$.VpcEndpoints[0].State",
        "DesiredValues": ["available"],
    }
    step = {"name": "wait", "action": "aws:waitForAwsResourceProperty", "inputs": inputs}
    assert made["State"] == "pending"
    assert run(step)["AutomationExecutionStatus"] == "Success"
    assert len(sandbox.calls.of("ec2", "DescribeVpcEndpoints")) == 4


def test_wait_times_out_when_the_property_never_comes(run: Run, sandbox: Sandbox) -> None:
    """The step times out if the property is not as desired within timeoutSeconds; so does the automation."""
    step = look("aws:waitForAwsResourceProperty", "$.Vpcs[0].State", "gone", timeoutSeconds=12)
    execution = run(step, parameters=VPC, given={"VpcId": vpc(sandbox)})
    assert execution["AutomationExecutionStatus"] == "TimedOut"
    assert len(sandbox.calls.of("ec2", "DescribeVpcs")) == 3


def test_throttled_call_fails_the_step(run: Run, sandbox: Sandbox) -> None:
    """How long throttled calls are tried again is a setting of the account; here it is off, as without one.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-throttling-retry.html
    """
    step = look("aws:assertAwsResourceProperty", "$.Vpcs[0].IsDefault", "False")
    given = {"VpcId": vpc(sandbox)}
    sandbox.faults.throttle("ec2", "DescribeVpcs", times=3)
    assert "RequestLimitExceeded" in run(step, parameters=VPC, given=given)["FailureMessage"]


def test_api_inputs_that_only_show_at_run_time_fail_the_step(run: Run) -> None:
    """A value that the SDK does not take fails the step, not the executor."""
    step = {
        "name": "look",
        "action": "aws:executeAwsApi",
        "inputs": {"Service": "s3", "Api": "ListObjectsV2", "Bucket": "{{ Name }}"},
    }
    execution = run(step, parameters={"Name": {"type": "String"}}, given={"Name": "no/bucket"})
    assert "Invalid bucket name" in execution["FailureMessage"]


def test_function_gets_its_event_and_gives_its_answer(run: Run, automation: Automation) -> None:
    """InputPayload is the event, with typed values; the answer is Payload, and outputs select from it.

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


def test_payload_is_a_json_text_that_input_payload_outranks(run: Run, automation: Automation) -> None:
    """Payload is a JSON string; if both are there, InputPayload takes precedence (the same page)."""
    events: list[Any] = []
    automation.functions.register("f", events.append)
    assert run(invoke(Payload='{"run": "{{ automation:EXECUTION_ID }}"}'))["AutomationExecutionStatus"] == "Success"
    assert set(events[0]) == {"run"}
    automation.execute("Runbook")
    assert events[0] != events[1]


@pytest.mark.parametrize(("inputs", "event"), [({}, {}), ({"Payload": '{"a": 1}', "InputPayload": {"b": 2}}, {"b": 2})])
def test_event_of_a_function(run: Run, automation: Automation, inputs: dict[str, Any], event: dict[str, Any]) -> None:
    """Without a payload the event is empty; InputPayload takes precedence over Payload."""
    events: list[Any] = []
    automation.functions.register("f", events.append)
    run(invoke(**inputs))
    assert events == [event]


def test_failed_function_fails_the_step_and_says_why(run: Run, automation: Automation) -> None:
    """A function error fails the step; its type and message are in the failure message."""

    def refuse(event: dict[str, Any]) -> None:
        raise LookupError(f"BLOCKED: OWNED_BY_IAC {event['id']}")

    automation.functions.register("f", refuse)
    message = run(invoke(InputPayload={"id": "vpce-1"}))["FailureMessage"]
    assert "Function Error: Unhandled" in message
    assert '"errorMessage": "BLOCKED: OWNED_BY_IAC vpce-1"' in message
    assert '"errorType": "LookupError"' in message


def test_error_of_the_real_runtime_is_passed_on(run: Run, automation: Automation) -> None:
    """What an artifact raised in the Lambda runtime is shown as the runtime reported it."""

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
        ({"Payload": "{{ Text }}"}, "is not JSON"),
        ({"InputPayload": {"size": "big"}}, "longer than 204800 bytes"),
    ],
)
def test_invocation_that_is_not_possible_fails_the_step(
    run: Run, automation: Automation, inputs: dict[str, Any], reason: str
) -> None:
    """The function has to exist, the payload has to be JSON, the answer has at most 200 KB.

    https://docs.aws.amazon.com/general/latest/gr/ssm.html
    """
    automation.functions.register("f", lambda event: "x" * 300_000 if event.get("size") else None)
    execution = run(invoke(**inputs), parameters={"Text": {"type": "String", "default": "{"}})
    assert reason in execution["FailureMessage"]


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
    """A function's name, its ARN, and both with a qualifier mean the same function.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    automation.functions.register("f", lambda _: "here")
    execution = run(invoke(FunctionName=name, Qualifier="live"))
    assert execution["StepExecutions"][0]["Outputs"]["Payload"] == ['"here"']


def test_sleep_takes_its_time(run: Run, automation: Automation) -> None:
    """aws:sleep waits for a duration, in the sandbox's time.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-sleep.html
    """
    automation.knobs.time_scale = 0.005
    execution = run({"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1M"}})
    assert execution["ExecutionEndTime"] - execution["ExecutionStartTime"] >= timedelta(seconds=0.3)


@pytest.mark.parametrize("given", ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00"])
def test_sleep_until_a_time_that_has_passed_is_over_at_once(run: Run, given: str) -> None:
    """If the timestamp has passed, the action proceeds immediately (the same page)."""
    step = {"name": "nap", "action": "aws:sleep", "inputs": {"Timestamp": "{{ Until }}"}}
    execution = run(step, parameters={"Until": {"type": "String"}}, given={"Until": given})
    assert execution["AutomationExecutionStatus"] == "Success"


def test_sleep_that_cannot_be_read_fails_the_step(run: Run) -> None:
    """A duration of a parameter only shows at run time; more than seven days are not possible."""
    later = (datetime.now(UTC) + timedelta(days=8)).isoformat()
    step = {"name": "nap", "action": "aws:sleep", "inputs": {"Timestamp": "{{ Until }}"}}
    execution = run(step, parameters={"Until": {"type": "String"}}, given={"Until": later})
    assert "more than 604800 seconds" in execution["FailureMessage"]
