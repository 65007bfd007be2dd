"""From the text of a runbook to a checked Document."""

import json
import re
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import yaml

from config_rule_sandbox.ssm import parameters, values
from config_rule_sandbox.ssm.actions import ACTIONS
from config_rule_sandbox.ssm.document import ABORT, CONTINUE, DEFAULT_MAX_ATTEMPTS, Document, Output, Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.values import EXECUTION_ID, TYPES, fits, references

# --- text ----------------------------------------------------------------------------------------------------------
#
# Reads the text of a runbook, YAML or JSON, so strictly that nothing is lost or reinterpreted.


MAXIMUM_BYTES = 64 * 1024
"""Size of a document: https://docs.aws.amazon.com/general/latest/gr/ssm.html."""

Pairs = list[tuple[Any, Any]]


class _DuplicateKeyError(ValueError):
    """The same key twice in one object: one of the two values would be lost."""


class _Loader(yaml.CSafeLoader):
    """YAML without duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  # PyYAML's signature
        """Return a mapping; ValueError if it has a key twice."""
        _without_duplicates([(self.construct_object(key, deep=True), None) for key, _ in node.value])
        return super().construct_mapping(node, deep=deep)


def load(content: str, document_format: str) -> dict[str, Any]:
    """Return the document in a text. FaultyDocumentError if it is too long, malformed, or holds more than JSON can."""
    if len(content.encode()) > MAXIMUM_BYTES:
        raise FaultyDocumentError("document", f"it is longer than {MAXIMUM_BYTES} bytes")
    try:
        if document_format == "YAML":
            document = yaml.load(content, Loader=_Loader)  # a SafeLoader, in C
        else:
            document = json.loads(content, object_pairs_hook=_without_duplicates)
    except (yaml.YAMLError, ValueError) as error:
        raise FaultyDocumentError("document", str(error)) from error
    if not isinstance(document, dict):
        raise FaultyDocumentError("document", "it is not an object")
    _only_json(document, "document")
    return document


def _without_duplicates(pairs: Pairs) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DuplicateKeyError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _only_json(value: Any, where: str) -> None:  # noqa: ANN401  # whatever the parser made
    """Raise FaultyDocumentError for a date, a number with a fraction, a null, or a key that is not a string."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise FaultyDocumentError(where, f"the key {key!r} is not a string")
            _only_json(item, f"{where}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _only_json(item, f"{where}[{index}]")
    elif not isinstance(value, str | int):
        raise FaultyDocumentError(where, f"{value!r} is not a string, an integer, a Boolean, a list or a map")


# --- order of steps ------------------------------------------------------------------------------------------------
#
# The order in which the steps of a runbook can run.
#
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html


BRANCH = "aws:branch"


def check_flow(document: Document) -> None:
    """Raise FaultyDocumentError if a step leads to no step, is in a loop, or is never reached.

    Automation itself verifies that there is no infinite loop. Two combinations are refused because AWS's documents
    do not say what they do: isEnd with onFailure: step:name, and isCritical: false with onFailure: Abort.
    """
    for step in document.steps.values():
        where = f"mainSteps.{step.name}"
        for name in _named(step):
            if name not in document.steps:
                raise FaultyDocumentError(where, f"there is no step {name}")
        if step.is_end and step.on_failure not in (ABORT, CONTINUE):
            raise FaultyDocumentError(
                where, "isEnd ends the automation after a failure too, so onFailure leads nowhere"
            )
        if not step.is_critical and step.on_failure == ABORT:
            raise FaultyDocumentError(where, "a step that is not critical needs an onFailure other than Abort")
    first = next(iter(document.steps))
    _check_loops(document, first, (), set())
    lost = sorted(set(document.steps) - reachable(document, first) - {first})
    if lost:
        raise FaultyDocumentError("mainSteps", f"no step leads to {lost}")


def after_success(document: Document, step: Step) -> str | None:
    """Return the name of the step after one that succeeded and, if a branch, did not jump; None at the end."""
    if step.is_end:
        return None
    return step.next_step or document.following(step.name)


def successors(document: Document, step: Step) -> set[str]:
    """Return the names of all steps that can come right after a step."""
    found = _jumps(step) | ({step.on_failure} - {ABORT, CONTINUE})
    falls_through = step.action != BRANCH or "Default" not in step.inputs
    following = after_success(document, step) if falls_through else None
    return found | ({following} if following else set())


def reachable(document: Document, name: str) -> set[str]:
    """Return the names of all steps that can come after a step, sooner or later."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for successor in successors(document, document.steps[waiting.pop()]) - found:
            found.add(successor)
            waiting.append(successor)
    return found


def leading_to(document: Document, name: str) -> set[str]:
    """Return the names of all steps that can come before a step, sooner or later."""
    following = {step.name: successors(document, step) for step in document.steps.values()}
    found: set[str] = set()
    waiting = {name}
    while waiting:
        before = {step for step, names in following.items() if not names.isdisjoint(waiting)}
        waiting = before - found
        found |= before
    return found


def _named(step: Step) -> set[str]:
    names = {step.on_failure, *([step.next_step] if step.next_step else [])}
    return (names - {ABORT, CONTINUE}) | _jumps(step)


def _jumps(step: Step) -> set[str]:
    """Return the steps that a branch can jump to; whether its inputs are in order is checked elsewhere."""
    if step.action != BRANCH:
        return set()
    choices = step.inputs.get("Choices")
    targets = (
        [choice.get("NextStep") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    )
    return {name for name in [*targets, step.inputs.get("Default")] if isinstance(name, str)}


def _check_loops(document: Document, name: str, path: tuple[str, ...], done: set[str]) -> None:
    """Raise FaultyDocumentError with the trace of a loop that `name` leads into; `done` are steps known to be well."""
    if name in path:
        raise FaultyDocumentError("mainSteps", f"infinite loop: {' -> '.join([*path[path.index(name) :], name])}")
    for successor in sorted(successors(document, document.steps[name]) - done):
        _check_loops(document, successor, (*path, name), done)
    done.add(name)


# --- scope ---------------------------------------------------------------------------------------------------------
#
# What a place in a runbook may refer to, and its type; types are static in runbooks.
#
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that are known at one place.

    `excluded` are the steps that cannot have run before it. `inner` are the steps of the same loop that have run before
    it; AWS does not say that outputs of such steps can be read outside of the loop.
    """

    document: Document
    excluded: AbstractSet[str] = frozenset()
    inner: Sequence[Step] = ()

    def before(self, step: str) -> "Scope":
        """Return the scope of a step's inputs: of the other steps, only those that lead to it."""
        return Scope(self.document, self.document.steps.keys() - leading_to(self.document, step))

    def inside(self, steps: Sequence[Step]) -> "Scope":
        """Return the scope in a loop after some of its steps."""
        return replace(self, inner=steps)

    def type_of(self, where: str, reference: str) -> str:
        """Return the type of what is referred to. FaultyDocumentError if there is no such thing at this place."""
        if reference == EXECUTION_ID:
            return "String"
        if reference in self.document.parameters:
            return self.document.parameters[reference].type
        step_name, _, output = reference.partition(".")
        inner = {step.name: step for step in self.inner}
        step = inner.get(step_name) or self.document.steps.get(step_name)
        if step is None or not output:
            raise FaultyDocumentError(where, f"{{{{ {reference} }}}} is neither a parameter nor a step's output")
        if step_name in self.excluded:
            raise FaultyDocumentError(where, f"{{{{ {reference} }}}}: the step {step_name} does not come before")
        types = output_types(step)
        if output not in types:
            raise FaultyDocumentError(where, f"the step {step_name} has no output {output}, only {sorted(types)}")
        return types[output]


def output_types(step: Step) -> dict[str, str]:
    """Return the types of a step's outputs by their names: those of its action, then its own."""
    return {**ACTIONS[step.action].predefined_outputs, **{output.name: output.type for output in step.outputs}}


# --- steps ---------------------------------------------------------------------------------------------------------
#
# The steps of a runbook, as written: their properties, and the outputs that they define.
#
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html


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
        return Output(name, values.parse_selector(selector), kind)
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


# --- the whole -----------------------------------------------------------------------------------------------------
#
# From the text of a runbook to a checked Document.


SCHEMA_VERSION = "0.3"
ELEMENTS = ("schemaVersion", "description", "assumeRole", "parameters", "mainSteps", "outputs")
"""Elements of a runbook that are understood here; AWS also has `files` and `variables`.

https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html
"""


@lru_cache(maxsize=64)
def read(content: str, document_format: str) -> Document:
    """Return the runbook in a text. FaultyDocumentError if anything in it is unknown, wrong or not run here.

    A text is read once: nothing changes a document afterward.
    """
    raw = load(content, document_format)
    for element in raw:
        if element not in ELEMENTS:
            raise FaultyDocumentError("document", f"the element {element} is not supported")
    if raw.get("schemaVersion") != SCHEMA_VERSION:
        raise FaultyDocumentError("schemaVersion", f"it is not the string {SCHEMA_VERSION!r}")
    document = Document(
        steps=read_steps(typed(raw, "mainSteps", "MapList", [])),
        assume_role=typed(raw, "assumeRole", "String", ""),
        parameters={k: parameters.read(k, v) for k, v in typed(raw, "parameters", "StringMap", {}).items()},
        outputs=typed(raw, "outputs", "StringList", []),
    )
    _check(document)
    return document


def _check(document: Document) -> None:
    """Check what only shows in the whole: the order of steps, and what is referred to where."""
    check_flow(document)
    scope = Scope(document)
    _refer(scope, "assumeRole", document.assume_role)
    for step in document.steps.values():
        inside = scope.before(step.name)
        for index, inner in enumerate(step.inner):
            _check_step(inside.inside(step.inner[:index]), inner)
        _check_step(inside.inside(step.inner), step)
    for output in document.outputs:
        if "." not in output:
            raise FaultyDocumentError("outputs", f"{output!r} is not a step and its output")
        scope.type_of("outputs", output)


def _check_step(scope: Scope, step: Step) -> None:
    _refer(scope, f"mainSteps.{step.name}.inputs", step.inputs)
    ACTIONS[step.action].check(step, scope)


def _refer(scope: Scope, where: str, value: Any) -> None:  # noqa: ANN401  # any JSON value
    try:
        for reference in references(value):
            scope.type_of(where, reference)
    except ValueError as error:
        raise FaultyDocumentError(where, str(error)) from error
