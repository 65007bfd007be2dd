"""aws:loop with a condition, and what a runbook must not rely on because AWS does not document it.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-loop.html
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.ssm import Automation, FaultyDocumentError, read

Run = Callable[..., dict[str, Any]]
Statuses = Callable[[dict[str, Any]], dict[str, str]]
LOOK = {
    "name": "look",
    "action": "aws:invokeLambdaFunction",
    "inputs": {"FunctionName": "f"},
    "outputs": [{"Name": "State", "Selector": "$.Payload.state", "Type": "String"}],
}
NAP = {"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}
AGAIN = {"Variable": "{{ look.State }}", "StringEquals": "BUSY"}


def loop(*steps: dict[str, Any], most: object = 5, condition: object = None, **properties: object) -> dict[str, Any]:
    """Return a loop that repeats steps while the function f answers BUSY."""
    inputs = {"MaxIterations": most, "LoopCondition": condition or AGAIN, "Steps": list(steps or (LOOK, NAP))}
    return {"name": "loop", "action": "aws:loop", "inputs": inputs, **properties}


@pytest.mark.parametrize(("busy", "looks"), [(0, 1), (3, 4), (4, 5), (99, 5)])
def test_repeats_while_the_condition_holds(
    run: Run, outcome: Statuses, automation: Automation, busy: int, looks: int
) -> None:
    """The condition counts after the steps. The loop succeeds also if it holds after the last iteration."""
    answers = iter([{"state": "BUSY"}] * busy + [{"state": "FREE"}])
    automation.functions.register("f", lambda _: next(answers))
    found = run(loop(), {**NAP, "name": "after"})
    assert set(outcome(found).values()) == {"Success"}
    parents = {step["StepName"]: step.get("ParentStepDetails") for step in found["StepExecutions"]}
    assert (parents["loop"], parents["nap"]["StepName"], parents["nap"]["Iteration"]) == (None, "loop", looks)


def test_failure_of_a_step_fails_the_loop(run: Run, outcome: Statuses, automation: Automation) -> None:
    """The run goes on where the loop's onFailure says."""

    def fail(_: object) -> None:
        raise ValueError

    automation.functions.register("f", fail)
    failing = {"onFailure": "step:end", "isCritical": False}
    found = run(
        loop({**LOOK, **failing}, {**NAP, **failing}, **failing),
        {**NAP, "name": "after", "isEnd": True},
        {**NAP, "name": "end"},
    )
    statuses = outcome(found)
    assert (statuses["look"], statuses["loop"], statuses["after"]) == ("Failed", "Failed", "Pending")
    assert statuses["end"] == "Success"


UNDOCUMENTED = {
    "another onFailure": (loop({**LOOK, "onFailure": "Continue"}, NAP), "loop.inputs.Steps.look"),
    "a branch": (
        loop(LOOK, {"name": "go", "action": "aws:branch", "inputs": {"Choices": [{**AGAIN, "NextStep": "after"}]}}),
        "loop.inputs.Steps.go",
    ),
    "an end": (loop(LOOK, {**NAP, "isEnd": True}), "loop.inputs.Steps.nap"),
    "more than 100 iterations": (loop(most=101), "loop.inputs.MaxIterations"),
    "no iteration": (loop(most=0), "loop.inputs.MaxIterations"),
    "no condition": (loop(condition={"Variable": "{{ look.State }}"}), "loop.inputs.LoopCondition"),
    "a step of the same name": (loop(LOOK, {**NAP, "name": "after"}), "mainSteps[1]"),
    "an output that a later step has": (
        loop({**NAP, "inputs": {"Duration": "{{ look.State }}"}}, LOOK),
        "mainSteps.nap.inputs",
    ),
}


@pytest.mark.parametrize(("step", "place"), UNDOCUMENTED.values(), ids=UNDOCUMENTED)
def test_what_is_not_documented_is_refused(runbook: Callable[..., Any], step: dict[str, Any], place: str) -> None:
    """The runbooks would otherwise work here and perhaps not in AWS."""
    with pytest.raises(FaultyDocumentError) as raised:
        read(json.dumps(runbook(step, {**NAP, "name": "after"})), "JSON")
    assert place in str(raised.value)


def test_outputs_of_a_loop_cannot_be_read_after_it(runbook: Callable[..., Any]) -> None:
    """AWS documents that steps of the loop can read them, and no more."""
    after = {**NAP, "name": "after", "inputs": {"Duration": "{{ look.State }}"}}
    with pytest.raises(FaultyDocumentError, match="after"):
        read(json.dumps(runbook(loop(), after)), "JSON")
