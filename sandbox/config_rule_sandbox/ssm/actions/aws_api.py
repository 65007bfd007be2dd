"""aws:executeAwsApi: call an operation of an AWS API.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAwsApi.html
"""

from collections.abc import Mapping
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import StepFailedError
from config_rule_sandbox.ssm.shapes import Types, check_inputs, check_selector, operation_model
from config_rule_sandbox.ssm.values import plain

CALL_KEYS = ("Service", "Api")
API_SECONDS = 25
"""Longest duration of one aws:executeAwsApi, as its page says."""


def _check(step: Step, types: Types) -> None:
    operation = operation_model(place(step), step.inputs.get("Service"), step.inputs.get("Api"))
    inputs = {key: value for key, value in step.inputs.items() if key not in CALL_KEYS}
    check_inputs(place(step), inputs, operation.input_shape, types)
    for output in step.outputs:
        check_selector(f"mainSteps.{step.name}.outputs", output.selector, operation.output_shape, output.type)


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    """Call the API with the role's permissions and return its answer. StepFailedError with what it answered."""
    method = getattr(running.client(inputs["Service"]), xform_name(inputs["Api"]))
    parameters = {key: value for key, value in inputs.items() if key not in CALL_KEYS}
    try:
        answer: dict[str, Any] = plain(method(**parameters))
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error) from error
    return Outcome({key: value for key, value in answer.items() if key != "ResponseMetadata"})


EXECUTE = Action(_check, _run, defines_outputs=True, seconds=API_SECONDS)
