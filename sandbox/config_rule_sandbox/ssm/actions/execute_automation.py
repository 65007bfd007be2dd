"""aws:executeAutomation: run another runbook and wait for its end.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAutomation.html
"""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.execution import ENDED, SUCCESS
from config_rule_sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from config_rule_sandbox.ssm.references import only_reference
from config_rule_sandbox.ssm.shapes import Types

LOOK_EVERY = 5.0
"""Seconds, on AWS's clock, between two looks at the secondary automation; AWS does not say how many."""

STAGE = "executing the secondary automation"
PREDEFINED = {"Output": "StringList", "ExecutionId": "String", "Status": "String"}


def _check(step: Step, types: Types) -> None:
    """Check the inputs that this executor takes; the secondary runbook checks its parameters when it is started."""
    check_keys(step, ("DocumentName",), ("RuntimeParameters",))
    if not _is(step.inputs["DocumentName"], ("String",), types, step):
        raise FaultyDocumentError(f"{place(step)}.DocumentName", f"{step.inputs['DocumentName']!r} is not a String")
    parameters = step.inputs.get("RuntimeParameters", {})
    if not isinstance(parameters, dict):
        raise FaultyDocumentError(f"{place(step)}.RuntimeParameters", f"{parameters!r} is not a map")
    for name, value in parameters.items():
        if not all(_is(item, ("String", "StringList"), types, step) for item in _values(value)):
            raise FaultyDocumentError(f"{place(step)}.RuntimeParameters.{name}", f"{value!r} is not a list of strings")


def _is(value: Any, kinds: tuple[str, ...], types: Types, step: Step) -> bool:  # noqa: ANN401  # any JSON value
    reference = only_reference(value)
    return isinstance(value, str) if reference is None else types.type_of(place(step), reference) in kinds


def _values(value: Any) -> list[Any]:  # noqa: ANN401  # any JSON value
    return value if isinstance(value, list) else [value]


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    """Start the secondary automation as the role of this one. StepFailedError if it does not succeed."""
    request: dict[str, Any] = {"DocumentName": inputs["DocumentName"]}
    if inputs.get("RuntimeParameters"):
        request["Parameters"] = {name: _values(value) for name, value in inputs["RuntimeParameters"].items()}
    ssm = running.client("ssm")
    try:
        execution_id = ssm.start_automation_execution(**request)["AutomationExecutionId"]
        while (found := _find(ssm, execution_id))["AutomationExecutionStatus"] not in ENDED:
            running.pause(LOOK_EVERY)
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error, STAGE) from error
    status = found["AutomationExecutionStatus"]
    if status != SUCCESS:
        reason = found.get("FailureMessage", "")
        raise StepFailedError(f"The automation {execution_id} ended with status {status}: {reason}", STAGE)
    output = [text for texts in found.get("Outputs", {}).values() for text in texts]
    return Outcome({"Output": output, "ExecutionId": execution_id, "Status": status})


def _find(ssm: Any, execution_id: str) -> dict[str, Any]:  # noqa: ANN401  # a boto3 client
    answer = ssm.get_automation_execution(AutomationExecutionId=execution_id)
    execution: dict[str, Any] = answer["AutomationExecution"]
    return execution


EXECUTE_AUTOMATION = Action(_check, _run, predefined_outputs=PREDEFINED, waits=True)
