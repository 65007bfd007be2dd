"""CloudFormation: statuses of stack instances, stacks that the sandbox created, and the stack that created a resource."""

from collections.abc import Callable
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import StackInstance, cloudformation_backends
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.core.utils import utcnow

from sandbox.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto answer with the statuses that tests set, and find stacks by name or resource, until `patches` are undone.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackInstanceSummary.html, and
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html: the answer has
    all resources of the stack that the resource belongs to.
    """
    patches.wrap(StackInstance, "to_dict", _with_status)
    patches.wrap(CloudFormationResponse, "describe_stacks", _by_name)
    patches.wrap(CloudFormationResponse, "describe_stack_resources", _by_physical_id)


def created_stacks(account_id: str, region: str) -> list[Any]:
    """Return the stacks of an account and Region that the sandbox itself created, not moto; it adds them here.

    A reset of moto's backend removes them.
    """
    found: list[Any] = vars(cloudformation_backends[account_id][region]).setdefault("sandbox_stacks", [])
    return found


def set_status(
    administrator: tuple[str, str], stack_set: str, place: tuple[str, str], status: str, reason: str = ""
) -> None:
    """Set the status (CURRENT, OUTDATED or INOPERABLE) of the instance of a StackSet in an account and Region.

    `administrator` is the account and Region of the StackSet.
    """
    backend = cloudformation_backends[administrator[0]][administrator[1]]
    found: Any = backend.describe_stack_set(stack_set)
    [instance] = [row for row in found.stack_instances if (row.account_id, row.region_name) == place]
    vars(instance)["sandbox_status"] = {"Status": status, "StatusReason": reason}


def _with_status(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def answer(self: StackInstance) -> dict[str, Any]:
        set_by_test: dict[str, Any] = vars(self).get("sandbox_status", {})
        return original(self) | set_by_test

    return answer


def _by_name(original: Callable[..., Any]) -> Callable[..., Any]:
    def answer(self: CloudFormationResponse) -> object:
        name = self._get_param("StackName")
        for made in created_stacks(self.current_account, self.region):
            if made.name == name and made.resources:
                return ActionResult({"Stacks": [_summary(made)]})
        return original(self)

    return answer


def _summary(stack: Any) -> dict[str, Any]:  # noqa: ANN401  # a stack of sandbox/cloudformation/
    return {
        "StackName": stack.name,
        "CreationTime": utcnow(),
        "StackStatus": "UPDATE_COMPLETE" if stack.updates else "CREATE_COMPLETE",
        "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in stack.outputs.items()],
        "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in stack.parameters.items()],
        "Tags": {},
    }


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
                return ActionResult({"StackResources": [_described(made, name) for name in made.resources]})
        raise ValidationError(message=f"Stack for {physical_id} does not exist")

    return answer


def _described(stack: Any, logical_id: str) -> dict[str, Any]:  # noqa: ANN401  # a stack of sandbox/cloudformation/
    return {
        "StackName": stack.name,
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": stack.resources[logical_id].physical_id,
        "ResourceType": stack.template["Resources"][logical_id]["Type"],
        "Timestamp": utcnow(),
        "ResourceStatus": "CREATE_COMPLETE",
    }
