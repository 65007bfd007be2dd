"""aws:branch: jump to the step of the first choice that is true.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from sandbox.ssm.document import Step
from sandbox.ssm.faults import FaultyDocumentError
from sandbox.ssm.references import only_reference, references
from sandbox.ssm.selectors import ABSENT
from sandbox.ssm.shapes import Types
from sandbox.ssm.values import fits

Test = Callable[[Any, Any], bool]

OPERATIONS: dict[str, tuple[str, Test]] = {
    "StringEquals": ("String", operator.eq),
    "EqualsIgnoreCase": ("String", lambda value, other: value.casefold() == other.casefold()),
    "StartsWith": ("String", str.startswith),
    "EndsWith": ("String", str.endswith),
    "Contains": ("String", operator.contains),
    "NumericEquals": ("Integer", operator.eq),
    "NumericGreater": ("Integer", operator.gt),
    "NumericLesser": ("Integer", operator.lt),
    "NumericGreaterOrEquals": ("Integer", operator.ge),
    "NumericLesserOrEquals": ("Integer", operator.le),
    "BooleanEquals": ("Boolean", operator.eq),
}
"""The operations by name: the type of both sides, and the test."""

COMBINATIONS = ("And", "Or")
NOT = "Not"
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
        _check_condition(where, _condition(choice), types)
    if not isinstance(step.inputs.get("Default", ""), str):
        raise FaultyDocumentError(f"{place(step)}.Default", "it is not the name of a step")


def _check_condition(where: str, condition: Any, types: Types) -> None:  # noqa: ANN401 - whatever the document has
    if not isinstance(condition, dict):
        raise FaultyDocumentError(where, "it is not a condition")
    names = set(condition) - {VARIABLE}
    if len(names) != 1:
        raise FaultyDocumentError(where, f"it has the operations {sorted(names)}, not exactly one")
    (name,) = names
    if name in OPERATIONS:
        _check_operation(where, condition, name, types)
    elif VARIABLE in condition or name not in (*COMBINATIONS, NOT):
        raise FaultyDocumentError(where, f"the operation {name} is not supported")
    elif name == NOT:
        _check_condition(f"{where}.{name}", condition[name], types)
    elif not isinstance(condition[name], list) or not condition[name]:
        raise FaultyDocumentError(f"{where}.{name}", "it is not a list of conditions")
    else:
        for index, each in enumerate(condition[name]):
            _check_condition(f"{where}.{name}[{index}]", each, types)


def _check_operation(where: str, condition: dict[str, Any], name: str, types: Types) -> None:
    """Check that the variable is one parameter or output, and that both sides are of the operation's type."""
    expected, _ = OPERATIONS[name]
    reference = only_reference(condition.get(VARIABLE))
    if reference is None:
        raise FaultyDocumentError(where, f"Variable is {condition.get(VARIABLE)!r}, not a parameter or an output")
    kind = types.type_of(where, reference)
    if kind != expected:
        raise FaultyDocumentError(where, f"{reference} is a {kind}, {name} compares a {expected}")
    other = only_reference(condition[name])
    if other is not None:
        if types.type_of(where, other) != expected:
            raise FaultyDocumentError(where, f"{other} is not a {expected}")
    elif any(references(condition[name])) or not fits(condition[name], expected):
        raise FaultyDocumentError(where, f"{name} has {condition[name]!r}, not a {expected}")


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    del running
    for choice in inputs["Choices"]:
        if _holds(_condition(choice)):
            return Outcome(next_step=choice[NEXT_STEP])
    return Outcome(next_step=inputs.get("Default"))


def _holds(condition: Mapping[str, Any]) -> bool:
    """Return whether a condition is true. An output that the step did not find makes a comparison false."""
    if NOT in condition:
        return not _holds(condition[NOT])
    if "And" in condition:
        return all(map(_holds, condition["And"]))
    if "Or" in condition:
        return any(map(_holds, condition["Or"]))
    (name,) = set(condition) - {VARIABLE}
    sides = (condition[VARIABLE], condition[name])
    return ABSENT not in sides and OPERATIONS[name][1](*sides)


def _condition(choice: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in choice.items() if key != NEXT_STEP}


BRANCH = Action(_check, _run)
