"""The steps of a runbook, as written: their properties, and the outputs that they define.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
"""

import re
from typing import Any

from config_rule_sandbox.ssm.actions import ACTIONS
from config_rule_sandbox.ssm.document import ABORT, CONTINUE, DEFAULT_MAX_ATTEMPTS, Output, Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.selectors import parse_selector
from config_rule_sandbox.ssm.values import TYPES, fits

PROPERTIES = {
    "name": "String",
    "action": "String",
    "description": "String",
    "inputs": "StringMap",
    "outputs": "MapList",
    "maxAttempts": "Integer",
    "timeoutSeconds": "Integer",
    "onFailure": "String",
    "isCritical": "Boolean",
    "isEnd": "Boolean",
    "nextStep": "String",
}
"""Properties of a step: https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html."""

REQUIRED = ("name", "action", "inputs")
STEP_NAME = re.compile(r"[a-zA-Z0-9_]{1,128}")
STEP_PREFIX = "step:"
LOOP = "aws:loop"


def read_steps(raw: list[dict[str, Any]]) -> dict[str, Step]:
    """Return the steps of `mainSteps` by their names, in order. FaultyDocumentError where one is not in order."""
    steps: dict[str, Step] = {}
    names: set[str] = set()
    for index, written in enumerate(raw):
        step = _step(f"mainSteps[{index}]", written)
        for name in (step.name, *(inner.name for inner in step.inner)):
            if name in names:
                raise FaultyDocumentError(f"mainSteps[{index}]", f"there is a step {name} already")
            names.add(name)
        steps[step.name] = step
    if not steps:
        raise FaultyDocumentError("mainSteps", "there is no step")
    return steps


def _step(where: str, raw: dict[str, Any]) -> Step:
    _check_properties(where, raw)
    name = raw["name"]
    on_failure = _target(name, raw.get("onFailure", ABORT))
    is_loop = raw["action"] == LOOP
    inner = typed(raw["inputs"], "Steps", "MapList", [], f"{where}.inputs") if is_loop else []
    return Step(
        name,
        raw["action"],
        {key: value for key, value in raw["inputs"].items() if not (is_loop and key == "Steps")},
        outputs=_outputs(name, raw["action"], raw.get("outputs", [])),
        max_attempts=_positive(raw, "maxAttempts") or DEFAULT_MAX_ATTEMPTS,
        timeout_seconds=_positive(raw, "timeoutSeconds"),
        on_failure=on_failure,
        is_critical=raw.get("isCritical", on_failure != CONTINUE),
        is_end=raw.get("isEnd", False),
        next_step=raw.get("nextStep"),
        inner=tuple(_step(f"{where}.inputs.Steps[{index}]", step) for index, step in enumerate(inner)),
    )


def _check_properties(where: str, raw: dict[str, Any]) -> None:
    for key in raw:
        if key not in PROPERTIES:
            raise FaultyDocumentError(where, f"unknown property {key}")
        typed(raw, key, PROPERTIES[key], None, where)
    for key in REQUIRED:
        if key not in raw:
            raise FaultyDocumentError(where, f"the property {key} is missing")
    if not STEP_NAME.fullmatch(raw["name"]):
        raise FaultyDocumentError(where, f"{raw['name']!r} is not a name for a step")
    if raw["action"] not in ACTIONS:
        raise FaultyDocumentError(where, f"the action {raw['action']} is not supported, only {', '.join(ACTIONS)}")


def _outputs(step: str, action: str, raw: list[dict[str, Any]]) -> list[Output]:
    where = f"mainSteps.{step}.outputs"
    if raw and not ACTIONS[action].defines_outputs:
        raise FaultyDocumentError(where, f"{action} has no outputs to be defined")
    names = set(ACTIONS[action].predefined_outputs)
    outputs = [_output(where, output) for output in raw]
    for output in outputs:
        if output.name in names:
            raise FaultyDocumentError(where, f"there is an output {output.name} already")
        names.add(output.name)
    return outputs


def _output(where: str, raw: dict[str, Any]) -> Output:
    unknown = sorted(set(raw) - {"Name", "Selector", "Type"})
    if unknown:
        raise FaultyDocumentError(where, f"unknown properties {unknown}")
    name, selector, kind = (
        typed(raw, key, "String", default, where)
        for key, default in (("Name", ""), ("Selector", ""), ("Type", "String"))
    )
    if not STEP_NAME.fullmatch(name):
        raise FaultyDocumentError(where, f"{name!r} is not a name for an output")
    if kind not in TYPES:
        raise FaultyDocumentError(where, f"{kind!r} is not one of {', '.join(TYPES)}")
    try:
        return Output(name, parse_selector(selector), kind)
    except ValueError as error:
        raise FaultyDocumentError(where, str(error)) from error


def typed(raw: dict[str, Any], key: str, kind: str, default: Any, where: str = "document") -> Any:  # noqa: ANN401  # any YAML
    """Return one property of a map, or the default. FaultyDocumentError if it is there and of another type."""
    value = raw.get(key, default)
    if key in raw and not fits(value, kind):
        raise FaultyDocumentError(f"{where}.{key}", f"{value!r} is not a {kind}")
    return value


def _positive(raw: dict[str, Any], key: str) -> int | None:
    value: int | None = raw.get(key)
    if value is not None and value < 1:
        raise FaultyDocumentError(f"mainSteps.{raw['name']}.{key}", "it is less than 1")
    return value


def _target(step: str, value: str) -> str:
    """Return Abort, Continue, or the name of the step in `step:name`."""
    if value in (ABORT, CONTINUE):
        return value
    if value.startswith(STEP_PREFIX):
        return value.removeprefix(STEP_PREFIX)
    raise FaultyDocumentError(f"mainSteps.{step}", f"{value!r} is not one of {ABORT}, {CONTINUE}, step:name")
