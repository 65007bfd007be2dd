"""aws:invokeLambdaFunction: invoke a function and wait for its answer.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html
"""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from config_rule_sandbox.answers import RaisedError
from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from config_rule_sandbox.ssm.references import only_reference
from config_rule_sandbox.ssm.shapes import Types

MAXIMUM_SECONDS = 300
MAXIMUM_OUTPUT = 200 * 1024
"""Bytes that a function may answer: https://docs.aws.amazon.com/general/latest/gr/ssm.html."""

STAGE = "invoking the Lambda function"
PREDEFINED = {"StatusCode": "Integer", "FunctionError": "String", "Payload": "String"}
"""Outputs by the action's page, without LogResult: there is no log here."""


def _check(step: Step, types: Types) -> None:
    """Check the inputs: InputPayload is a map; outputs select from `$.Payload` or another predefined output."""
    check_keys(step, ("FunctionName",), ("InputPayload",))
    _check_type(step, "FunctionName", str, "String", types)
    _check_type(step, "InputPayload", dict, "StringMap", types)
    if step.timeout_seconds and step.timeout_seconds > MAXIMUM_SECONDS:
        raise FaultyDocumentError(f"mainSteps.{step.name}.timeoutSeconds", f"at most {MAXIMUM_SECONDS} are possible")
    for output in step.outputs:
        if output.selector.names[0] not in PREDEFINED:
            raise FaultyDocumentError(
                f"mainSteps.{step.name}.outputs", f"{output.selector.text} does not begin with one of {[*PREDEFINED]}"
            )


def _check_type(step: Step, key: str, kind: type, expected: str, types: Types) -> None:
    value = step.inputs.get(key)
    reference = only_reference(value)
    if key not in step.inputs or (reference is None and isinstance(value, kind)):
        return
    if reference is None or types.type_of(place(step), reference) != expected:
        raise FaultyDocumentError(f"{place(step)}.{key}", f"{value!r} is not a {expected}")


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    """Invoke the function. What it raised is in the failure message of the step, or in its output Payload."""
    if running.step.outputs and not running.knobs.lambda_selectors:
        raise StepFailedError(f"The outputs of this action are {[*PREDEFINED]}; others are not documented", STAGE)
    try:
        event = json.dumps(inputs.get("InputPayload", {}))
        answer = running.client("lambda").invoke(FunctionName=inputs["FunctionName"], Payload=event.encode())
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error, STAGE) from error
    payload: str = answer["Payload"].read().decode()
    raised = answer.get("FunctionError")
    if raised and running.answers.raised_error is RaisedError.FAILS_STEP:
        raise StepFailedError(f"Function Error: {raised}. Payload: {payload}", STAGE)
    if len(payload.encode()) > MAXIMUM_OUTPUT:
        raise StepFailedError(f"The function's answer is longer than {MAXIMUM_OUTPUT} bytes", STAGE)
    found = json.loads(payload or "null")
    response = {"StatusCode": answer["StatusCode"], "Payload": found, **({"FunctionError": raised} if raised else {})}
    return Outcome(response, predefined={"Payload": payload})


INVOKE = Action(_check, _run, predefined_outputs=PREDEFINED, defines_outputs=True, seconds=MAXIMUM_SECONDS)
