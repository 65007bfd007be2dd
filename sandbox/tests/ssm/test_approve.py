"""aws:approve and the signals that answer it.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html
"""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.actions.approve import may_decide

Make = Callable[..., Any]


def user(sandbox: Sandbox, name: str) -> BaseClient:
    """Create an IAM user and return a Systems Manager client with its credentials."""
    iam = sandbox.client("iam")
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    return sandbox.client("ssm", credentials=own)


@pytest.fixture
def waiting(automation: Automation, ssm: BaseClient, store: Make, runbook: Make) -> Callable[..., str]:
    """Return a function that starts a runbook with an approval, and returns its id when the run waits."""

    def begin(**inputs: object) -> str:
        automation.knobs.time_scale = 0.01
        approve = {"name": "approve", "action": "aws:approve", "inputs": inputs, "timeoutSeconds": 6000}
        after = {"name": "after", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}
        store(runbook(approve, after, parameters={"Who": {"type": "StringList", "default": ["ann"]}}))
        execution_id = ssm.start_automation_execution(DocumentName="Runbook")["AutomationExecutionId"]
        deadline = time.monotonic() + 60
        while status(ssm, execution_id) != "Waiting":
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return str(execution_id)

    return begin


def status(ssm: BaseClient, execution_id: str) -> str:
    """Return the status of an execution."""
    found = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
    return str(found["AutomationExecutionStatus"])


def signal(client: BaseClient, execution_id: str, kind: str) -> None:
    """Send an approval or a rejection."""
    client.send_automation_signal(AutomationExecutionId=execution_id, SignalType=kind, Payload={"Comment": ["-"]})


def test_approved_execution_goes_on(
    automation: Automation, ssm: BaseClient, sandbox: Sandbox, waiting: Make, outcome: Make
) -> None:
    """The execution waits until it has enough approvals, of which one principal gives one."""
    execution_id = waiting(Approvers=["ann", "bob"], MinRequiredApprovals=2)
    ann = user(sandbox, "ann")
    signal(ann, execution_id, "Approve")
    signal(ann, execution_id, "Approve")
    time.sleep(0.1)
    assert status(ssm, execution_id) == "Waiting"
    signal(user(sandbox, "bob"), execution_id, "Approve")
    execution = automation.wait(execution_id)
    assert outcome(execution) == {"approve": "Success", "after": "Success"}
    outputs = execution["StepExecutions"][0]["Outputs"]
    assert outputs["ApprovalStatus"] == ["Approved"]
    assert json.loads(outputs["ApproverDecisions"][0]) == {
        "Approver": f"arn:aws:iam::{sandbox.account_id}:user/ann",
        "Decision": "Approve",
    }


def test_rejected_execution_fails(automation: Automation, sandbox: Sandbox, waiting: Make, outcome: Make) -> None:
    """One rejection ends the step as Failed, and no later step runs."""
    execution_id = waiting(Approvers=["ann", "bob"], MinRequiredApprovals=2)
    signal(user(sandbox, "ann"), execution_id, "Approve")
    signal(user(sandbox, "bob"), execution_id, "Reject")
    execution = automation.wait(execution_id)
    assert outcome(execution) == {"approve": "Failed", "after": "Pending"}
    assert "Approval was rejected" in execution["FailureMessage"]
    outputs = execution["StepExecutions"][0]["Outputs"]
    assert outputs["ApprovalStatus"] == ["Rejected"]
    assert [json.loads(decision)["Decision"] for decision in outputs["ApproverDecisions"]] == ["Approve", "Reject"]


def test_signals_that_fit_nothing_are_refused(automation: Automation, sandbox: Sandbox, waiting: Make) -> None:
    """Only the named principals decide, only by approval or rejection, and only while the execution waits."""
    request = {"AutomationExecutionId": waiting(Approvers="{{ Who }}")}
    ann, bob = user(sandbox, "ann"), user(sandbox, "bob")
    assert refused(bob.send_automation_signal, **request, SignalType="Approve") == "AccessDeniedException"
    assert refused(ann.send_automation_signal, **request, SignalType="Resume") == "InvalidAutomationSignalException"
    signal(ann, request["AutomationExecutionId"], "Approve")
    automation.wait(request["AutomationExecutionId"])
    assert refused(ann.send_automation_signal, **request, SignalType="Approve") == "InvalidAutomationSignalException"


@pytest.mark.parametrize(
    ("approver", "may"),
    [
        ("arn:aws:sts::123456789012:assumed-role/Team/ann", True),
        ("arn:aws:iam::123456789012:role/Team", True),
        ("arn:aws:iam::123456789012:role/Other", False),
        ("ann", False),
    ],
)
def test_roles_approve_by_their_arn(approver: str, *, may: bool) -> None:
    """An approver can be the ARN of a role or an assumed role. The name of a session does not count as a user."""
    assert may_decide("arn:aws:sts::123456789012:assumed-role/Team/ann", [approver]) is may


def test_waiting_ends_when_the_time_is_over_or_the_execution_is_stopped(
    automation: Automation, ssm: BaseClient, waiting: Make
) -> None:
    """If the step times out before all approvals, it and the automation are TimedOut; a stopped one is Cancelled."""
    stopped = waiting(Approvers=["ann"])
    ssm.stop_automation_execution(AutomationExecutionId=stopped)
    assert automation.wait(stopped)["AutomationExecutionStatus"] == "Cancelled"
    late = ssm.start_automation_execution(DocumentName="Runbook")["AutomationExecutionId"]
    automation.knobs.time_scale = 0
    assert automation.wait(late)["AutomationExecutionStatus"] == "TimedOut"


def test_approvers_are_told_through_the_topic(sandbox: Sandbox, waiting: Make) -> None:
    """Automation sends a message to the topic, whose name must begin with Automation."""
    topic = sandbox.client("sns").create_topic(Name="AutomationApprovals")["TopicArn"]
    waiting(Approvers=["ann"], NotificationArn=topic, Message="Heal subnet-1?")
    deadline = time.monotonic() + 60
    while not (calls := sandbox.calls.of("sns", "Publish")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert calls[0].parameters["TopicArn"] == topic
    assert json.loads(calls[0].parameters["Message"])["message"] == "Heal subnet-1?"
