"""aws:invokeLambdaFunction: invoke a function and wait for its answer.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html
"""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from sandbox.ssm.document import Step
from sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from sandbox.ssm.references import only_reference
from sandbox.ssm.selectors import Child
from sandbox.ssm.shapes import Types

MAXIMUM_SECONDS = 300
MAXIMUM_OUTPUT = 200 * 1024
"""Bytes that a function may answer: https://docs.aws.amazon.com/general/latest/gr/ssm.html."""

STAGE = "invoking the Lambda function"
OPTIONAL = ("Qualifier", "InvocationType", "LogType", "InputPayload", "Payload")
PREDEFINED = {"StatusCode": "Integer", "FunctionError": "String", "Payload": "String"}
"""Outputs by the action's page, without LogResult: there is no log here."""

FIXED = {"InvocationType": "RequestResponse", "LogType": "None"}
"""Inputs that are understood with these values only."""


def _check(step: Step, types: Types) -> None:
    """Check the inputs: InputPayload is a map, Payload a string; outputs select from `$.Payload` and its like."""
    check_keys(step, ("FunctionName",), OPTIONAL)
    for key, value in FIXED.items():
        if step.inputs.get(key, value) != value:
            raise FaultyDocumentError(f"{place(step)}.{key}", f"only {value} is supported here")
    for key, expected in {"FunctionName": "String", "Qualifier": "String", "Payload": "String"}.items():
        _check_type(step, key, str, expected, types)
    _check_type(step, "InputPayload", dict, "StringMap", types)
    if step.timeout_seconds and step.timeout_seconds > MAXIMUM_SECONDS:
        raise FaultyDocumentError(f"mainSteps.{step.name}.timeoutSeconds", f"at most {MAXIMUM_SECONDS} are possible")
    for output in step.outputs:
        first = output.selector.parts[:1]
        if first not in {(Child(name),) for name in PREDEFINED}:
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
    """Invoke the function. A failed one fails the step, and what it raised is in the failure message."""
    if running.step.outputs and not running.knobs.lambda_selectors:
        raise StepFailedError(f"The outputs of this action are {[*PREDEFINED]}; others are not documented", STAGE)
    qualifier = {"Qualifier": inputs["Qualifier"]} if "Qualifier" in inputs else {}
    try:
        answer = running.client("lambda").invoke(
            FunctionName=inputs["FunctionName"], Payload=_payload(inputs), **qualifier
        )
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error, STAGE) from error
    payload: str = answer["Payload"].read().decode()
    if answer.get("FunctionError"):
        raise StepFailedError(f"Function Error: {answer['FunctionError']}. Payload: {payload}", STAGE)
    if len(payload.encode()) > MAXIMUM_OUTPUT:
        raise StepFailedError(f"The function's answer is longer than {MAXIMUM_OUTPUT} bytes", STAGE)
    found = json.loads(payload or "null")
    response = {"StatusCode": answer["StatusCode"], "Payload": found}
    return Outcome(response, predefined={"Payload": found if running.knobs.payload_as_object else payload})


def _payload(inputs: Mapping[str, Any]) -> bytes:
    """Return the event: InputPayload if it is there, else Payload."""
    if "InputPayload" in inputs:
        return json.dumps(inputs["InputPayload"]).encode()
    payload: str = inputs.get("Payload", "{}")
    try:
        json.loads(payload)
    except ValueError as error:
        raise StepFailedError(f"The payload {payload!r} is not JSON: {error}", STAGE) from error
    return payload.encode()


INVOKE = Action(_check, _run, predefined_outputs=PREDEFINED, defines_outputs=True, seconds=MAXIMUM_SECONDS)
