"""Stacks: the resources of a template in one account and Region, created together or not at all."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ParamValidationError
from moto.core.exceptions import JsonRESTError
from moto.utilities.utils import get_partition

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.config import AlreadyExistsError
from sandbox.cloudformation.dependencies import in_order
from sandbox.cloudformation.kinds import KINDS
from sandbox.cloudformation.values import Created, Node, Scope, TemplateError
from sandbox.described_stacks import created_stacks

RETAINED = ("Retain", "RetainExceptOnCreate")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a stack could not be created: the resource, and the code and message of the call that failed."""

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
    """A stack. If its creation failed, `failure` says why, and `resources` and `outputs` are empty.

    `resources` are in the order in which they were created, by logical ID; `properties` are those that were passed.
    """

    name: str
    account: Account
    resources: dict[str, Created] = field(default_factory=dict)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None
    template: Mapping[str, Node] = field(default_factory=dict)

    def delete(self, *, retain: bool = True) -> None:
        """Delete the resources, the last first, except those whose DeletionPolicy retains them."""
        for logical_id in reversed(list(self.resources)):
            definition = self.template["Resources"][logical_id]
            if not (retain and definition.get("DeletionPolicy") in RETAINED):
                kind = KINDS[definition["Type"]]
                kind.delete(self.account, self.resources[logical_id].physical_id, self.properties[logical_id])
        self.resources.clear()


def create_stack(account: Account, name: str, template: Mapping[str, Node], parameters: Mapping[str, str]) -> Stack:
    """Create a stack; if a resource fails, delete the others and return the stack with its failure.

    TemplateError if the template or its parameters are refused before anything is created.
    """
    stack = Stack(name, account, template=template)
    scope = Scope(template, parameters, _pseudo_parameters(account, name))
    for logical_id in in_order(template, scope):
        definition = template["Resources"][logical_id]
        properties = scope.resolve(definition.get("Properties", {}))
        try:
            created = _created(account, f"{name}-{logical_id}", definition["Type"], properties)
        except (AlreadyExistsError, ClientError, JsonRESTError, ParamValidationError) as error:
            stack.failure = Failure(logical_id, definition["Type"], *_code_and_message(error))
            stack.delete(retain=False)
            return stack
        stack.properties[logical_id] = properties
        stack.resources[logical_id] = scope.created[logical_id] = created
    stack.outputs = {
        output: scope.resolve(definition["Value"])
        for output, definition in template.get("Outputs", {}).items()
        if "Condition" not in definition or scope.condition(definition["Condition"])
    }
    created_stacks(account.account_id, account.region).append(stack)
    return stack


def _pseudo_parameters(account: Account, name: str) -> dict[str, str]:
    partition = get_partition(account.region)
    place = f"{partition}:cloudformation:{account.region}:{account.account_id}"
    return {
        "AWS::AccountId": account.account_id,
        "AWS::Partition": partition,
        "AWS::Region": account.region,
        "AWS::StackId": f"arn:{place}:stack/{name}",
        "AWS::StackName": name,
        "AWS::URLSuffix": "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com",
    }


def _created(account: Account, name: str, resource_type: str, properties: dict[str, Any]) -> Created:
    """Create one resource. Names that CloudFormation makes up end in characters that differ in each stack."""
    if resource_type not in KINDS:
        raise TemplateError(f"the resource type {resource_type} is not known here")
    place = f"{account.account_id} {account.region} {name}"
    unique = f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:12].upper()}"
    return KINDS[resource_type].create(account, unique, copy.deepcopy(properties))


def _code_and_message(error: Exception) -> tuple[str, str]:
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    if isinstance(error, AlreadyExistsError):
        return "AlreadyExists", str(error)
    if isinstance(error, JsonRESTError):
        return error.error_type, error.message
    return "ValidationError", str(error)
