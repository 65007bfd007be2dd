"""The answers that Automation may give where AWS does not document one (config_rule_sandbox/answers.py)."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from config_rule_sandbox.answers import (
    LoopFailure,
    LoopSteps,
    MissingOutput,
    RejectedStatus,
    StepInputs,
    UnapprovedStep,
)
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.selectors import NO_OUTPUT

Make = Callable[..., Any]
Step = dict[str, Any]
JUMP = {"onFailure": "step:end"}


def script(name: str, body: str, **properties: object) -> Step:
    """Return a step that runs a script."""
    text = f"def run(events, context):\n    {body}\n"
    inputs = {"Runtime": "python3.11", "Handler": "run", "Script": text}
    return {"name": name, "action": "aws:executeScript", "inputs": inputs, **properties}


def nap(name: str, **properties: object) -> Step:
    """Return a step that does nothing."""
    return {"name": name, "action": "aws:sleep", "inputs": {"Duration": "PT1S"}, **properties}


def failing_loop(*, is_critical: bool = True) -> list[Step]:
    """Return a loop whose first step fails, the step below it, and the step that is named."""
    properties = {**JUMP, "isCritical": is_critical}
    state = [{"Name": "State", "Selector": "$.Payload.state", "Type": "String"}]
    steps = [
        script("failing", "raise ValueError('asked to')", **properties),
        script("working", "return {'state': 'DONE'}", outputs=state, **properties),
    ]
    again = {"Variable": "{{ working.State }}", "StringEquals": "BUSY"}
    inputs = {"MaxIterations": 2, "LoopCondition": again, "Steps": steps}
    return [{"name": "loop", "action": "aws:loop", "inputs": inputs, **properties}, nap("below"), nap("end")]


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        (LoopFailure.GOES_TO_NAMED_STEP, ["end"]),
        (LoopFailure.GOES_TO_NEXT_STEP, ["below", "end"]),
        (LoopFailure.GOES_ON, ["working", "loop", "below", "end"]),
        (LoopFailure.ENDS, []),
    ],
)
@pytest.mark.parametrize("is_critical", [True, False])
def test_step_of_a_loop_fails(
    run: Make, outcome: Make, automation: Automation, answer: LoopFailure, ran: list[str], *, is_critical: bool
) -> None:
    """The answer decides which steps succeed after that, and whether the step is critical says if the execution failed."""
    automation.answers.loop_failure = answer
    execution = run(*failing_loop(is_critical=is_critical))
    assert sorted(name for name, status in outcome(execution).items() if status == "Success") == sorted(ran)
    assert execution["AutomationExecutionStatus"] == ("Failed" if is_critical else "Success")


def test_jump_out_of_a_loop_is_refused(automation: Automation, store: Make, runbook: Make) -> None:
    """Such a document is not created, and the error names the step."""
    automation.answers.loop_failure = LoopFailure.IS_REFUSED
    with pytest.raises(ClientError, match=r"InvalidDocumentContent.* mainSteps.loop: onFailure cannot lead to end"):
        store(runbook(*failing_loop()))


@pytest.mark.parametrize(
    ("answer", "is_got", "is_described"),
    [(LoopSteps.LISTED, True, True), (LoopSteps.CUT, False, True), (LoopSteps.UNLISTED, False, False)],
)
def test_steps_of_a_loop_are_listed(
    run: Make, automation: Automation, ssm: BaseClient, answer: LoopSteps, *, is_got: bool, is_described: bool
) -> None:
    """An execution that lacks them says so."""
    automation.answers.loop_steps = answer
    execution = run(*failing_loop())
    failed = [step["StepName"] for step in execution["StepExecutions"] if step["StepStatus"] == "Failed"]
    assert failed == (["loop", "failing"] if is_got else ["loop"])
    assert execution["StepExecutionsTruncated"] is not is_got
    filters = [{"Key": "StepExecutionStatus", "Values": ["Failed"]}]
    described = ssm.describe_automation_step_executions(
        AutomationExecutionId=execution["AutomationExecutionId"], Filters=filters
    )
    names = [step["StepName"] for step in described["StepExecutions"]]
    assert names == (["loop", "failing"] if is_described else ["loop"])


@pytest.mark.parametrize(
    ("answer", "listed", "seen"),
    [
        (MissingOutput.TEXT, [NO_OUTPUT], NO_OUTPUT),
        (MissingOutput.EMPTY, [""], ""),
        (MissingOutput.ABSENT, None, "{{ look.Missing }}"),
    ],
)
def test_output_has_no_value(
    run: Make, automation: Automation, answer: MissingOutput, listed: list[str] | None, seen: str
) -> None:
    """The step and the execution list the same, and a later step sees it."""
    automation.answers.missing_output = answer
    outputs = [{"Name": "Missing", "Selector": "$.Payload.missing", "Type": "String"}]
    later = script("later", "return {'seen': events['missing']}")
    later["inputs"]["InputPayload"] = {"missing": "{{ look.Missing }}"}
    later["outputs"] = [{"Name": "Seen", "Selector": "$.Payload.seen", "Type": "String"}]
    execution = run(script("look", "return {}", outputs=outputs), later, outputs=["look.Missing", "later.Seen"])
    assert execution["StepExecutions"][0]["Outputs"].get("Missing") == listed
    assert execution["Outputs"].get("look.Missing") == listed
    assert execution["Outputs"]["later.Seen"] == [seen]


@pytest.mark.parametrize(
    ("answer", "message", "approvers"),
    [
        (StepInputs.QUOTED, '"Say "yes"\nplease"', '["ann","bob"]'),
        (StepInputs.PLAIN, 'Say "yes"\nplease', "[ann, bob]"),
        (StepInputs.JSON, '"Say \\"yes\\"\\nplease"', '["ann", "bob"]'),
        (StepInputs.UNRESOLVED, "{{ Text }}", '["ann","bob"]'),
    ],
)
def test_inputs_of_a_step(run: Make, automation: Automation, answer: StepInputs, message: str, approvers: str) -> None:
    """A text with quotation marks and lines, and a list, are shown in the form of the answer."""
    automation.answers.step_inputs = answer
    inputs = {"Approvers": ["ann", "bob"], "Message": "{{ Text }}"}
    asks = {"name": "ask", "action": "aws:approve", "inputs": inputs, "timeoutSeconds": 1, "onFailure": "Abort"}
    parameters = {"Text": {"type": "String", "default": 'Say "yes"\nplease'}}
    shown = run(asks, parameters=parameters)["StepExecutions"][0]["Inputs"]
    assert (shown["Message"], shown["Approvers"]) == (message, approvers)


def ask(sandbox: Sandbox, ssm: BaseClient, store: Make, runbook: Make, automation: Automation) -> dict[str, Any]:
    """Run a step that asks, reject it, and return the execution at its end."""
    automation.knobs.time_scale = 0.01
    asks = {"name": "ask", "action": "aws:approve", "inputs": {"Approvers": ["ann"]}, "isCritical": False, **JUMP}
    store(runbook(asks, nap("below"), nap("end")))
    execution_id = ssm.start_automation_execution(DocumentName="Runbook")["AutomationExecutionId"]
    iam = sandbox.client("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    ann: Any = sandbox.client("ssm", credentials=own)
    deadline = time.monotonic() + 60
    while automation.current_step("Runbook") != "ask" or _status(ssm, execution_id) != "Waiting":
        assert time.monotonic() < deadline
        time.sleep(0.005)
    ann.send_automation_signal(AutomationExecutionId=execution_id, SignalType="Reject", Payload={"Comment": ["-"]})
    return automation.wait(execution_id)


def _status(ssm: BaseClient, execution_id: str) -> str:
    found = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    return str(found["AutomationExecutionStatus"])


@pytest.mark.parametrize(
    ("answer", "status"), [(RejectedStatus.REJECTED, ["Rejected"]), (RejectedStatus.WAITING, ["Waiting"])]
)
def test_status_of_a_rejected_step(
    sandbox: Sandbox,
    ssm: BaseClient,
    store: Make,
    runbook: Make,
    automation: Automation,
    answer: RejectedStatus,
    status: list[str],
) -> None:
    """Its output ApprovalStatus is that of the answer."""
    automation.answers.rejected_status = answer
    execution = ask(sandbox, ssm, store, runbook, automation)
    assert execution["StepExecutions"][0]["Outputs"]["ApprovalStatus"] == status


def test_rejected_step_has_no_outputs(
    sandbox: Sandbox, ssm: BaseClient, store: Make, runbook: Make, automation: Automation
) -> None:
    """Not even who rejected it."""
    automation.answers.rejected_status = RejectedStatus.ABSENT
    execution = ask(sandbox, ssm, store, runbook, automation)
    assert execution["StepExecutions"][0]["Outputs"] == {}


@pytest.mark.parametrize(
    ("answer", "statuses", "status"),
    [
        (UnapprovedStep.GOES_TO_NAMED_STEP, ("Failed", "Pending", "Success"), "Success"),
        (UnapprovedStep.ENDS, ("Failed", "Pending", "Pending"), "Failed"),
    ],
)
def test_rejection(
    sandbox: Sandbox,
    ssm: BaseClient,
    store: Make,
    runbook: Make,
    automation: Automation,
    outcome: Make,
    answer: UnapprovedStep,
    statuses: tuple[str, ...],
    status: str,
) -> None:
    """The execution goes on with the named step, or ends with the status of the step, critical or not."""
    automation.answers.unapproved_step = answer
    execution = ask(sandbox, ssm, store, runbook, automation)
    assert tuple(outcome(execution).values()) == statuses
    assert execution["AutomationExecutionStatus"] == status


def test_request_expires(run: Make, automation: Automation) -> None:
    """An execution that ends then has timed out."""
    automation.answers.unapproved_step = UnapprovedStep.ENDS
    inputs = {"Approvers": ["ann"]}
    asks = {"name": "ask", "action": "aws:approve", "inputs": inputs, "timeoutSeconds": 2, "isCritical": False, **JUMP}
    execution = run(asks, nap("below"), nap("end"))
    assert execution["AutomationExecutionStatus"] == "TimedOut"
