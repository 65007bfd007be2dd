"""aws:createTags, for EC2 resources.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-createtag.html
"""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from sandbox.ssm.document import Step
from sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from sandbox.ssm.shapes import Types, check_inputs, operation_model

RESOURCE_TYPE = "EC2"
SECONDS = 25


def _check(step: Step, types: Types) -> None:
    """Check the inputs against EC2's CreateTags. Other resource types are not supported here."""
    check_keys(step, ("ResourceIds", "Tags"), ("ResourceType",))
    if step.inputs.get("ResourceType", RESOURCE_TYPE) != RESOURCE_TYPE:
        raise FaultyDocumentError(f"{place(step)}.ResourceType", f"only {RESOURCE_TYPE} is supported here")
    operation = operation_model(place(step), "ec2", "CreateTags")
    check_inputs(place(step), _parameters(step.inputs), operation.input_shape, types)


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    try:
        running.client("ec2").create_tags(**_parameters(inputs))
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error) from error
    return Outcome()


def _parameters(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"Resources": inputs["ResourceIds"], "Tags": inputs["Tags"]}


CREATE_TAGS = Action(_check, _run, seconds=SECONDS)
