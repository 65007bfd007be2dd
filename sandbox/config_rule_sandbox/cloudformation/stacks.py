"""Stacks: the resources of a template in one account and Region, created or updated together or not at all."""

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from botocore.exceptions import ClientError, ParamValidationError
from moto.core.exceptions import JsonRESTError
from moto.core.utils import utcnow
from moto.utilities.utils import get_partition

from config_rule_sandbox.cloudformation.account import Account, DeniedError
from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudformation.kinds.all import KINDS
from config_rule_sandbox.cloudformation.kinds.config import AlreadyExistsError
from config_rule_sandbox.cloudformation.kinds.kind import NotStabilizedError
from config_rule_sandbox.cloudformation.order import in_order
from config_rule_sandbox.cloudformation.permissions import CREATE, DELETE, READ, UPDATE, of_resource
from config_rule_sandbox.cloudformation.values import Created, Node, Scope, TemplateError

RETAINED = ("Retain", "RetainExceptOnCreate")
RETAINED_ON_ROLLBACK = ("Retain",)
"""What stays if the creation of its stack fails.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
"""
GONE = ("NotFound", "NotFoundException", "NoSuchEntity")
"""How the codes of errors end that say that a resource does not exist."""
FAILURES = (AlreadyExistsError, ClientError, DeniedError, JsonRESTError, NotStabilizedError, ParamValidationError)
"""What the calls that create, update, or delete a resource raise."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a stack could not be created or updated: the resource, and the code and message of the call that failed."""

    logical_id: str
    resource_type: str
    code: str
    message: str

    def __str__(self) -> str:
        """Return the reason in the form of StatusReason of a stack instance."""
        where = f"ResourceLogicalId:{self.logical_id}, ResourceType:{self.resource_type}"
        return f"{where}, ResourceStatusReason:{self.message} (Error Code: {self.code})."


@dataclass(slots=True)
class Stack:
    """A stack. If its creation or its last update failed, `failure` says why.

    `resources` are in the order in which they were created, by logical ID; `properties` are those that were passed. `parameters` has all values.
    `status` is AWS's, as soon as the stack is no longer busy, and `reason` says why something failed. `undo` is what still
    takes back the last update if it failed: logical IDs, and what to do. `body` is the text of the template, `settings` are
    what else CreateStack got, and the stack seems to be `busy_with` something until `busy_until` on the monotonic clock.
    `statuses` are those of resources that are not CREATE_COMPLETE, by logical ID, as tests set them.
    """

    name: str
    account: Account
    resources: dict[str, Created] = field(default_factory=dict)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None
    template: Mapping[str, Node] = field(default_factory=dict)
    updates: int = 0
    status: str = "CREATE_COMPLETE"
    reason: str = ""
    undo: list[tuple[str, Callable[[], None]]] = field(default_factory=list)
    stack_id: str = ""
    body: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    busy_until: float = 0.0
    busy_with: str = ""
    statuses: dict[str, str] = field(default_factory=dict)
    created: datetime = field(default_factory=utcnow)

    @property
    def shown_status(self) -> str:
        """The status that callers see: an operation takes as long as those of the StackSets in the stack."""
        return self.busy_with if monotonic() < self.busy_until else self.status

    def __post_init__(self) -> None:
        """Give it an ARN that ends in an ID, unless it has one."""
        if not self.stack_id:
            partition, account = get_partition(self.account.region), self.account
            arn = f"arn:{partition}:cloudformation:{account.region}:{account.account_id}:stack/{self.name}"
            self.stack_id = f"{arn}/{uuid5(NAMESPACE_URL, arn)}"

    def delete(self, retained: Sequence[str] = RETAINED) -> None:
        """Delete the resources, the last first, except those whose DeletionPolicy retains them.

        A resource that somebody has deleted already is no error. The handlers of most types find that out themselves:
        https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
        """
        for logical_id in reversed(list(self.resources)):
            definition = self.template["Resources"][logical_id]
            if definition.get("DeletionPolicy") not in retained:
                try:
                    _delete(self, logical_id, self.resources[logical_id], self.properties[logical_id])
                except ClientError as error:
                    if not error.response["Error"]["Code"].endswith(GONE):
                        raise
            del self.resources[logical_id]


