"""Executions of runbooks: the order of steps, failures, jumps, attempts, time-outs, and outputs.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-handling-timeouts.html
"""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation

Run = Callable[..., dict[str, Any]]
Statuses = Callable[[dict[str, Any]], dict[str, str]]
Step = dict[str, Any]
STATUSES = {"+": "Success", "-": "Failed", ".": "Pending"}


def call(name: str, **properties: object) -> Step:
    """Return a step that succeeds: it describes the VPCs."""
    inputs = {"Service": "ec2", "Api": "DescribeVpcs"}
    return {"name": name, "action": "aws:executeAwsApi", "inputs": inputs, **properties}


def fail(name: str, **properties: object) -> Step:
    """Return a step that fails: it describes a VPC that does not exist."""
    return call(name, **properties) | {"inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["vpc-0"]}}


ORDERS: dict[str, tuple[list[Step], str, str]] = {
    "a failure aborts": ([call("a"), fail("b"), call("c")], "+-.", "Failed"),
    "Continue goes on and does not count": ([fail("a", onFailure="Continue"), call("b")], "-+", "Success"),
    "a critical step counts": ([fail("a", onFailure="Continue", isCritical=True), call("b")], "-+", "Failed"),
    "a failure jumps": ([fail("a", onFailure="step:c"), call("b"), call("c")], "-.+", "Failed"),
    "a jump does no harm": ([fail("a", onFailure="step:c", isCritical=False), call("b"), call("c")], "-.+", "Success"),
    "nextStep jumps": (
        [call("a", nextStep="c"), call("b", isEnd=True), call("c", onFailure="step:b")],
        "+.+",
        "Success",
    ),
    "isEnd ends": ([call("a", onFailure="step:c"), call("b", isEnd=True), call("c")], "++.", "Success"),
    "isEnd ends after a failure": (
        [call("a", onFailure="step:c"), fail("b", isEnd=True, onFailure="Continue"), call("c")],
        "+-.",
        "Success",
    ),
}


@pytest.mark.parametrize(("steps", "statuses", "status"), ORDERS.values(), ids=ORDERS)
def test_order_of_steps(run: Run, outcome: Statuses, steps: list[Step], statuses: str, status: str) -> None:
    """onFailure, nextStep, and isEnd decide what runs next; isCritical decides whether a failure counts in the end."""
    execution = run(*steps)
    assert list(outcome(execution).values()) == [STATUSES[each] for each in statuses]
    assert execution["AutomationExecutionStatus"] == status
    failures = [step["FailureMessage"] for step in execution["StepExecutions"] if step["StepStatus"] == "Failed"]
    assert execution.get("FailureMessage") == (failures[0] if status == "Failed" else None)


def test_failure_message_names_the_error_of_the_api(run: Run) -> None:
    """The failure message of an API call has its code, operation, and message.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-troubleshooting.html
    """
    assert run(fail("look"))["FailureMessage"] == (
        "Step fails when it is Execute/Cancelling action. An error occurred (InvalidVpcID.NotFound) when calling the "
        "DescribeVpcs operation: VpcID {'vpc-0'} does not exist.. "
        "Please refer to Automation Service Troubleshooting Guide for more diagnosis details."
    )


@pytest.mark.parametrize(("failures", "status"), [(2, "Success"), (3, "Failed")])
def test_step_is_tried_again_up_to_max_attempts(run: Run, sandbox: Sandbox, failures: int, status: str) -> None:
    """A step fails only after maxAttempts attempts, of which the first is one."""
    sandbox.faults.fail("ec2", "DescribeVpcs", "InternalError", 500, times=failures)
    assert run(call("look", maxAttempts=3))["AutomationExecutionStatus"] == status
    assert len(sandbox.calls.of("ec2", "DescribeVpcs")) == 3


def test_output_that_is_not_there_is_a_sentence(run: Run) -> None:
    """So a step that reads it gets that sentence, whether the selector found nothing or the step failed."""
    token = [{"Name": "Token", "Selector": "$.NextToken", "Type": "String"}]
    first, second = call("first", outputs=token), call("second", outputs=token)
    second["inputs"] = {**second["inputs"], "VpcIds": ["{{ first.Token }}"]}
    execution = run(first, second, outputs=["second.Token"])
    sentence = "No output available yet because the step is not successfully executed"
    assert sentence in execution["StepExecutions"][1]["Inputs"]["VpcIds"]
    assert execution["AutomationExecutionStatus"] == "Failed"
    assert execution["Outputs"] == {"second.Token": [sentence]}


@pytest.mark.parametrize(
    ("properties", "status"), [({}, "TimedOut"), ({"onFailure": "step:next", "isCritical": False}, "Success")]
)
def test_step_that_takes_too_long_times_out(
    automation: Automation, run: Run, outcome: Statuses, properties: dict[str, Any], status: str
) -> None:
    """A time-out follows onFailure like a failure; by default, the execution is TimedOut."""
    automation.knobs.limit_scale = 1
    over = Event()
    automation.functions.register("slow", lambda _: over.wait(60))
    inputs = {"FunctionName": "slow"}
    ask = {"name": "ask", "action": "aws:invokeLambdaFunction", "timeoutSeconds": 1, "inputs": inputs, **properties}
    execution = run(ask, call("next"))
    over.set()
    assert outcome(execution) == {"ask": "TimedOut", "next": "Success" if properties else "Pending"}
    assert execution["AutomationExecutionStatus"] == status
    assert "timed out after 1 seconds" in execution["StepExecutions"][0]["FailureMessage"]
