"""The calls about StackSets, instead of moto's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from moto.cloudformation.exceptions import StackInstanceNotFound, StackSetNotFoundException, ValidationError
from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import generate_stackset_arn, generate_stackset_id
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, EmptyResult
from moto.organizations.models import OrganizationsBackend

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.all import KINDS
from config_rule_sandbox.cloudformation.stack_sets import (
    Administrator,
    Deployment,
    Instance,
    Operation,
    Place,
    StackSet,
    Targets,
    accepted,
    administrator_of,
    organization_of,
)
from config_rule_sandbox.cloudformation.stacks import FAILURES
from config_rule_sandbox.cloudformation.values import TemplateError, parameter_values
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.organizations.members import STACK_SETS, is_delegated
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox

SETTINGS = (
    "AutoDeployment",
    "Capabilities",
    "Description",
    "ManagedExecution",
    "PermissionModel",
)
"""What DescribeStackSet answers as CreateStackSet or UpdateStackSet has it."""
PER_PAGE = 100
NOT_DELEGATED = (
    "You must be the management account or delegated admin account of an organization before operating a SERVICE_MANAGED "
    "stack set"
)


class NameAlreadyExistsError(ServiceException):
    """A StackSet has the name already."""

    code = "NameAlreadyExistsException"
    message = "The specified name is already in use."


class OperationNotFoundError(ServiceException):
    """The StackSet has no such operation."""

    code = "OperationNotFoundException"
    message = "The specified ID refers to an operation that doesn't exist."


class InvalidOperationError(ServiceException):
    """The operation has ended."""

    code = "InvalidOperationException"
    message = "The specified operation isn't valid."


class _Request:
    """One request: its parameters, and the StackSets of the account that it is about.

    What a delegated administrator creates belongs to the management account:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-orgs-delegated-admin.html
    """

    def __init__(self, sandbox: Sandbox, response: Moto) -> None:
        self._response = response
        self.account_id = str(response.current_account)
        self.region = str(response.region)
        self._sandbox = sandbox
        if self.get("CallAs") == "DELEGATED_ADMIN":
            organization = organization_of(self.account_id)
            if not is_delegated(organization, self.account_id, STACK_SETS):
                raise ValidationError(message=NOT_DELEGATED)
            self.account_id = str(organization.org.master_account_id)

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # JSON
        """Return a parameter of the request."""
        return self._response._get_param(name, default)

    @property
    def administrator(self) -> Administrator:
        """The StackSets of the account."""
        return administrator_of(self.account_id, self.region)

    @property
    def deployment(self) -> Deployment:
        """What operates on them."""
        return Deployment(self._sandbox, self.account_id, self.region)

    @property
    def stack_set(self) -> StackSet:
        """The StackSet that the request names. StackSetNotFoundException if there is none."""
        found = self.administrator.find(self.get("StackSetName"))
        if found is None:
            raise StackSetNotFoundException(self.get("StackSetName"))
        return found

    @property
    def targets(self) -> Targets | None:
        """The targets that the request names, if any."""
        given = self.get("DeploymentTargets") or {"Accounts": self.get("Accounts", [])}
        if not (given.get("Accounts") or given.get("OrganizationalUnitIds")):
            return None
        return Targets(given, self.get("Regions", []))

    @property
    def preferences(self) -> Mapping[str, Any]:
        """The preferences of the operation."""
        found: Mapping[str, Any] = self.get("OperationPreferences") or {}
        return found

    def parameters(self, name: str, previous: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of the request by key, some with the values that they have."""
        return {
            row["ParameterKey"]: previous[row["ParameterKey"]] if row.get("UsePreviousValue") else row["ParameterValue"]
            for row in self.get(name) or ()
        }

    def settings(self) -> dict[str, Any]:
        """Return what the request sets."""
        return {name: self.get(name) for name in SETTINGS if self.get(name) is not None}

    def template(self) -> str:
        """Return the text of the template; empty if the request has none. ValidationError if it is refused."""
        text, url = self.get("TemplateBody") or "", self.get("TemplateURL")
        try:
            if url:
                where = urlsplit(url)
                account = Account(self._sandbox, str(self._response.current_account), self.region)
                named = {"Bucket": where.netloc.split(".")[0], "Key": where.path[1:]}
                text = account.call("s3", "get_object", **named)["Body"].read().decode()
            if text:
                _known(text)
        except (TemplateError, *FAILURES) as error:
            raise ValidationError(message=str(error)) from error
        return str(text)

    def operation(self) -> Operation:
        """Return the operation that the request names. OperationNotFoundError if there is none."""
        found = [row for row in self.stack_set.operations if row.id == self.get("OperationId")]
        if not found:
            raise OperationNotFoundError
        return found[0]

    def page(self, field: str, rows: Sequence[dict[str, Any]]) -> object:
        """Return one page of an answer."""
        start, number = int(self.get("NextToken") or 0), int(self.get("MaxResults") or PER_PAGE)
        following = {"NextToken": str(start + number)} if len(rows) > start + number else {}
        return ActionResult({field: list(rows[start : start + number]), **following})


