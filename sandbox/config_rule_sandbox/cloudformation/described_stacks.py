"""CloudFormation: stacks that the sandbox created, and the stack that created a resource."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.moto_api._internal import mock_random

from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto find stacks by name or resource, until `patches` are undone.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html: the answer has
    all resources of the stack that the resource belongs to. A stack is named by its name or its ID:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStackResources.html
    """
    patches.wrap(CloudFormationResponse, "describe_stacks", partial(_by_name, "Stacks", _summary))
    patches.wrap(
        CloudFormationResponse,
        "get_template",
        partial(_by_name, "TemplateBody", lambda made: made.body or json.dumps(made.template)),
    )
    patches.wrap(CloudFormationResponse, "describe_stack_events", partial(_by_name, "StackEvents", _events))
    patches.wrap(
        CloudFormationResponse, "list_stack_resources", partial(_by_name, "StackResourceSummaries", _resources)
    )
    patches.wrap(CloudFormationResponse, "describe_stack_resources", _by_physical_id)


def created_stacks(account_id: str, region: str) -> list[Any]:
    """Return the stacks of an account and Region that the sandbox itself created, not moto; it adds them here.

    A reset of moto's backend removes them.
    """
    found: list[Any] = vars(cloudformation_backends[account_id][region]).setdefault("sandbox_stacks", [])
    return found


def _by_name(field: str, described: Callable[[Any], Any], original: Callable[..., Any]) -> Callable[..., Any]:
    def answer(self: CloudFormationResponse) -> object:
        name = self._get_param("StackName")
        made_here = created_stacks(self.current_account, self.region)
        for made in made_here:
            if (name == made.name and _is_there(made)) or name == made.stack_id:
                return ActionResult({field: described(made)})
        found = original(self)
        if name is None and field == "Stacks":  # a list of all stacks
            found.result[field] += [row for made in made_here if _is_there(made) for row in described(made)]
        return found

    return answer


def _is_there(stack: Any) -> bool:  # noqa: ANN401  # a stack of cloudformation/stacks.py
    """Return whether a stack has a name, which it loses when it is deleted."""
    return bool(stack.shown_status != "DELETE_COMPLETE")


def _summary(stack: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # a stack of cloudformation/stacks.py
    return [
        {
            "StackName": stack.name,
            "StackId": stack.stack_id,
            "CreationTime": stack.created,
            "StackStatus": stack.shown_status,
            "StackStatusReason": stack.reason or None,
            "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in stack.outputs.items()],
            "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in stack.parameters.items()],
            "Tags": {},
            **stack.settings,
        }
    ]


def _events(stack: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # a stack of cloudformation/stacks.py
    """Return the status of a stack, and the resource that failed, if one did; other events are not kept."""
    rows = [(stack.name, "AWS::CloudFormation::Stack", stack.shown_status, stack.reason)]
    if failure := stack.failure:
        action = "UPDATE" if stack.status.startswith("UPDATE") else "CREATE"
        rows.append((failure.logical_id, failure.resource_type, f"{action}_FAILED", failure.message))
    return [
        {
            "StackId": stack.stack_id,
            "StackName": stack.name,
            "Timestamp": utcnow(),
            "EventId": str(mock_random.uuid4()),
            "LogicalResourceId": name,
            "ResourceType": resource_type,
            "ResourceStatus": status,
            "ResourceStatusReason": reason or None,
        }
        for name, resource_type, status, reason in rows
    ]


def _by_physical_id(original: Callable[..., Any]) -> Callable[..., Any]:
    def answer(self: CloudFormationResponse) -> object:
        physical_id = self._get_param("PhysicalResourceId")
        if not physical_id:
            return original(self)
        for stack in self.cloudformation_backend.stacks.values():
            resources: list[Any] = list(stack.stack_resources)
            if any(resource.physical_resource_id == physical_id for resource in resources):
                self.params["StackName"] = stack.name
                return original(self)
        for made in created_stacks(self.current_account, self.region):
            if any(resource.physical_id == physical_id for resource in made.resources.values()):
                return ActionResult({"StackResources": _resources(made)})
        raise ValidationError(message=f"Stack for {physical_id} does not exist")

    return answer


def _resources(stack: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # a stack of cloudformation/stacks.py
    return [
        {
            "StackName": stack.name,
            "LogicalResourceId": logical_id,
            "PhysicalResourceId": created.physical_id,
            "ResourceType": stack.template["Resources"][logical_id]["Type"],
            "Timestamp": utcnow(),
            "LastUpdatedTimestamp": utcnow(),
            "ResourceStatus": stack.statuses.get(logical_id, "CREATE_COMPLETE"),
        }
        for logical_id, created in stack.resources.items()
    ]