def create_stack(
    account: Account, name: str, template: Mapping[str, Node], parameters: Mapping[str, str], *, keep: bool = False
) -> Stack:
    """Create a stack; if a resource fails, delete the others, unless retained, and return the stack with its failure.

    With `keep`, as with the option DO_NOTHING, what was created stays
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html, OnFailure). TemplateError if the template or its parameters are refused before anything is created.
    """
    stack = Stack(name, account, template=template)
    scope = Scope(template, parameters, _pseudo_parameters(account, name))
    for logical_id in in_order(template, scope):
        definition = template["Resources"][logical_id]
        properties = scope.resolve(definition.get("Properties", {}))
        try:
            created = _created(stack, logical_id, definition["Type"], properties)
        except FAILURES as error:
            stack.failure = Failure(logical_id, definition["Type"], *_code_and_message(error))
            stack.parameters = scope.parameters
            if isinstance(error, NotStabilizedError) and error.physical_id:
                stack.properties[logical_id], stack.resources[logical_id] = properties, Created(error.physical_id)
            _roll_back_creation(stack, keep=keep)
            return stack
        stack.properties[logical_id] = properties
        stack.resources[logical_id] = scope.created[logical_id] = created
    stack.outputs, stack.parameters = _outputs(template, scope), scope.parameters
    created_stacks(account.account_id, account.region).append(stack)
    return stack


def _roll_back_creation(stack: Stack, *, keep: bool) -> None:
    stack.reason = str(stack.failure)
    if keep:
        stack.status = "CREATE_FAILED"
        return
    stack.account = stack.account.of_caller(None)  # at AWS, what the caller may not delete stays
    try:
        stack.delete(RETAINED_ON_ROLLBACK)
        stack.status = "ROLLBACK_COMPLETE"
    except FAILURES as error:
        stack.status, stack.reason = "ROLLBACK_FAILED", f"{stack.reason} Then, {_code_and_message(error)[1]}"


def update_stack(stack: Stack, template: Mapping[str, Node], parameters: Mapping[str, str]) -> Failure | None:
    """Update a stack to a template, or return why it failed and leave the stack as it was, unless that fails, too.

    Parameters that are not given have their defaults. A resource that did not change is not touched. One that changed is
    updated in place, or replaced if AWS's schema of its type says so. After everything else, resources that were
    replaced or are no longer in the template are deleted, except those that a policy retains:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html,
    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatereplacepolicy.html.
    TemplateError if the template or its parameters are refused before anything changes, or if an update is not known here.
    """
    scope = Scope(template, parameters, _pseudo_parameters(stack.account, stack.name))
    stack.updates += 1
    stack.undo.clear()
    properties: dict[str, dict[str, Any]] = {}
    retained: set[str] = set()
    for logical_id in in_order(template, scope):
        definition = template["Resources"][logical_id]
        properties[logical_id] = scope.resolve(definition.get("Properties", {}))
        try:
            scope.created[logical_id] = _changed(stack, logical_id, definition["Type"], properties[logical_id])
        except FAILURES as error:
            failure = Failure(logical_id, definition["Type"], *_code_and_message(error))
            stack.failure, stack.reason = failure, str(failure)
            roll_back_update(stack)
            return failure
        if definition.get("UpdateReplacePolicy") in RETAINED:
            retained.add(logical_id)
    for logical_id, earlier in reversed(stack.resources.items()):
        definition = stack.template["Resources"][logical_id]
        is_retained = (
            logical_id in retained if logical_id in properties else definition.get("DeletionPolicy") in RETAINED
        )
        if scope.created.get(logical_id) != earlier and not is_retained:
            _delete(stack, logical_id, earlier, stack.properties[logical_id])
    stack.resources, stack.properties, stack.template = scope.created, properties, template
    stack.outputs, stack.parameters = _outputs(template, scope), scope.parameters
    stack.status, stack.reason, stack.failure = "UPDATE_COMPLETE", "", None
    return None


def roll_back_update(stack: Stack, skipped: Sequence[str] = ()) -> None:
    """Take back what a failed update did, the last first, except for the resources whose logical IDs are to be skipped.

    If that fails, the status is UPDATE_ROLLBACK_FAILED, and it goes on from there the next time:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ContinueUpdateRollback.html
    """
    while stack.undo:
        logical_id, step = stack.undo[-1]
        try:
            if logical_id not in skipped:
                step()
        except FAILURES as error:
            stack.status, stack.reason = "UPDATE_ROLLBACK_FAILED", _code_and_message(error)[1]
            return
        stack.undo.pop()
    stack.status = "UPDATE_ROLLBACK_COMPLETE"


