"""The resource type AWS::CloudFormation::StackSet, as AWS's own handler works, which is public.

https://github.com/aws-cloudformation/aws-cloudformation-resource-providers-cloudformation (aws-cloudformation-stackset).
Methods that are named here are those of its classes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, NotStabilizedError, Properties
from config_rule_sandbox.cloudformation.values import Created

LONGEST_MESSAGE = 850
"""BaseHandlerStd.ERROR_MESSAGE_CHARACTER_LIMIT."""
CREATING = (
    "StackSetName",
    "AdministrationRoleARN",
    "AutoDeployment",
    "PermissionModel",
    "Capabilities",
    "Description",
    "ExecutionRoleName",
    "Parameters",
    "TemplateBody",
    "TemplateURL",
    "CallAs",
    "ManagedExecution",
)
"""RequestTranslator.createStackSetRequest."""
UPDATING = (
    "AdministrationRoleARN",
    "AutoDeployment",
    "OperationPreferences",
    "Capabilities",
    "Description",
    "ExecutionRoleName",
    "Parameters",
    "TemplateBody",
    "TemplateURL",
    "CallAs",
)
"""RequestTranslator.updateStackSetRequest."""
MANAGING: tuple[str, ...] = ("AdministrationRoleARN", "ExecutionRoleName", "Capabilities", "CallAs")
"""RequestTranslator.updateManagedExecutionRequest."""
COMPARED = ("AdministrationRoleARN", "Description", "ExecutionRoleName", "TemplateBody", "Parameters", "AutoDeployment")
"""Comparator.isStackSetConfigEquals."""

Group = dict[str, Any]
"""An element of StackInstancesGroup."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Accounts of a unit: the named ones, or all others."""

    named: frozenset[str]
    others: bool

    def __bool__(self) -> bool:
        """Return whether there can be any."""
        return self.others or bool(self.named)

    def __and__(self, other: "Accounts") -> "Accounts":
        """Return those in both."""
        if self.others and other.others:
            return Accounts(self.named | other.named, others=True)
        if self.others:
            return Accounts(other.named - self.named, others=False)
        return Accounts(self.named - other.named if other.others else self.named & other.named, others=False)

    def __sub__(self, other: "Accounts") -> "Accounts":
        """Return those that are not in the other."""
        return self & Accounts(other.named, others=not other.others)

    def targets(self, unit_id: str) -> dict[str, Any]:
        """Return the DeploymentTargets of a request (AltStackInstancesCalculator.addToInstancesSet)."""
        kind = "DIFFERENCE" if self.others else "INTERSECTION"
        if not self.named:
            return {"OrganizationalUnitIds": [unit_id], "AccountFilterType": "NONE"}
        return {"OrganizationalUnitIds": [unit_id], "Accounts": sorted(self.named), "AccountFilterType": kind}


@dataclass(frozen=True, slots=True)
class Changes:
    """The groups whose instances an update of the resource deletes, creates, and updates, each by a request."""

    delete: Sequence[Group]
    create: Sequence[Group]
    update: Sequence[Group]


def is_filtered(properties: Properties) -> bool:
    """Return whether a target has an AccountFilterType, NONE included (Comparator.isAccountLevelTargetingEnabled)."""
    return any("AccountFilterType" in group["DeploymentTargets"] for group in properties.get("StackInstancesGroup", ()))


def changes(earlier: Properties, properties: Properties) -> Changes:
    """Return what an update does to the instances (BaseHandlerStd.analyzeTemplate)."""
    if is_filtered(earlier) or is_filtered(properties):
        return _filtered_changes(earlier, properties)
    known, wanted = _flat(earlier), _flat(properties)
    return Changes(
        list(_grouped({place: known[place] for place in known if place not in wanted})),
        list(_grouped({place: wanted[place] for place in wanted if place not in known})),
        list(_grouped({place: wanted[place] for place in wanted if place in known and known[place] != wanted[place]})),
    )


