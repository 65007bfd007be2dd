"""aws:executeScript: its input, output, and limits, and how a script reads a function's output.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeScript.html
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.ssm import Automation, FaultyDocumentError, read

Run = Callable[..., dict[str, Any]]

COUNT = """
import json

seen = []

def handler(events, context):
    seen.append(1)
    plan = events["plan"]
    if isinstance(plan, str):
        plan = json.loads(plan)
    return {"count": len(plan["ids"]), "first": plan["ids"][0], "calls": len(seen), "deep": {"ids": plan["ids"]}}
"""


def script(text: str, name: str = "work", **more: Any) -> dict[str, Any]:
    """Return a step that runs a script with the handler `handler`."""
    inputs = {"Runtime": "python3.11", "Handler": "handler", "Script": text}
    inputs |= {key: more.pop(key) for key in ("InputPayload", "Runtime", "Handler", "Attachment") if key in more}
    return {"name": name, "action": "aws:executeScript", "inputs": inputs, **more}


def output(name: str, kind: str = "String") -> dict[str, str]:
    """Return an output of the same name in the payload."""
    return {"Name": name, "Selector": f"$.Payload.{name}", "Type": kind}


def returning(expression: str) -> str:
    """Return a script whose handler returns the value of an expression."""
    return f"def handler(events, context):\n    return {expression}\n"


@pytest.mark.parametrize("as_object", [False, True])
def test_script_reads_the_output_of_a_function_in_either_form(
    run: Run, automation: Automation, *, as_object: bool
) -> None:
    """The documented output Payload is text or an object. A script's outputs are fields of its return value."""
    automation.knobs.lambda_selectors = False
    automation.knobs.payload_as_object = as_object
    automation.functions.register("f", lambda _: {"ids": ["a", "b"]})
    ask = {"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f"}}
    wanted = [output("count", "Integer"), output("first"), output("calls", "Integer"), output("deep", "StringMap")]
    payload = {"plan": "{{ ask.Payload }}"}
    steps = [script(COUNT, name, InputPayload=payload, outputs=wanted) for name in ("work", "again")]
    found = run(ask, *steps)
    assert found["AutomationExecutionStatus"] == "Success", found["FailureMessage"]
    for step in found["StepExecutions"][1:]:
        deep = json.dumps({"ids": ["a", "b"]}, separators=(",", ":"))
        assert step["Outputs"] == {"count": ["2"], "first": ["a"], "calls": ["1"], "deep": [deep]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (returning("events['plan']"), "line 2, in handler\nKeyError - 'plan'"),
        ("import sys\ndef handler(events, context):\n    sys.exit(0)\n", "SystemExit - 0"),
        (returning("{1, 2}"), "TypeError - Object of type set is not JSON serializable"),
        ("import express_path\n" + returning("{}"), "No module named 'express_path'"),
        (returning("'x' * 102400"), "longer than 102400 bytes or 100 items"),
        (returning("list(range(101))"), "longer than 102400 bytes or 100 items"),
    ],
)
def test_script_that_fails_fails_its_step(run: Run, text: str, reason: str) -> None:
    """The failure message has a script's exception. A return value that is not JSON or is too long fails too."""
    found = run(script(text))
    assert found["AutomationExecutionStatus"] == "Failed"
    assert reason in found["FailureMessage"]


def test_script_times_out(run: Run) -> None:
    """A script that takes longer than timeoutSeconds ends the execution as TimedOut."""
    text = "import time\ndef handler(events, context):\n    time.sleep(2)\n"
    assert run(script(text, timeoutSeconds=1))["AutomationExecutionStatus"] == "TimedOut"


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (script(returning("{}"), Runtime="python3.7"), "python3.7"),
        (script(returning("{}"), Handler="main"), "no function 'main'"),
        (script("def handler(events):\n    return {}\n"), "does not take events and context"),
        (script("def handler(:"), "not Python"),
        (script(returning("'{{ Name }}'")), "braces"),
        (script(returning("{}"), InputPayload="{{ Name }}"), "not a StringMap"),
        (script(returning("{}"), Attachment="a.zip"), "unknown input Attachment"),
        (script(returning("{}"), timeoutSeconds=601), "at most 600"),
        (script(returning("{}"), outputs=[{"Name": "a", "Selector": "$.a", "Type": "String"}]), "$.Payload"),
    ],
)
def test_faulty_script_step_is_refused(step: dict[str, Any], fault: str) -> None:
    """A document that AWS would reject, or that would fail in its first run, is rejected."""
    document = {"schemaVersion": "0.3", "parameters": {"Name": {"type": "String"}}, "mainSteps": [step]}
    with pytest.raises(FaultyDocumentError) as caught:
        read(json.dumps(document), "JSON")
    assert fault in caught.value.fault


def test_selectors_on_a_functions_payload_can_be_refused(run: Run, automation: Automation) -> None:
    """If the setting says so, only documented outputs exist."""
    automation.functions.register("f", lambda _: {"a": "b"})
    automation.knobs.lambda_selectors = False
    inputs = {"FunctionName": "f"}
    found = run({"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": inputs, "outputs": [output("a")]})
    assert found["AutomationExecutionStatus"] == "Failed"
    assert "not documented" in found["FailureMessage"]


CALL = """
import boto3

def handler(events, context):
    iam = boto3.client("iam")
    try:
        iam.get_role(RoleName="other")
    except iam.exceptions.NoSuchEntityException as error:
        return {"code": error.response["Error"]["Code"]}
"""


def test_script_calls_aws(run: Run) -> None:
    """A script has boto3, whose clients have the permissions of the runbook's role."""
    found = run(script(CALL, outputs=[output("code")]))
    assert found["StepExecutions"][0]["Outputs"]["code"] == ["NoSuchEntity"]
