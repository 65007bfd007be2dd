"""From the text of a runbook to a checked Document."""

from functools import lru_cache
from typing import Any

from config_rule_sandbox.ssm import parameters
from config_rule_sandbox.ssm.actions import ACTIONS
from config_rule_sandbox.ssm.document import Document, Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.order import check_flow
from config_rule_sandbox.ssm.references import references
from config_rule_sandbox.ssm.scope import Scope
from config_rule_sandbox.ssm.steps import read_steps, typed
from config_rule_sandbox.ssm.text import load

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