def _flat(properties: Properties) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Return the overrides of each unit and Region (InstancesAnalyzer.flattenStackInstancesGroup)."""
    return {
        (unit_id, region): tuple(
            sorted((row["ParameterKey"], row["ParameterValue"]) for row in group.get("ParameterOverrides", ()))
        )
        for group in properties.get("StackInstancesGroup", ())
        for region in group["Regions"]
        for unit_id in group["DeploymentTargets"]["OrganizationalUnitIds"]
    }


def _grouped(overrides: dict[tuple[str, str], tuple[tuple[str, str], ...]]) -> Iterator[Group]:
    """Yield one group for all Regions of units that have the same ones (InstancesAnalyzer.aggregateStackInstances)."""
    regions: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for (unit_id, region), values in overrides.items():
        regions.setdefault((unit_id, values), []).append(region)
    units: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[str]] = {}
    for (unit_id, values), names in regions.items():
        units.setdefault((tuple(sorted(names)), values), []).append(unit_id)
    for (region_names, values), unit_ids in units.items():
        yield {
            "DeploymentTargets": {"OrganizationalUnitIds": unit_ids},
            "Regions": list(region_names),
            "ParameterOverrides": [{"ParameterKey": name, "ParameterValue": value} for name, value in values],
        }


def _filtered_changes(earlier: Properties, properties: Properties) -> Changes:
    """Return one group for each Region and unit, as differences of accounts (AltResourceModelAnalyzer.analyze).

    Whatever is a target before and after is updated, changed or not (AltStackInstancesCalculator.constructTargetSetForSharedOu).
    """
    known, wanted = _by_region(earlier), _by_region(properties)
    nobody = Accounts(frozenset(), others=False)
    places = [*wanted, *(place for place in known if place not in wanted)]
    found: dict[str, list[Group]] = {"delete": [], "create": [], "update": []}
    for place in places:
        before, after = known.get(place, nobody), wanted.get(place, nobody)
        parts = {"delete": before - after, "create": after - before, "update": before & after}
        region, unit_id = place
        for name, accounts in parts.items():
            if accounts:
                found[name].append({"DeploymentTargets": accounts.targets(unit_id), "Regions": [region]})
    return Changes(found["delete"], found["create"], found["update"])


def _by_region(properties: Properties) -> dict[tuple[str, str], Accounts]:
    """Return the accounts of each Region and unit (AltResourceModelAnalyzer.regroupStackInstancesByRegion)."""
    order = properties.get("OperationPreferences", {}).get("RegionOrder", [])
    found: dict[tuple[str, str], Accounts] = {}
    for group in properties.get("StackInstancesGroup", ()):
        accounts = _accounts(group["DeploymentTargets"])
        for region in group["Regions"]:
            for unit_id in group["DeploymentTargets"]["OrganizationalUnitIds"]:
                found[region, unit_id] = accounts
    return dict(sorted(found.items(), key=lambda item: order.index(item[0][0]) if item[0][0] in order else len(order)))


def _accounts(targets: dict[str, Any]) -> Accounts:
    """Return the accounts of a target (Validator.validateServiceManagedDeploymentTarget)."""
    kind, named = targets.get("AccountFilterType", "NONE"), frozenset(targets.get("Accounts", ()))
    if kind not in {"NONE", "INTERSECTION", "DIFFERENCE"}:
        raise NotStabilizedError(f"{kind} is not a valid AccountFilterType", "")
    if kind == "NONE" and named:
        message = "AccountFilterType should be specified when both OrganizationalUnitIds and Accounts are provided"
        raise NotStabilizedError(message, "")
    if kind != "NONE" and not named:
        raise NotStabilizedError("Accounts should be specified when Account-level Targeting is enabled", "")
    return Accounts(named, others=kind != "INTERSECTION")


def create(account: Account, _name: str, properties: Properties) -> Created:
    """Create the StackSet, then its instances; with a filter, one Region after the other (CreateHandler.handleRequest)."""
    groups = changes({}, properties).create
    request = {name: properties[name] for name in CREATING if name in properties}
    stack_set_id = account.call("cloudformation", "create_stack_set", **request)["StackSetId"]
    for group in groups:
        _operate(account, stack_set_id, properties, "create_stack_instances", group)
    return Created(stack_set_id, {"StackSetId": stack_set_id})


def update(account: Account, stack_set_id: str, earlier: Properties, properties: Properties) -> None:
    """Update the StackSet and its instances (UpdateHandler.handleRequest).

    Its order: managed execution, what is no longer a target, the StackSet with all its instances, new targets, and, with a
    filter, the instances again. The StackSet is updated even if nothing changed if the template has a URL.
    """
    wanted = changes(earlier, properties)
    if earlier.get("ManagedExecution") != properties.get("ManagedExecution"):
        managed = properties.get("ManagedExecution", {"Active": False})
        kept = {name: properties[name] for name in MANAGING if name in properties}
        request = {"UsePreviousTemplate": True, "ManagedExecution": managed, **kept}
        _wait(account, stack_set_id, properties, "update_stack_set", **request)
    for group in wanted.delete:
        _delete_group(account, stack_set_id, properties, group)
    if "TemplateURL" in properties or any(earlier.get(name) != properties.get(name) for name in COMPARED):
        request = {name: properties[name] for name in UPDATING if name in properties}
        _wait(account, stack_set_id, properties, "update_stack_set", **request)
    for group in wanted.create:
        _operate(account, stack_set_id, properties, "create_stack_instances", group)
    for group in wanted.update:
        _operate(account, stack_set_id, properties, "update_stack_instances", group)


def delete(account: Account, stack_set_id: str, properties: Properties) -> None:
    """Delete the instances of the targets, then the StackSet, which has no others (DeleteHandler.handleRequest)."""
    groups: Sequence[Group] = properties.get("StackInstancesGroup", ())
    if is_filtered(properties):
        groups = changes(properties, {}).delete
    for group in groups:
        _delete_group(account, stack_set_id, properties, group)
    account.call("cloudformation", "delete_stack_set", StackSetName=stack_set_id, **_call_as(properties))


def _delete_group(account: Account, stack_set_id: str, properties: Properties, group: Group) -> None:
    """Delete instances; those that are gone are no error (BaseHandlerStd.deleteStackInstances)."""
    named = {name: group[name] for name in ("DeploymentTargets", "Regions")}
    try:
        _operate(account, stack_set_id, properties, "delete_stack_instances", named | {"RetainStacks": False})
    except ClientError as error:
        if error.response["Error"]["Code"] != "StackInstanceNotFoundException":
            raise


def _operate(account: Account, stack_set_id: str, properties: Properties, operation: str, group: Group) -> None:
    """Make a request about instances, with the preferences of the resource."""
    preferences = (
        {"OperationPreferences": properties["OperationPreferences"]} if "OperationPreferences" in properties else {}
    )
    _wait(account, stack_set_id, properties, operation, **group, **preferences, **_call_as(properties))


def _wait(account: Account, stack_set_id: str, properties: Properties, operation: str, **request: Any) -> None:  # noqa: ANN401  # JSON
    """Make a request, and raise NotStabilizedError unless its operation succeeds (BaseHandlerStd.isStackSetOperationDone)."""
    answer = account.call("cloudformation", operation, StackSetName=stack_set_id, **request)
    named = {"StackSetName": stack_set_id, "OperationId": answer["OperationId"], **_call_as(properties)}
    found = account.call("cloudformation", "describe_stack_set_operation", **named)["StackSetOperation"]
    if found["Status"] not in {"FAILED", "STOPPED"}:
        return
    rows = account.call("cloudformation", "list_stack_set_operation_results", **named)["Summaries"]
    reasons = sorted({row["StatusReason"] for row in rows if row["Status"] == "FAILED"})
    message = f"Stack set operation [{answer['OperationId']}] was unexpectedly stopped or failed. status reason(s):"
    message += "".join(f" [{reason}]" for reason in reasons)
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]}... Use list-stack-set-operation-results for more information."
    raise NotStabilizedError(message, stack_set_id)


def _call_as(properties: Properties) -> dict[str, str]:
    return {"CallAs": properties["CallAs"]} if "CallAs" in properties else {}


KINDS = {"AWS::CloudFormation::StackSet": Kind(create, delete, update)}