def _changed(stack: Stack, logical_id: str, resource_type: str, properties: dict[str, Any]) -> Created:
    """Bring one resource up to date, and add what takes that back if the update of the stack fails."""
    kind, known = KINDS.get(resource_type), stack.resources.get(logical_id)
    if kind and known and stack.template["Resources"][logical_id]["Type"] == resource_type:
        earlier = stack.properties[logical_id]
        changed = {name for name in earlier.keys() | properties if earlier.get(name) != properties.get(name)}
        if not changed:
            return known
        if not changed & _replacing(resource_type, stack.account.region, properties):
            if kind.update is None:
                raise TemplateError(f"updates of {sorted(changed)} of {resource_type} are not known here")
            handlers = UPDATE, READ
            place = stack.account.place
            stack.account.require(of_resource(resource_type, handlers, known.physical_id, properties, place))
            update = partial(kind.update, stack.account, known.physical_id)
            step = logical_id, partial(update, copy.deepcopy(properties), copy.deepcopy(earlier))
            try:
                update(copy.deepcopy(earlier), copy.deepcopy(properties))
            except NotStabilizedError:
                stack.undo.append(step)
                raise
            stack.undo.append(step)
            return known
    try:
        created = _created(stack, logical_id, resource_type, properties)
    except NotStabilizedError as error:
        if error.physical_id:
            remove = partial(KINDS[resource_type].delete, stack.account, error.physical_id, properties)
            stack.undo.append((logical_id, remove))
        raise
    stack.undo.append(
        (logical_id, partial(KINDS[resource_type].delete, stack.account, created.physical_id, properties))
    )
    return created


def _replacing(resource_type: str, region: str, properties: Mapping[str, Any]) -> set[str]:
    """Return the properties whose change replaces a resource, from AWS's schema of its type, which cfn-lint contains.

    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html. Those that replace it
    under a condition do so here, too, except for documents that get new versions:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ssm-document.html
    """
    from cfnlint.schema.manager import (  # noqa: PLC0415  # it takes seconds
        PROVIDER_SCHEMA_MANAGER,
    )

    schema: Mapping[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, resource_type).schema
    pointers = set(schema.get("createOnlyProperties", ()))
    if properties.get("UpdateMethod") != "NewVersion":
        pointers.update(schema.get("conditionalCreateOnlyProperties", ()))
    return {pointer.removeprefix("/properties/") for pointer in pointers}


def _outputs(template: Mapping[str, Node], scope: Scope) -> dict[str, str]:
    return {
        output: scope.resolve(definition["Value"])
        for output, definition in template.get("Outputs", {}).items()
        if "Condition" not in definition or scope.condition(definition["Condition"])
    }


def _pseudo_parameters(account: Account, name: str) -> dict[str, str]:
    partition = get_partition(account.region)
    return {
        "AWS::AccountId": account.account_id,
        "AWS::Partition": partition,
        "AWS::Region": account.region,
        "AWS::StackId": Stack(name, account).stack_id,
        "AWS::StackName": name,
        "AWS::URLSuffix": "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com",
    }


def _created(stack: Stack, logical_id: str, resource_type: str, properties: dict[str, Any]) -> Created:
    """Create one resource. Names that CloudFormation makes up end in characters that differ in each stack and update."""
    if resource_type not in KINDS:
        raise TemplateError(f"the resource type {resource_type} is not known here")
    account, name = stack.account, f"{stack.name}-{logical_id}"
    place = f"{account.account_id} {account.region} {name}" + (f" {stack.updates}" if stack.updates else "")
    unique = f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:12].upper()}"
    account.require(of_resource(resource_type, (CREATE, READ), unique, properties, account.place))
    return KINDS[resource_type].create(account, unique, copy.deepcopy(properties))


def _delete(stack: Stack, logical_id: str, created: Created, properties: dict[str, Any]) -> None:
    """Delete one resource."""
    resource_type, account = stack.template["Resources"][logical_id]["Type"], stack.account
    account.require(of_resource(resource_type, (DELETE,), created.physical_id, properties, account.place))
    KINDS[resource_type].delete(account, created.physical_id, properties)


def _code_and_message(error: Exception) -> tuple[str, str]:
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    if isinstance(error, DeniedError):
        return "AccessDenied", str(error)
    if isinstance(error, AlreadyExistsError):
        return "AlreadyExists", str(error)
    if isinstance(error, NotStabilizedError):
        return "NotStabilized", str(error)
    if isinstance(error, JsonRESTError):
        return error.error_type, error.message
    return "ValidationError", str(error)