class StackSets:
    """StackSets with service-managed permissions, in place of moto's."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Prepare; moto is not changed yet."""
        self._sandbox = sandbox

    def apply(self, patches: Patches) -> None:
        """Serve the calls until `patches` are undone, and notice accounts that are created or moved."""
        for name, serve in CALLS.items():
            patches.set(CloudFormationResponse, name, self._serving(serve))
        for name in ("create_account", "move_account", "remove_account_from_organization"):
            patches.wrap(OrganizationsBackend, name, self._noticing)

    def _serving(self, serve: Callable[[_Request], object]) -> Callable[[Moto], object]:
        sandbox = self._sandbox

        def answer(response: Moto) -> object:
            return serve(_Request(sandbox, response))

        return answer

    def _noticing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        sandbox = self._sandbox

        def change(self: Moto, **given: Any) -> object:  # noqa: ANN401  # parameters of the request
            answer = original(self, **given)
            account_id = given.get("AccountId") or answer["CreateAccountStatus"]["AccountId"]
            for region in list(cloudformation_backends[self.account_id]):
                Deployment(sandbox, self.account_id, region).account_changed(account_id)
            return answer

        return change


def create_stack_set(request: _Request) -> object:
    """Create a StackSet without instances."""
    name, text = str(request.get("StackSetName")), request.template()
    if request.administrator.find(name):
        raise NameAlreadyExistsError
    parameters = request.parameters("Parameters", {})
    _check(text, parameters)
    arn = generate_stackset_arn(generate_stackset_id(name), request.region, request.account_id)
    stack_set = StackSet(name, arn, text, parameters, request.settings())
    request.administrator.stack_sets.append(stack_set)
    return ActionResult({"StackSetId": stack_set.id})


def update_stack_set(request: _Request) -> object:
    """Change a StackSet, and update the instances of its targets, or all of them."""
    stack_set, text = request.stack_set, request.template()
    keeps_template = bool(request.get("UsePreviousTemplate"))
    if not text and not keeps_template:
        raise ValidationError(message="Either TemplateBody, TemplateURL, or UsePreviousTemplate is required")
    parameters = request.parameters("Parameters", stack_set.parameters)
    if keeps_template and request.get("Parameters") is None:
        parameters = stack_set.parameters
    text = text or stack_set.template
    _check(text, parameters)
    stack_set.template, stack_set.parameters = text, parameters
    stack_set.settings |= request.settings()
    return _answer(request.deployment.update_instances(stack_set, request.targets, None, request.preferences))


def _known(text: str) -> None:
    """Raise TemplateError if a template is refused, or has a type that is not known here."""
    unknown = {resource["Type"] for resource in accepted(text)["Resources"].values()} - KINDS.keys()
    if unknown:
        raise TemplateError(f"the resource types {sorted(unknown)} are not known here")


def _check(text: str, parameters: Mapping[str, str]) -> None:
    try:
        parameter_values(accepted(text).get("Parameters", {}), parameters)
    except TemplateError as error:
        raise ValidationError(message=str(error)) from error


def delete_stack_set(request: _Request) -> object:
    """Delete a StackSet without instances."""
    request.deployment.delete(request.stack_set)
    return EmptyResult()


def describe_stack_set(request: _Request) -> object:
    """Answer with a StackSet, a deleted one only by its ID."""
    stack_set = request.stack_set
    row = _summary(stack_set) | {
        "StackSetARN": stack_set.arn,
        "TemplateBody": stack_set.template,
        "Parameters": dict(stack_set.parameters),  # moto makes lists of these two
        "Tags": {},
        "Capabilities": stack_set.settings.get("Capabilities", []),
        "OrganizationalUnitIds": sorted(stack_set.units),
        "Regions": sorted(set().union(*stack_set.units.values())),
    }
    return ActionResult({"StackSet": row})


def list_stack_sets(request: _Request) -> object:
    """Answer with StackSets: the active ones, deleted ones, or all."""
    wanted = request.get("Status")
    rows = [_summary(row) for row in request.administrator.stack_sets]
    return request.page("Summaries", [row for row in rows if wanted in (None, row["Status"])])


def _summary(stack_set: StackSet) -> dict[str, Any]:
    kept = ("AutoDeployment", "Description", "ManagedExecution", "PermissionModel")
    settings = {name: stack_set.settings[name] for name in kept if name in stack_set.settings}
    status = "DELETED" if stack_set.is_deleted else "ACTIVE"
    return {"StackSetName": stack_set.name, "StackSetId": stack_set.id, "Status": status, **settings}


