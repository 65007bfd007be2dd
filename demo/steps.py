"""What the demonstration shows about a runbook's execution: a line for each step, and why a blocked one failed."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from typing import Any

from config_rule_sandbox.calls import READING_VERBS

Step = Mapping[str, Any]
"""A StepExecution (botocore model)."""

PENDING, SUCCESS = "Pending", "Success"
UNFINISHED = {PENDING, "InProgress", "Waiting"}
SCRIPT = "aws:executeScript"
"""The scripts of the runbooks read what the plan function answered, and write to the ledger what it says."""
GIVEN = {"AddRouteTableIds": "adds", "RemoveRouteTableIds": "removes"}
"""Parameters of calls that say what changes; the resource itself is the same in all steps."""
LEDGER_SERVICE = "dynamodb"
"""The service that keeps the ledger. A record in the ledger changes no network."""


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step that has ended: what it called, and what came of it. `changes` is True if it may change something."""

    name: str
    text: str
    changes: bool


def step_lines(steps: Sequence[Step], *, is_over: bool) -> list[StepLine]:
    """Return lines for the steps that have ended, in the order in which they began.

    Where a branch led to is known once the next step has begun, so until the execution is over its line has to wait.
    Scripts that read the answer of the step before them, and change nothing, have no line of their own.
    """
    begun = [step for step in steps if step["StepStatus"] != PENDING]
    begun.sort(key=lambda step: step["ExecutionStartTime"])
    pairs = zip_longest(begun, begun[1:])
    ready = takewhile(lambda pair: is_over or (pair[1] and pair[0]["StepStatus"] not in UNFINISHED), pairs)
    shown = [
        (step, following)
        for step, following in ready
        if (step["Action"], step["StepStatus"]) != (SCRIPT, SUCCESS) or _written(step) or _ec2_call(step)
    ]
    return [_line(step, following["StepName"] if following else "the end") for step, following in shown]


def step_outputs(steps: Sequence[Step], name: str) -> dict[str, str]:
    """Return the outputs of the step of this name, each one's first value; none if it did not succeed."""
    outputs = [step.get("Outputs", {}) for step in steps if step["StepName"] == name]
    return {name: values[0] for output in outputs for name, values in output.items()}


def failures(steps: Sequence[Step]) -> list[Mapping[str, Any]]:
    """Return why the steps of a failed run failed, as its step explain answers; none if the run has not failed."""
    payload = step_outputs(steps, "explain").get("Payload", "{}")
    found: list[Mapping[str, Any]] = json.loads(payload).get("failures", [])
    return found


def _written(step: Step) -> list[str]:
    """Return the ids of the ledger's items that a script writes."""
    answer = json.loads(step.get("Inputs", {}).get("InputPayload", "{}")).get("answer", "{}")
    while isinstance(answer, str):
        answer = json.loads(answer)
    return [write["request"]["Key"]["id"]["S"] for write in answer.get("ledger", [])]


def _ec2_call(step: Step) -> str:
    """Return the call of EC2 in a step's script, empty if there is none."""
    call = re.search(r"boto3\.client\(\W*ec2\W*\)\.(\w+)", step.get("Inputs", {}).get("Script", ""))
    return "ec2 " + "".join(map(str.capitalize, call[1].split("_"))) if call else ""


def _line(step: Step, following: str) -> StepLine:
    inputs = {key: value.strip('"') for key, value in step.get("Inputs", {}).items()}
    describe = _DESCRIPTIONS.get(step["Action"], _other)
    text = describe(inputs, step, following) if step["StepStatus"] == SUCCESS else step["StepStatus"]
    # Where a reference in the inputs found nothing, the step has failed before it called anything.
    calls = step["Action"] == "aws:executeAwsApi" and inputs.get("Service") != LEDGER_SERVICE
    changes = calls and not inputs.get("Api", "Get").startswith(READING_VERBS)
    return StepLine(step["StepName"], text, changes or bool(_ec2_call(step)))


def _call(inputs: Mapping[str, str], step: Step, _following: str) -> str:
    """Return the call with the record it writes, or what it adds or takes away, and what it made."""
    if inputs["Service"] == LEDGER_SERVICE:
        record = json.loads(inputs.get("Key") or inputs["Item"])["id"]["S"]
        return f"ledger: {record}"
    given = [f", {verb} {', '.join(json.loads(inputs[name]))}" for name, verb in GIVEN.items() if name in inputs]
    tags = [" " + ", ".join(tag["Key"] for tag in json.loads(inputs["Tags"]))] if "Tags" in inputs else []
    made = [
        f" -> {value}" for name, values in step.get("Outputs", {}).items() for value in values if name.endswith("Id")
    ]
    return f"{inputs['Service']} {inputs['Api']}" + "".join([*given, *tags, *made])


def _function(inputs: Mapping[str, str], step: Step, _following: str) -> str:
    """Return what the plan function answered: a plan's action, a verdict, or why steps failed."""
    answer = json.loads(step["Outputs"]["Payload"][0])
    parts = [answer[name] for name in ("action", "next", "compliance", "reason") if name in answer]
    parts += [failure["code"] for failure in answer.get("failures", ())]
    logical_id = inputs["FunctionName"].split("-")[-2]
    return f"lambda {logical_id} -> {', '.join(parts)}"


def _script(_inputs: Mapping[str, str], step: Step, _following: str) -> str:
    return _ec2_call(step) or f"ledger: {', '.join(_written(step))}"


def _branch(_inputs: Mapping[str, str], _step: Step, following: str) -> str:
    return f"-> {following}"


def _other(_inputs: Mapping[str, str], step: Step, _following: str) -> str:
    return str(step["Action"])


_DESCRIPTIONS: Mapping[str, Callable[[Mapping[str, str], Step, str], str]] = {
    "aws:executeAwsApi": _call,
    "aws:invokeLambdaFunction": _function,
    "aws:branch": _branch,
    SCRIPT: _script,
}
