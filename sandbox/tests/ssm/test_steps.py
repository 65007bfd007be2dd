"""The order of steps: failures, jumps, retries, timeouts, and ends.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-handling-timeouts.html
"""

import time
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.server import Sandbox
from sandbox.ssm import Automation

Run = Callable[..., dict[str, Any]]
Statuses = Callable[[dict[str, Any]], dict[str, str]]


def call(name: str, **properties: object) -> dict[str, Any]:
    """Return a step that succeeds: it describes the VPCs."""
    return {
        "name": name,
        "action": "aws:executeAwsApi",
        "inputs": {"Service": "ec2", "Api": "DescribeVpcs"},
        **properties,
    }


def fail(name: str, **properties: object) -> dict[str, Any]:
    """Return a step that fails: it describes a VPC that does not exist."""
    inputs = {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["vpc-0"]}
    return {"name": name, "action": "aws:executeAwsApi", "inputs": inputs, **properties}


def test_failure_ends_the_automation_by_default(run: Run, outcome: Statuses) -> None:
    """The default of onFailure is Abort: no further step runs, and the execution fails with the step's message."""
    execution = run(call("first"), fail("second"), call("third"))
    assert execution["AutomationExecutionStatus"] == "Failed"
    assert outcome(execution) == {"first": "Success", "second": "Failed", "third": "Pending"}
    assert execution["FailureMessage"] == execution["StepExecutions"][1]["FailureMessage"]


def test_failure_message_names_the_error_of_the_api(run: Run) -> None:
    """The failure message of an API call has its code, operation, and message.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-troubleshooting.html
    """
    assert run(fail("look"))["FailureMessage"] == (
        "Step fails when it is Execute/Cancelling action. An error occurred (InvalidVpcID.NotFound) when calling the "
        "DescribeVpcs operation: VpcID {'vpc-0'} does not exist.. "
        "Please refer to Automation Service Troubleshooting Guide for more diagnosis details."
    )


def test_continue_goes_on_and_does_not_count(run: Run, outcome: Statuses) -> None:
    """With onFailure: Continue, the next step runs, and isCritical is false unless the step sets it."""
    execution = run(fail("first", onFailure="Continue"), call("second"))
    assert execution["AutomationExecutionStatus"] == "Success"
    assert outcome(execution) == {"first": "Failed", "second": "Success"}
    assert "FailureMessage" not in execution


def test_critical_step_that_continues_fails_the_automation_in_the_end(run: Run, outcome: Statuses) -> None:
    """If a critical step fails, the final status is Failed, even if all other steps ran."""
    execution = run(fail("first", onFailure="Continue", isCritical=True), call("second"))
    assert execution["AutomationExecutionStatus"] == "Failed"
    assert outcome(execution) == {"first": "Failed", "second": "Success"}


@pytest.mark.parametrize(("critical", "status"), [(True, "Failed"), (False, "Success")])
def test_failure_leads_to_the_named_step(run: Run, outcome: Statuses, *, critical: bool, status: str) -> None:
    """onFailure: step:name jumps to a step; isCritical decides whether the execution then fails."""
    execution = run(fail("first", onFailure="step:third", isCritical=critical), call("second"), call("third"))
    assert outcome(execution) == {"first": "Failed", "second": "Pending", "third": "Success"}
    assert execution["AutomationExecutionStatus"] == status


def test_step_with_a_way_out_is_critical_unless_it_says_otherwise(run: Run) -> None:
    """The default of isCritical is true, except with onFailure: Continue."""
    assert run(fail("first", onFailure="step:second"), call("second"))["AutomationExecutionStatus"] == "Failed"


def test_next_step_jumps_after_success_only(run: Run, outcome: Statuses) -> None:
    """After success, the step in nextStep runs next, and the steps between remain Pending."""
    execution = run(call("first", nextStep="third"), call("second", isEnd=True), call("third", onFailure="step:second"))
    assert outcome(execution) == {"first": "Success", "second": "Pending", "third": "Success"}


def test_is_end_ends_after_success_and_after_failure(run: Run, outcome: Statuses) -> None:
    """A step with isEnd is the last one, whether it fails or succeeds."""
    ends = {"Good": call("end", isEnd=True), "Bad": fail("end", isEnd=True, onFailure="Continue")}
    for name, end in ends.items():
        execution = run(call("begin", onFailure="step:last"), end, call("last"), name=name)
        assert outcome(execution)["last"] == "Pending"
        assert execution["AutomationExecutionStatus"] == "Success"


