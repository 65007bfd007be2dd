"""CloudFormation: statuses of stack instances, stacks that the sandbox created, and the stack that created a resource."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import StackInstance, StackInstances, cloudformation_backends
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import generate_stack_id
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.moto_api._internal import mock_random as random

from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches) -> None:
    """Let moto answer with the statuses that tests set, and find stacks by name or resource, until `patches` are undone.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackInstanceSummary.html, and
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html: the answer has
    all resources of the stack that the resource belongs to. A stack is named by its name or its ID:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStackResources.html
    """
    patches.wrap(StackInstance, "__init__", _in_its_account)
    patches.wrap(StackInstances, "create_instances", _in_some_accounts)
    patches.wrap(StackInstance, "to_dict", _with_status)
    patches.wrap(CloudFormationResponse, "describe_stacks", partial(_by_name, "Stacks", _summary))
    patches.wrap(
        CloudFormationResponse,
        "get_template",
        partial(_by_name, "TemplateBody", lambda made: json.dumps(made.template)),
    )
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


def _in_its_account(original: Callable[..., None]) -> Callable[..., None]:
    """Keep the stack of an instance where its account sees it, with a name as CloudFormation makes it.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-concepts.html
    """

    def create(self: StackInstance, *given: object, **named: object) -> None:
        original(self, *given, **named)
        stack = self.stack
        stack.name = f"StackSet-{self.name}-{random.uuid4()}"
        stack.stack_id = generate_stack_id(stack.name, self.region_name, self.account_id)
        cloudformation_backends[self.account_id][self.region_name].stacks[stack.stack_id] = stack

    return create


def _in_some_accounts(original: Callable[..., list[dict[str, Any]]]) -> Callable[..., list[dict[str, Any]]]:
    """Create instances only in the accounts of DeploymentTargets that are in its organizational units.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DeploymentTargets.html
    """

    def create(
        self: StackInstances,
        accounts: list[str],
        regions: list[str],
        parameters: object,
        deployment_targets: dict[str, Any],
        permission_model: str,
    ) -> list[dict[str, Any]]:
        if deployment_targets.get("AccountFilterType") == "INTERSECTION":
            units = {row.id: row.parent_id for row in self.org_backend.ou}
            wanted = set(deployment_targets["OrganizationalUnitIds"])
            accounts = [
                account.id
                for account in self.org_backend.accounts
                if account.id in deployment_targets["Accounts"]
                and wanted & {account.parent_id, units.get(account.parent_id)}
            ]
            deployment_targets = {}
        return original(self, accounts, regions, parameters, deployment_targets, permission_model)

    return create


def _with_status(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def answer(self: StackInstance) -> dict[str, Any]:
        set_by_test: dict[str, Any] = vars(self).get("sandbox_status", {})
        return original(self) | {"StackId": self.stack.stack_id} | set_by_test

    return answer


def _by_name(field: str, described: Callable[[Any], Any], original: Callable[..., Any]) -> Callable[..., Any]:
    def answer(self: CloudFormationResponse) -> object:
        name = self._get_param("StackName")
        for made in created_stacks(self.current_account, self.region):
            if name in (made.name, made.stack_id) and made.resources:
                return ActionResult({field: described(made)})
        found = original(self)
        if name is None and field == "Stacks":  # a list of all stacks
            made_here = created_stacks(self.current_account, self.region)
            found.result[field] += [row for made in made_here if made.resources for row in described(made)]
        return found

    return answer


def _summary(stack: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # a stack of cloudformation/stacks.py
    return [
        {
            "StackName": stack.name,
            "StackId": stack.stack_id,
            "CreationTime": utcnow(),
            "StackStatus": stack.status,
            "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in stack.outputs.items()],
            "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in stack.parameters.items()],
            "Tags": {},
        }
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
            "ResourceStatus": "CREATE_COMPLETE",
        }
        for logical_id, created in stack.resources.items()
    ]
