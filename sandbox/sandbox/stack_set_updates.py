"""CloudFormation: an update of a StackSet takes time, fails beyond its tolerance, and can be stopped.

Each look at a running operation lets it update one more stack instance, so that nothing depends on a clock. Instances that
it does not update are OUTDATED:
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_UpdateStackSet.html,
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StopStackSetOperation.html
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from moto.cloudformation.models import StackSet, cloudformation_backends
from moto.cloudformation.responses import CloudFormationResponse

from sandbox.patches import Patches

OnUpdate = Callable[[str, str, dict[str, str]], None]
"""What happens in an account and Region when its stack gets these parameters. An exception fails the stack's update."""
_CURRENT, _OUTDATED = {"Status": "CURRENT", "StatusReason": ""}, {"Status": "OUTDATED", "StatusReason": ""}


def apply(patches: Patches) -> None:
    """Let operations of StackSets run until `patches` are undone."""
    patches.wrap(CloudFormationResponse, "create_stack_instances", _with_units)
    patches.wrap(CloudFormationResponse, "update_stack_set", _starting)
    patches.wrap(StackSet, "get_operation", _advancing)


def on_update(administrator: tuple[str, str], function: OnUpdate) -> None:
    """Call a function for each stack that a StackSet of this account and Region updates. A reset forgets it."""
    vars(cloudformation_backends[administrator[0]][administrator[1]])["sandbox_on_update"] = function


def _with_units(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the organizational units that a StackSet deploys to."""

    def answer(self: CloudFormationResponse) -> object:
        found = original(self)
        stack_set: Any = self.cloudformation_backend.describe_stack_set(self._get_param("StackSetName"))
        units = (self._get_param("DeploymentTargets") or {}).get("OrganizationalUnitIds", [])
        known = vars(stack_set).setdefault("organizational_unit_ids", [])
        known.extend(unit for unit in units if unit not in known)
        return found

    return answer


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let an update begin, instead of being done at once."""

    def answer(self: CloudFormationResponse) -> object:
        stack_set: Any = self.cloudformation_backend.describe_stack_set(self._get_param("StackSetName"))
        before = (stack_set.template, dict(stack_set.parameters))
        found = original(self)
        targets, regions = self._get_param("DeploymentTargets") or {}, self._get_param("Regions") or []
        accounts = targets.get("Accounts", [])
        is_changed = before != (stack_set.template, dict(stack_set.parameters))
        selected = []
        for instance in stack_set.stack_instances:
            if instance.account_id in accounts and instance.region_name in regions:
                selected.append(instance)
            elif is_changed:
                vars(instance)["sandbox_status"] = _OUTDATED
        tolerance = int((self._get_param("OperationPreferences") or {}).get("FailureTolerancePercentage", 0))
        stack_set.operations[-1] |= {
            "Status": "RUNNING",
            "sandbox_todo": selected,
            "sandbox_allowed": len(accounts) * tolerance // 100,
            "sandbox_failed": Counter[str](),
            "sandbox_on_update": vars(self.cloudformation_backend).get("sandbox_on_update"),
        }
        return found

    return answer


def _advancing(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Let a running operation update its next instance, or end."""

    def answer(self: StackSet, operation_id: str) -> dict[str, Any]:
        operation = original(self, operation_id)
        if operation["Status"] == "RUNNING" and "sandbox_todo" in operation:
            _advance(self, operation)
        return operation

    return answer


def _advance(stack_set: StackSet, operation: dict[str, Any]) -> None:
    if not operation["sandbox_todo"]:
        operation["Status"] = "SUCCEEDED"
        return
    instance = operation["sandbox_todo"].pop(0)
    try:
        if operation["sandbox_on_update"]:
            operation["sandbox_on_update"](instance.account_id, instance.region_name, dict(stack_set.parameters))
        vars(instance)["sandbox_status"] = _CURRENT
    except Exception as error:  # noqa: BLE001  # whatever fails the stack
        vars(instance)["sandbox_status"] = {"Status": "OUTDATED", "StatusReason": str(error)}
        operation["sandbox_failed"][instance.region_name] += 1
        if operation["sandbox_failed"][instance.region_name] > operation["sandbox_allowed"]:
            operation["Status"] = "FAILED"
