"""Runbooks that probes make, run, and read."""

import json
from typing import Any

from acceptance.place import Place

ENDED = ("Success", "Failed", "TimedOut", "Cancelled")
Steps = list[dict[str, Any]]


def script(name: str, answer: Any, outputs: Steps | None = None, **more: Any) -> dict[str, Any]:  # JSON
    """Return a step that returns its input, or raises if the input is `fail`."""
    code = "def run(events, context):\n    if events['answer'] == 'fail':\n        raise ValueError('asked to')\n    return events['answer']\n"
    inputs = {"Runtime": "python3.11", "Handler": "run", "Script": code, "InputPayload": {"answer": answer}}
    return {"name": name, "action": "aws:executeScript", "inputs": inputs, "outputs": outputs or [], **more}


def output(name: str) -> dict[str, Any]:
    """Return an output of a script, of the type String."""
    return {"Name": name, "Selector": f"$.Payload.{name}", "Type": "String"}


def start(place: Place, name: str, steps: Steps) -> str:
    """Make a runbook of the run and start it, and return the execution's ID."""
    ssm, document = place.client("ssm"), f"{place.stack_name}-{name}"
    content = {"schemaVersion": "0.3", "mainSteps": [{k: v for k, v in step.items() if v != []} for step in steps]}
    # Scripts need YAML, and JSON is YAML.
    kind = {"DocumentType": "Automation", "DocumentFormat": "YAML"}
    ssm.create_document(Name=document, Content=json.dumps(content), Tags=place.tags, **kind)
    return str(ssm.start_automation_execution(DocumentName=document)["AutomationExecutionId"])


def end(place: Place, execution_id: str) -> dict[str, dict[str, Any]]:
    """Wait for the end of an execution, and return its steps by name, also those in loops."""
    ssm = place.client("ssm")

    def look() -> Steps | None:
        found = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
        return found["StepExecutions"] if found["AutomationExecutionStatus"] in ENDED else None

    return {step["StepName"]: step for step in place.until(f"the end of {execution_id}", look)}


def run(place: Place, name: str, steps: Steps) -> dict[str, dict[str, Any]]:
    """Make and run a runbook, and return its steps by name."""
    return end(place, start(place, name, steps))
