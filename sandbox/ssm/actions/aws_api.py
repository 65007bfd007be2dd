"""aws:executeAwsApi, and the two actions that look at a property of an API's answer.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAwsApi.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-assertAwsResourceProperty.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-waitForAwsResourceProperty.html
"""

from collections.abc import Mapping
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from sandbox.ssm import selectors
from sandbox.ssm.actions.base import Action, Outcome, Running, place
from sandbox.ssm.document import Step
from sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from sandbox.ssm.selectors import ABSENT, Selector
from sandbox.ssm.shapes import Types, check_inputs, check_selector, operation_model
from sandbox.ssm.values import plain

CALL_KEYS = ("Service", "Api")
PROPERTY_KEYS = (*CALL_KEYS, "PropertySelector", "DesiredValues")
API_SECONDS = 25
"""Longest duration of one aws:executeAwsApi, as its page says."""

WAIT_SECONDS = 3600


def _check_call(step: Step, types: Types, keys: tuple[str, ...] = CALL_KEYS) -> None:
    operation = operation_model(place(step), step.inputs.get("Service"), step.inputs.get("Api"))
    inputs = {key: value for key, value in step.inputs.items() if key not in keys}
    check_inputs(place(step), inputs, operation.input_shape, types)
    for output in step.outputs:
        check_selector(f"mainSteps.{step.name}.outputs", output.selector, operation.output_shape, output.type)


def _check_property(step: Step, types: Types) -> None:
    """Check the call, the selector and the desired values: strings, `True` and `False` for a Boolean property."""
    _check_call(step, types, PROPERTY_KEYS)
    where = place(step)
    selector, desired = step.inputs.get("PropertySelector"), step.inputs.get("DesiredValues")
    if not isinstance(desired, list) or not desired or not all(isinstance(each, str) for each in desired):
        raise FaultyDocumentError(f"{where}.DesiredValues", f"{desired!r} is not a list of strings")
    try:
        parsed = selectors.parse(str(selector))
    except ValueError as error:
        raise FaultyDocumentError(f"{where}.PropertySelector", str(error)) from error
    operation = operation_model(where, step.inputs["Service"], step.inputs["Api"])
    check_selector(f"{where}.PropertySelector", parsed, operation.output_shape, "String")


def _execute(inputs: Mapping[str, Any], running: Running) -> Outcome:
    return Outcome(_call(inputs, running, CALL_KEYS))


def _assert(inputs: Mapping[str, Any], running: Running) -> Outcome:
    found = _property(inputs, running)
    if found not in inputs["DesiredValues"]:
        raise StepFailedError(
            f"Property value '{found}' from the API output is not in the desired values. "
            f"Desired values: {list(inputs['DesiredValues'])}."
        )
    return Outcome()


def _wait(inputs: Mapping[str, Any], running: Running) -> Outcome:
    while _property(inputs, running) not in inputs["DesiredValues"]:
        running.pause(running.knobs.poll_seconds)
    return Outcome()


def _property(inputs: Mapping[str, Any], running: Running) -> str:
    """Return the selected property as text, a Boolean as `True` or `False`; `None` where there is none."""
    selector: Selector = selectors.parse(inputs["PropertySelector"])
    found = selector.select(_call(inputs, running, PROPERTY_KEYS))
    return str(None if found is ABSENT else found)


def _call(inputs: Mapping[str, Any], running: Running, keys: tuple[str, ...]) -> dict[str, Any]:
    """Call the API with the role's permissions and return its answer. StepFailedError with what it answered."""
    method = getattr(running.client(inputs["Service"]), xform_name(inputs["Api"]))
    parameters = {key: value for key, value in inputs.items() if key not in keys}
    try:
        answer: dict[str, Any] = plain(method(**parameters))
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error) from error
    return {key: value for key, value in answer.items() if key != "ResponseMetadata"}


EXECUTE = Action(_check_call, _execute, defines_outputs=True, seconds=API_SECONDS)
ASSERT = Action(_check_property, _assert, seconds=WAIT_SECONDS)
WAIT_FOR = Action(_check_property, _wait, seconds=WAIT_SECONDS, waits=True)
