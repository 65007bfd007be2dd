"""Executions of runbooks: the order of steps, failures, jumps, attempts, time-outs, and outputs.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-handling-timeouts.html
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from sandbox.server import Sandbox
from sandbox.ssm import Automation

Run = Callable[..., dict[str, Any]]
Statuses = Callable[[dict[str, Any]], dict[str, str]]
Step = dict[str, Any]
STATUSES = {"+": "Success", "-": "Failed", ".": "Pending"}

RUNBOOK = """
schemaVersion: '0.3'
description: Tags a VPC as a function decides.
assumeRole: '{{ AutomationAssumeRole }}'
parameters:
  AutomationAssumeRole: {type: String, description: The role to act as.}
  VpcId: {type: String, description: The VPC., allowedPattern: '^vpc-[0-9a-f]+$'}
  By: {type: StringList, default: [a, b]}
mainSteps:
- name: look
  action: aws:executeAwsApi
  inputs: {Service: ec2, Api: DescribeVpcs, VpcIds: ['{{ VpcId }}']}
  outputs:
  - {Name: Cidr, Selector: '$.Vpcs[0].CidrBlock', Type: String}
- name: ask
  action: aws:invokeLambdaFunction
  inputs:
    FunctionName: decide
    InputPayload: {cidr: '{{ look.Cidr }}', run: 'run {{automation:EXECUTION_ID}}', by: '{{ By }}'}
  outputs:
  - {Name: Decision, Selector: $.Payload.decision, Type: String}
- name: choose
  action: aws:branch
  inputs:
    Choices:
    - {Variable: '{{ ask.Decision }}', StringEquals: TAG, NextStep: tag}
  isEnd: true
- name: tag
  action: aws:executeAwsApi
  inputs:
    Service: ec2
    Api: CreateTags
    Resources: ['{{ VpcId }}']
    Tags: [{Key: cidr, Value: 'of {{ look.Cidr }}'}]
outputs: [look.Cidr, ask.Decision]
"""


def call(name: str, **properties: object) -> Step:
    """Return a step that succeeds: it describes the VPCs."""
    inputs = {"Service": "ec2", "Api": "DescribeVpcs"}
    return {"name": name, "action": "aws:executeAwsApi", "inputs": inputs, **properties}


def fail(name: str, **properties: object) -> Step:
    """Return a step that fails: it describes a VPC that does not exist."""
    return call(name, **properties) | {"inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["vpc-0"]}}


@pytest.mark.parametrize(("cidr", "decision"), [("10.1.0.0/16", "TAG"), ("192.168.0.0/16", "LEAVE")])
def test_runs_from_call_to_function_to_branch_to_change(
    sandbox: Sandbox, automation: Automation, ssm: BaseClient, role: str, cidr: str, decision: str
) -> None:
    """One step's output is the next one's input, and GetAutomationExecution returns every step, value, and default."""
    events: list[dict[str, Any]] = []

    def decide(event: dict[str, Any]) -> dict[str, str]:
        events.append(event)
        return {"decision": decision}

    automation.functions.register("decide", decide)
    ssm.create_document(Name="Tag", Content=RUNBOOK, DocumentFormat="YAML", DocumentType="Automation")
    vpc = sandbox.client("ec2").create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"]
    execution_id = automation.execute("Tag", {"VpcId": vpc, "AutomationAssumeRole": role})["AutomationExecutionId"]
    told = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    assert (told["DocumentName"], told["DocumentVersion"], told["AutomationExecutionStatus"]) == ("Tag", "1", "Success")
    assert told["Parameters"] == {"VpcId": [vpc], "AutomationAssumeRole": [role], "By": ["a", "b"]}
    assert told["Outputs"] == {"look.Cidr": [cidr], "ask.Decision": [decision]}
    assert events == [{"cidr": cidr, "run": f"run {execution_id}", "by": ["a", "b"]}]
    look, tag = told["StepExecutions"][0], told["StepExecutions"][3]
    assert look["Inputs"] == {"Service": '"ec2"', "Api": '"DescribeVpcs"', "VpcIds": f'["{vpc}"]'}
    assert look["Outputs"] == {"Cidr": [cidr]}
    assert look["ExecutionStartTime"] <= look["ExecutionEndTime"]
    made = [made.parameters["Tags"] for made in sandbox.calls.of("ec2", "CreateTags")]
    wanted = {"TAG": ("Success", [[{"Key": "cidr", "Value": f"of {cidr}"}]]), "LEAVE": ("Pending", [])}
    assert (tag["StepStatus"], made) == wanted[decision]


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


def test_reference_to_an_output_that_is_not_there_fails_the_step(run: Run, sandbox: Sandbox) -> None:
    """A step whose inputs cannot be resolved fails before it makes a call, and a runbook's outputs say what is missing."""
    first = call("first", outputs=[{"Name": "Tag", "Selector": "$.Vpcs[0].Tags[0].Value", "Type": "String"}])
    second = {**call("second"), "inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ first.Tag }}"]}}
    third = call("third", outputs=[{"Name": "Cidr", "Selector": "$.Vpcs[0].CidrBlock", "Type": "String"}])
    execution = run(first, second, third, outputs=["third.Cidr"])
    assert "validating and resolving the step inputs. Failed to resolve input: first.Tag" in execution["FailureMessage"]
    assert len(sandbox.calls.of("ec2", "DescribeVpcs")) == 1
    sentence = "No output available yet because the step is not successfully executed"
    assert execution["Outputs"] == {"third.Cidr": [sentence]}


def test_output_that_cannot_have_its_type_fails_the_step(run: Run) -> None:
    """A value that Automation cannot convert to the declared type is a failure."""
    execution = run(call("look", outputs=[{"Name": "Cidr", "Selector": "$.Vpcs[0].CidrBlock", "Type": "Integer"}]))
    assert "Output Cidr" in execution["FailureMessage"]


@pytest.mark.parametrize(
    ("properties", "status"), [({}, "TimedOut"), ({"onFailure": "step:next", "isCritical": False}, "Success")]
)
def test_step_that_takes_too_long_times_out(
    automation: Automation, run: Run, outcome: Statuses, properties: dict[str, Any], status: str
) -> None:
    """A time-out follows onFailure like a failure; by default, the execution is TimedOut."""
    automation.functions.register("slow", lambda _: time.sleep(1.5))
    inputs = {"FunctionName": "slow"}
    ask = {"name": "ask", "action": "aws:invokeLambdaFunction", "timeoutSeconds": 1, "inputs": inputs, **properties}
    execution = run(ask, call("next"))
    assert outcome(execution) == {"ask": "TimedOut", "next": "Success" if properties else "Pending"}
    assert execution["AutomationExecutionStatus"] == status
    assert "timed out after 1 seconds" in execution["StepExecutions"][0]["FailureMessage"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_error_of_the_executor_itself_is_no_success(automation: Automation, run: Run) -> None:
    """If the executor itself fails, the execution fails with a message, and its thread raises."""
    automation.knobs.time_scale = "never"  # type: ignore[assignment]
    execution = run({"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}})
    assert "Internal error of the executor" in execution["FailureMessage"]
    assert execution["AutomationExecutionStatus"] == "Failed"
