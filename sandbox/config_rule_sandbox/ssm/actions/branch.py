"""aws:branch: jump to the step of the first choice that is true.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html
"""

from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.references import only_reference, references
from config_rule_sandbox.ssm.shapes import Types
from config_rule_sandbox.ssm.values import fits

OPERATION = "StringEquals"
"""The one operation that is evaluated here. AWS has others, and And, Or and Not."""

NEXT_STEP = "NextStep"
VARIABLE = "Variable"


def _check(step: Step, types: Types) -> None:
    """Check the choices. Automation validates each operation when the runbook is created."""
    check_keys(step, ("Choices",), ("Default",))
    choices = step.inputs["Choices"]
    if not fits(choices, "MapList") or not choices:
        raise FaultyDocumentError(f"{place(step)}.Choices", "it is not a list of choices")
    for index, choice in enumerate(choices):
        where = f"{place(step)}.Choices[{index}]"
        if not isinstance(choice.get(NEXT_STEP), str):
            raise FaultyDocumentError(where, "it has no NextStep")
        check_condition(where, {key: value for key, value in choice.items() if key != NEXT_STEP}, types)
    if not isinstance(step.inputs.get("Default", ""), str):
        raise FaultyDocumentError(f"{place(step)}.Default", "it is not the name of a step")


def check_condition(where: str, choice: object, types: Types) -> None:
    """Check that a condition compares one parameter or output with one string, both of them strings."""
    if not isinstance(choice, dict):
        raise FaultyDocumentError(where, f"{choice!r} is not a condition")
    names = set(choice) - {VARIABLE}
    if names != {OPERATION}:
        raise FaultyDocumentError(where, f"it has the operations {sorted(names)}, only {OPERATION} is supported")
    reference = only_reference(choice.get(VARIABLE))
    if reference is None:
        raise FaultyDocumentError(where, f"Variable is {choice.get(VARIABLE)!r}, not a parameter or an output")
    kind = types.type_of(where, reference)
    if kind != "String":
        raise FaultyDocumentError(where, f"{reference} is a {kind}, {OPERATION} compares a String")
    expected = choice[OPERATION]
    other = only_reference(expected)
    if other is not None:
        if types.type_of(where, other) != "String":
            raise FaultyDocumentError(where, f"{other} is not a String")
    elif any(references(expected)) or not isinstance(expected, str):
        raise FaultyDocumentError(where, f"{OPERATION} has {expected!r}, not a String")


def holds(condition: Mapping[str, Any]) -> bool:
    """Return whether a condition is true, with its references replaced."""
    return bool(condition[VARIABLE] == condition[OPERATION])


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    """Return the step of the first choice that is true."""
    del running
    for choice in inputs["Choices"]:
        if holds(choice):
            return Outcome(next_step=choice[NEXT_STEP])
    return Outcome(next_step=inputs.get("Default"))


BRANCH = Action(_check, _run)