def create_stack_instances(request: _Request) -> object:
    """Create instances in the accounts that the targets contain now."""
    overrides = request.parameters("ParameterOverrides", {})
    targets = request.targets or Targets({}, ())
    return _answer(request.deployment.create_instances(request.stack_set, targets, overrides, request.preferences))


def update_stack_instances(request: _Request) -> object:
    """Update instances that exist."""
    targets = request.targets or Targets({}, ())
    given = request.get("ParameterOverrides")
    overrides = None if given is None else request.parameters("ParameterOverrides", {})
    return _answer(request.deployment.update_instances(request.stack_set, targets, overrides, request.preferences))


def delete_stack_instances(request: _Request) -> object:
    """Delete instances, and their stacks unless these are retained."""
    targets, retain = request.targets or Targets({}, ()), bool(request.get("RetainStacks"))
    return _answer(request.deployment.delete_instances(request.stack_set, targets, request.preferences, retain=retain))


def _answer(operation: Operation) -> object:
    return ActionResult({"OperationId": operation.id})


def describe_stack_instance(request: _Request) -> object:
    """Answer with one instance."""
    stack_set = request.stack_set
    place = Place(request.get("StackInstanceAccount"), request.get("StackInstanceRegion"))
    if place not in stack_set.instances:
        raise StackInstanceNotFound
    instance = stack_set.instances[place]
    overrides = [{"ParameterKey": name, "ParameterValue": value} for name, value in instance.overrides.items()]
    return ActionResult({"StackInstance": _instance(stack_set, instance) | {"ParameterOverrides": overrides}})


def list_stack_instances(request: _Request) -> object:
    """Answer with the instances, or those of an account, a Region, or a detailed status."""
    stack_set = request.stack_set
    filters = {row["Name"]: row["Values"] for row in request.get("Filters") or ()}
    rows = [_instance(stack_set, row) for _, row in sorted(stack_set.instances.items())]
    rows = [
        row
        for row in rows
        if request.get("StackInstanceAccount") in (None, row["Account"])
        and request.get("StackInstanceRegion") in (None, row["Region"])
        and filters.get("DETAILED_STATUS") in (None, row["StackInstanceStatus"]["DetailedStatus"])
    ]
    return request.page("Summaries", rows)


def _instance(stack_set: StackSet, instance: Instance) -> dict[str, Any]:
    return {
        "StackSetId": stack_set.id,
        "Account": instance.place.account_id,
        "Region": instance.place.region,
        "StackId": instance.stack.stack_id if instance.stack else None,
        "Status": instance.status,
        "StatusReason": instance.reason or None,
        "StackInstanceStatus": {"DetailedStatus": instance.detailed_status},
        "OrganizationalUnitId": instance.unit_id,
        "DriftStatus": "NOT_CHECKED",
        "LastOperationId": instance.operation_id,
    }


def describe_stack_set_operation(request: _Request) -> object:
    """Answer with one operation."""
    return ActionResult({"StackSetOperation": _operation(request.operation()) | {"StackSetId": request.stack_set.id}})


def list_stack_set_operations(request: _Request) -> object:
    """Answer with the operations, the last first."""
    return request.page("Summaries", [_operation(row) for row in reversed(request.stack_set.operations)])


def _operation(operation: Operation) -> dict[str, Any]:
    return {
        "OperationId": operation.id,
        "Action": operation.action,
        "Status": operation.status,
        "CreationTimestamp": operation.created,
        "EndTimestamp": operation.ended,
        "OperationPreferences": dict(operation.preferences),
        "DeploymentTargets": dict(operation.targets),
    }


def list_stack_set_operation_results(request: _Request) -> object:
    """Answer with what an operation did in each account and Region."""
    rows = [
        {"Account": row.account_id, "Region": row.region, "Status": row.status, "StatusReason": row.reason or None}
        for row in request.operation().results
    ]
    return request.page("Summaries", rows)


def stop_stack_set_operation(request: _Request) -> object:
    """Refuse to stop an operation: here, all work is done when it is answered."""
    raise InvalidOperationError(f"operation {request.operation().id} has ended")


CALLS = {
    serve.__name__: serve
    for serve in (
        create_stack_instances,
        create_stack_set,
        delete_stack_instances,
        delete_stack_set,
        describe_stack_instance,
        describe_stack_set,
        describe_stack_set_operation,
        list_stack_instances,
        list_stack_set_operation_results,
        list_stack_set_operations,
        list_stack_sets,
        stop_stack_set_operation,
        update_stack_instances,
        update_stack_set,
    )
}
