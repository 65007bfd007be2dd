"""aws:loop: repeat steps while a condition holds, at most 100 times; the engine runs the steps.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-loop.html
"""

from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.actions.branch import check_condition
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.shapes import Types

MAXIMUM_ITERATIONS = 100


def _check(step: Step, types: Types) -> None:
    """Check a loop with a condition; AWS also has loops over a list.

    AWS's documents say that a loop inherits onFailure from its steps, but not how, so all must have the same. They do not
    say what a branch, nextStep, or isEnd inside a loop does, so there may be none.
    """
    check_keys(step, ("LoopCondition", "MaxIterations"))
    where = place(step)
    if not step.inner:
        raise FaultyDocumentError(f"{where}.Steps", "there is no step")
    most = step.inputs["MaxIterations"]
    if not isinstance(most, int) or not 1 <= most <= MAXIMUM_ITERATIONS:
        raise FaultyDocumentError(f"{where}.MaxIterations", f"{most!r} is not a number from 1 to {MAXIMUM_ITERATIONS}")
    check_condition(f"{where}.LoopCondition", step.inputs["LoopCondition"], types)
    for inner in step.inner:
        if (inner.on_failure, inner.is_critical) != (step.on_failure, step.is_critical):
            raise FaultyDocumentError(f"{where}.Steps.{inner.name}", "onFailure and isCritical differ from the loop's")
        if inner.next_step or inner.is_end or inner.inner or inner.action == "aws:branch":
            raise FaultyDocumentError(f"{where}.Steps.{inner.name}", "a step of a loop can only lead to the next one")


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    raise NotImplementedError(f"the engine runs {running.step.name}: {inputs}")


LOOP = Action(_check, _run)
