"""aws:executeScript: run a Python script and take its outputs from what its handler returns.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeScript.html
"""

import ast
import json
from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.ssm import script_host
from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from config_rule_sandbox.ssm.references import only_reference
from config_rule_sandbox.ssm.script_host import ScriptFailedError
from config_rule_sandbox.ssm.shapes import Types

MAXIMUM_SECONDS = 600
MAXIMUM_OUTPUT = 100 * 1024
"""Bytes of output that a script returns at most; for a list, 100 items."""

MAXIMUM_ITEMS = 100
RUNTIMES = ("python3.11",)
"""Runtimes that run here. AWS also has others of Python, and PowerShell."""

STAGE = "Poll action status for completion"


def _check(step: Step, types: Types) -> None:
    """Check the inputs, that the handler is in the script, and that outputs select from `$.Payload`."""
    check_keys(step, ("Runtime", "Handler", "Script"), ("InputPayload",))
    where = place(step)
    if step.inputs["Runtime"] not in RUNTIMES:
        raise FaultyDocumentError(f"{where}.Runtime", f"{step.inputs['Runtime']!r} is not one of {RUNTIMES}")
    _check_script(f"{where}.Script", step.inputs["Script"], step.inputs["Handler"])
    _check_payload(f"{where}.InputPayload", step.inputs.get("InputPayload", {}), types)
    if step.timeout_seconds and step.timeout_seconds > MAXIMUM_SECONDS:
        raise FaultyDocumentError(f"mainSteps.{step.name}.timeoutSeconds", f"at most {MAXIMUM_SECONDS} are possible")
    for output in step.outputs:
        if output.selector.names[0] != "Payload":
            raise FaultyDocumentError(
                f"mainSteps.{step.name}.outputs", f"{output.selector.text} does not begin with $.Payload"
            )


def _check_script(where: str, script: object, handler: object) -> None:
    """Refuse a script that is not Python, lacks the handler, or has `{{`, which Automation would replace."""
    if not isinstance(script, str) or "{{" in script:
        raise FaultyDocumentError(
            where, "it is not a string, or has the braces of a reference; pass values as InputPayload"
        )
    try:
        tree = ast.parse(script)
    except SyntaxError as error:
        raise FaultyDocumentError(where, f"it is not Python: {error}") from error
    functions = {statement.name: statement for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    if handler not in functions:
        raise FaultyDocumentError(where, f"it has no function {handler!r}, only {sorted(functions)}")
    if len(functions[str(handler)].args.args) != len(("events", "context")):
        raise FaultyDocumentError(where, f"the function {handler!r} does not take events and context")


def _check_payload(where: str, payload: object, types: Types) -> None:
    reference = only_reference(payload)
    kind = types.type_of(where, reference) if reference else None
    if not isinstance(payload, dict) and kind != "StringMap":
        raise FaultyDocumentError(where, f"{payload!r} is not a StringMap")


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    """Run the script. What it raises fails the step, and is in the failure message."""
    given = {"script": inputs["Script"], "handler": inputs["Handler"], "events": inputs.get("InputPayload", {})}
    try:
        text = script_host.run(**given, client=running.client)
    except ScriptFailedError as error:
        raise StepFailedError(str(error), STAGE) from error
    payload = json.loads(text)
    if len(text.encode()) > MAXIMUM_OUTPUT or (isinstance(payload, list) and len(payload) > MAXIMUM_ITEMS):
        raise StepFailedError(f"The output is longer than {MAXIMUM_OUTPUT} bytes or {MAXIMUM_ITEMS} items", STAGE)
    return Outcome({"Payload": payload})


EXECUTE_SCRIPT = Action(_check, _run, defines_outputs=True, seconds=MAXIMUM_SECONDS)
