"""A run that could not do its work never succeeds, whatever Systems Manager does where AWS does not document it."""

from typing import Any

import pytest

from config_rule_sandbox.answers import LoopFailure, LoopSteps, MissingOutput
from tests.support.heals import FUNCTION, Deployment, Vpc, run_id_of, status

FAILURES = [answer for answer in LoopFailure if answer is not LoopFailure.IS_REFUSED]


def fail_at(deployment: Deployment, action: str) -> None:
    """Let the function raise whenever it is asked for an action."""

    def answer(event: dict[str, Any]) -> dict[str, Any]:
        if event["action"] == action:
            raise LookupError(f"no answer to {action}")
        return deployment.plan(event)

    deployment.automation.functions.register(FUNCTION, answer)


def explained(run: dict[str, Any]) -> str:
    """Return the explanation of a failed run and its message."""
    return f"{run['Outputs']['explain.Payload']} {run['FailureMessage']}"


@pytest.mark.parametrize("answer", FAILURES)
def test_heal_fails_in_its_loop(deployment: Deployment, vpc: Vpc, answer: LoopFailure) -> None:
    """It changes nothing, names the error, and its claim does not keep the next heal from working."""
    deployment.sandbox.answers.loop_failure = answer
    fail_at(deployment, "turn")
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "no answer to turn" in explained(run)
    deployment.automation.functions.register(FUNCTION, deployment.plan)
    assert status(deployment.heal(vpc.subnet)) == "Success"


@pytest.mark.parametrize("answer", FAILURES)
def test_undo_fails_in_its_loop(deployment: Deployment, vpc: Vpc, answer: LoopFailure) -> None:
    """It changes nothing, names the error, and the next undo works."""
    healed = run_id_of(deployment.heal(vpc.subnet))
    deployment.sandbox.answers.loop_failure = answer
    before = deployment.described(vpc.id)
    fail_at(deployment, "turnOfUndo")
    run = deployment.undo(healed)
    assert (status(run), deployment.described(vpc.id)) == ("Failed", before)
    assert "no answer to turnOfUndo" in explained(run)
    deployment.automation.functions.register(FUNCTION, deployment.plan)
    assert status(deployment.undo(healed)) == "Success"


@pytest.mark.parametrize("answer", LoopSteps)
def test_failure_in_a_loop_is_explained(deployment: Deployment, vpc: Vpc, answer: LoopSteps) -> None:
    """The explanation has the error, also if the step that has it is not listed."""
    deployment.sandbox.answers.loop_steps = answer
    fail_at(deployment, "turn")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "no answer to turn" in run["Outputs"]["explain.Payload"][0]


@pytest.mark.parametrize("answer", MissingOutput)
def test_outputs_without_a_value_do_no_harm(deployment: Deployment, vpc: Vpc, answer: MissingOutput) -> None:
    """A heal, one that has nothing to do, whose later steps have no outputs, a dry run, and the undo of the first succeed."""
    deployment.sandbox.answers.missing_output = answer
    healed = deployment.heal(vpc.subnet)
    runs = [healed, deployment.heal(vpc.subnet), deployment.heal(vpc.subnet, DryRun="true")]
    runs.append(deployment.undo(run_id_of(healed)))
    assert [status(run) for run in runs] == ["Success"] * 4
    assert deployment.endpoints(vpc.id) == []
