"""Heals that wait until a person has said yes."""

import json
import time
from typing import Any

import pytest

from sandbox.server import Sandbox
from tests.handlers.network import Builder
from tests.runbooks.heals import APPROVED, HEAL, Deployment, Run, Vpc, status, steps

GOING = ("Pending", "InProgress", "Waiting")


@pytest.fixture
def given(deployment: Deployment, sandbox: Sandbox) -> dict[str, Any]:
    """The runbook that asks first, its topic, and ann, who may say yes."""
    deployment.automation.knobs.time_scale = 0.01
    deployment.publish(APPROVED)
    topic = sandbox.client("sns").create_topic(Name="AutomationApprovals")["TopicArn"]
    sandbox.client("iam").create_user(UserName="ann")
    return {**deployment.given, "HealDocumentName": HEAL, "Approvers": "ann", "ApprovalTopicArn": topic}


def begin(deployment: Deployment, subnet_id: str, given: dict[str, str], **more: str) -> str:
    """Start a run, and return its id once the approvers are told, or it has ended."""
    execution_id = deployment.start(subnet_id, APPROVED, **given, **more)
    deadline = time.monotonic() + 60
    while state(deployment, execution_id) in GOING and not deployment.sandbox.calls.of("sns", "Publish"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return execution_id


def state(deployment: Deployment, execution_id: str) -> str:
    """The status of a run."""
    found = deployment.ssm.get_automation_execution(AutomationExecutionId=execution_id)
    return str(found["AutomationExecution"]["AutomationExecutionStatus"])


def answer(deployment: Deployment, sandbox: Sandbox, execution_id: str, kind: str, name: str = "ann") -> Run:
    """Approve or reject as a user, and wait for the run's end."""
    key = sandbox.client("iam").create_access_key(UserName=name)["AccessKey"]
    own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    client = sandbox.client("ssm", credentials=own)
    client.send_automation_signal(AutomationExecutionId=execution_id, SignalType=kind, Payload={"Comment": ["-"]})
    return deployment.automation.wait(execution_id)


def test_approvers_are_told_the_plan(deployment: Deployment, sandbox: Sandbox, vpc: Vpc, given: dict[str, str]) -> None:
    """The message says what would be done and why."""
    begin(deployment, vpc.subnet, given)
    [told] = sandbox.calls.of("sns", "Publish")
    message = json.loads(told.parameters["Message"])["message"]
    assert message.startswith(f"CREATE_AND_ASSOCIATE for {vpc.subnet}: NAT_GATEWAY")


def test_rejected_heal_changes_nothing(
    deployment: Deployment, sandbox: Sandbox, vpc: Vpc, given: dict[str, str]
) -> None:
    """A no ends the run as failed, and nothing was changed."""
    execution_id = begin(deployment, vpc.subnet, given)
    sandbox.calls.clear()
    run = answer(deployment, sandbox, execution_id, "Reject")
    assert (status(run), deployment.changes(), steps(run)[-1]) == ("Failed", [], "approve")


def test_nobody_is_asked_about_a_blocked_heal(
    deployment: Deployment, builder: Builder, vpc: Vpc, given: dict[str, str]
) -> None:
    """A plan that cannot be carried out bothers no approver."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    run = deployment.automation.wait(begin(deployment, vpc.subnet, given))
    assert status(run) == "Failed"
    assert "OWNED_BY_IAC" in run["FailureMessage"]
    assert deployment.sandbox.calls.of("sns", "Publish") == []


def test_nobody_is_asked_about_a_healthy_subnet(deployment: Deployment, vpc: Vpc, given: dict[str, str]) -> None:
    """Nothing to do is no question."""
    deployment.heal(vpc.subnet)
    run = deployment.automation.wait(begin(deployment, vpc.subnet, given))
    assert (status(run), steps(run)[-1]) == ("Success", "done")
    assert deployment.sandbox.calls.of("sns", "Publish") == []


def test_nobody_is_asked_in_a_dry_run(deployment: Deployment, vpc: Vpc, given: dict[str, str]) -> None:
    """A dry run tells the plan and ends."""
    run = deployment.automation.wait(begin(deployment, vpc.subnet, given, DryRun="true"))
    assert status(run) == "Success"
    assert run["Outputs"]["plan.Summary"][0].startswith("CREATE_AND_ASSOCIATE")
    assert deployment.sandbox.calls.of("sns", "Publish") == []
