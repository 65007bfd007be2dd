"""A run never succeeds with an answer that it did not get, whether or not an error of the function fails its step.

AWS does not document whether it does (config_rule_sandbox/answers.py, RaisedError).
"""

from typing import Any

import pytest

from config_rule_sandbox.answers import RaisedError
from tests.support.heals import APPROVED, FUNCTION, HEAL, UNDO, Approval, Deployment, Vpc, all_steps, run_id_of, status

LATER = {"verifyAgain": "verify", "makePlanAgain": "planApproval"}
"""The steps that ask the same as another step, and that only some runs take."""


def asked_by(name: str) -> list[str]:
    """Return the actions that the steps of a runbook ask of the function, in order, without the explanation of a failure."""
    steps = [step for key, step in all_steps(name).items() if key not in (*LATER, "explain")]
    payloads = [step["inputs"].get("InputPayload", {}) for step in steps]
    return [str(payload["action"]) for payload in payloads if "action" in payload]


@pytest.fixture(params=RaisedError, autouse=True)
def answer(request: pytest.FixtureRequest, deployment: Deployment) -> None:
    """Let an error of the function fail its step, or be its output."""
    deployment.sandbox.answers.raised_error = request.param


def fail_at(deployment: Deployment, action: str) -> None:
    """Let the function raise whenever it is asked for an action."""

    def answer(event: dict[str, Any]) -> dict[str, Any]:
        if event["action"] == action:
            raise LookupError(f"no answer to {action}")
        return deployment.plan(event)

    deployment.automation.functions.register(FUNCTION, answer)


def check_failed(run: dict[str, Any], action: str) -> None:
    """Check that a run failed and names the error."""
    assert status(run) == "Failed"
    assert f"no answer to {action}" in run["FailureMessage"]


@pytest.mark.parametrize("action", asked_by(HEAL))
def test_heal_fails(deployment: Deployment, vpc: Vpc, action: str) -> None:
    """It names the error, whichever step asks."""
    fail_at(deployment, action)
    check_failed(deployment.heal(vpc.subnet), action)


def test_heal_that_finishes_an_earlier_one_fails(deployment: Deployment, vpc: Vpc) -> None:
    """It makes no change, so only its verification says whether the subnet is healed."""
    with deployment.automation.killing(during="associate"):
        deployment.heal(vpc.subnet)
    fail_at(deployment, "verify")
    check_failed(deployment.heal(vpc.subnet), "verify")


@pytest.mark.parametrize("action", asked_by(UNDO))
def test_undo_fails(deployment: Deployment, vpc: Vpc, action: str) -> None:
    """It names the error, whichever step asks."""
    healed = run_id_of(deployment.heal(vpc.subnet))
    fail_at(deployment, action)
    check_failed(deployment.undo(healed), action)


@pytest.mark.parametrize("action", asked_by(APPROVED))
def test_approval_fails(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """No heal starts after an error."""
    approval = Approval(deployment, monkeypatch.setenv)
    fail_at(deployment, action)
    answered = "Reject" if action == "unapproved" else "Approve"
    check_failed(approval.answer(approval.start(vpc.subnet), answered), action)
    assert deployment.endpoints(vpc.id) == []


def test_blocked_heal_names_its_blockers(deployment: Deployment, vpc: Vpc) -> None:
    """The failure message is the same under both answers, but for the name of the step."""
    deployment.ec2.create_tags(Resources=[vpc.subnet], Tags=[{"Key": "express-path:exclude", "Value": "yes"}])
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "EXCLUDED" in run["FailureMessage"]
    assert "errorMessage" not in run["FailureMessage"]