def test_step_is_tried_again_up_to_max_attempts(run: Run, sandbox: Sandbox) -> None:
    """A step fails only after maxAttempts attempts."""
    sandbox.faults.fail("ec2", "DescribeVpcs", "InternalError", 500, times=2)
    execution = run(call("look", maxAttempts=3))
    assert execution["AutomationExecutionStatus"] == "Success"
    assert len(sandbox.calls.of("ec2", "DescribeVpcs")) == 3


def test_step_fails_when_all_attempts_have(run: Run, sandbox: Sandbox) -> None:
    """The first attempt counts toward maxAttempts."""
    sandbox.faults.fail("ec2", "DescribeVpcs", "InternalError", 500)
    assert run(call("look", maxAttempts=3))["AutomationExecutionStatus"] == "Failed"
    assert len(sandbox.calls.of("ec2", "DescribeVpcs")) == 3


def test_reference_to_an_output_that_is_not_there_fails_the_step(run: Run, sandbox: Sandbox) -> None:
    """A step whose inputs cannot be resolved fails before it makes a call."""
    first = call("first", outputs=[{"Name": "Tag", "Selector": "$.Vpcs[0].Tags[0].Value", "Type": "String"}])
    second = {**call("second"), "inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ first.Tag }}"]}}
    execution = run(first, second)
    assert "validating and resolving the step inputs. Failed to resolve input: first.Tag" in execution["FailureMessage"]
    assert len(sandbox.calls.of("ec2", "DescribeVpcs")) == 1


def test_output_that_cannot_have_its_type_fails_the_step(run: Run) -> None:
    """A value that Automation cannot convert to the declared type is a failure."""
    execution = run(call("look", outputs=[{"Name": "Cidr", "Selector": "$.Vpcs[0].CidrBlock", "Type": "Integer"}]))
    assert "Output Cidr" in execution["FailureMessage"]


def test_output_of_a_step_that_did_not_run_says_so(run: Run) -> None:
    """A runbook's outputs have every output; a missing one has a sentence as its value."""
    look = call("look", outputs=[{"Name": "Cidr", "Selector": "$.Vpcs[0].CidrBlock", "Type": "String"}])
    execution = run(fail("first"), look, outputs=["look.Cidr"])
    assert execution["Outputs"] == {
        "look.Cidr": ["No output available yet because the step is not successfully executed"]
    }


def slow(automation: Automation, seconds: float) -> dict[str, Any]:
    """Register a slow function and return a step that gives it one second."""
    automation.functions.register("slow", lambda _: time.sleep(seconds))
    return {
        "name": "ask",
        "action": "aws:invokeLambdaFunction",
        "timeoutSeconds": 1,
        "inputs": {"FunctionName": "slow"},
    }


def test_step_that_takes_too_long_times_out_and_so_does_the_automation(automation: Automation, run: Run) -> None:
    """By default, if an action times out, the execution is TimedOut."""
    execution = run(slow(automation, 1.5))
    assert execution["AutomationExecutionStatus"] == "TimedOut"
    assert execution["StepExecutions"][0]["StepStatus"] == "TimedOut"
    assert "timed out after 1 seconds" in execution["FailureMessage"]


def test_time_out_can_lead_to_another_step_without_harm(automation: Automation, run: Run, outcome: Statuses) -> None:
    """A timeout follows onFailure. With isCritical: false, it does not affect the execution's status."""
    execution = run({**slow(automation, 1.5), "onFailure": "step:next", "isCritical": False}, call("next"))
    assert outcome(execution) == {"ask": "TimedOut", "next": "Success"}
    assert execution["AutomationExecutionStatus"] == "Success"


def test_system_variable_is_that_of_the_execution(automation: Automation, run: Run) -> None:
    """Every runbook can use the id of the execution.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-variables.html
    """
    events: list[dict[str, str]] = []
    automation.functions.register("note", events.append)
    event = {"id": "{{ automation:EXECUTION_ID }}", "text": "run {{automation:EXECUTION_ID}}"}
    inputs = {"FunctionName": "note", "InputPayload": event}
    execution_id = run({"name": "note", "action": "aws:invokeLambdaFunction", "inputs": inputs})[
        "AutomationExecutionId"
    ]
    assert events == [{"id": execution_id, "text": f"run {execution_id}"}]
