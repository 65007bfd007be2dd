"""A deployed stack: its status, outputs and parameters, and the runbooks among its outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from express_path.adapters.aws import Aws, calling, pages
from express_path.errors import ApiError
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient


_HEAL_DOCUMENT = "HealDocumentName"
_DEPLOY = "deploy the stack first, or select it with --stack and --region"


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack: its status, the reason for it, and its outputs and parameters by name."""

    name: str
    status: str
    reason: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]


def read_stack(cloudformation: "CloudFormationClient", name: str) -> Stack | None:
    """Read a stack of this account and Region, or return None if there is no stack of that name. Raise ApiError.

    CloudFormation has no error code for a missing stack, only a ValidationError whose message says so
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html).
    """
    try:
        with calling("cloudformation:DescribeStacks"):
            [found] = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ApiError as error:
        if error.code != "ValidationError" or "does not exist" not in error.message:
            raise
        return None
    return _stack(found)


def find_stack(cloudformation: "CloudFormationClient", rule_name: str) -> Stack | None:
    """Read the stack that deployed a rule, or return None if there is none here. Raise ApiError.

    A StackSet gives its stacks generated names, so the outputs show which one it is.
    """
    for found in pages(cloudformation, "cloudformation", "describe_stacks", "Stacks"):
        stack = _stack(found)
        if stack.outputs.get("RuleName") == rule_name and "LedgerTableName" in stack.outputs:
            return stack
    return None


def _stack(found: Mapping[str, Any]) -> Stack:
    return Stack(
        found["StackName"],
        found["StackStatus"],
        found.get("StackStatusReason", ""),
        {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])},
        {parameter["ParameterKey"]: parameter.get("ParameterValue", "") for parameter in found.get("Parameters", [])},
    )


@dataclass(frozen=True, slots=True)
class Runbooks:
    """The runbooks and the ledger of a deployed stack.

    `common` are the parameters that every run gets. `approval_document` is the runbook that asks the approvers; it is
    empty unless the stack's heals need an approval.
    """

    heal_document: str
    undo_document: str
    ledger_table: str
    common: Mapping[str, str]
    approval_document: str = ""


def read_runbooks(aws: Aws, name: str) -> Runbooks:
    """Read which runbooks a stack has. Raise ApiError, and OptionError if there is no such stack or it has no runbooks."""
    return runbooks_of(_existing(aws, name))


def find_runbooks(aws: Aws, name: str) -> Runbooks | None:
    """Read which runbooks a stack has, None if there is no such stack or it has none. Raise ApiError."""
    stack = read_stack(aws.client("cloudformation"), name)
    return runbooks_of(stack) if stack and _HEAL_DOCUMENT in stack.outputs else None


def runbooks_of(stack: Stack) -> Runbooks:
    """Return which runbooks a stack has, from its outputs. Raise OptionError if it has none."""
    needed = (_HEAL_DOCUMENT, "UndoDocumentName", "AutomationRoleArn", "PlanFunctionArn", "LedgerTableName")
    outputs = _with_outputs(stack, needed)
    common = {
        "AutomationAssumeRole": outputs["AutomationRoleArn"],
        "PlanFunctionName": outputs["PlanFunctionArn"],
    }
    approval = outputs.get("ApprovalDocumentName", "") if stack.parameters.get("RemediationMode") == "APPROVAL" else ""
    return Runbooks(outputs[_HEAL_DOCUMENT], outputs["UndoDocumentName"], outputs["LedgerTableName"], common, approval)


@dataclass(frozen=True, slots=True)
class Brake:
    """What it takes to stop the heals of a deployed stack: the role to assume, the ledger, the runbook, and the rule."""

    stop_role_arn: str
    ledger_table: str
    heal_document: str
    rule_name: str


def read_brake(aws: Aws, name: str) -> Brake:
    """Read how to stop the heals of a stack. Raise ApiError, and OptionError if there is no such stack or an output is missing."""
    return brake_of(_existing(aws, name))


def brake_of(stack: Stack) -> Brake:
    """Return how to stop the heals of a stack, from its outputs. Raise OptionError if one is missing."""
    outputs = _with_outputs(stack, ("StopRoleArn", "LedgerTableName", _HEAL_DOCUMENT, "RuleName"))
    return Brake(outputs["StopRoleArn"], outputs["LedgerTableName"], outputs[_HEAL_DOCUMENT], outputs["RuleName"])


def _existing(aws: Aws, name: str) -> Stack:
    stack = read_stack(aws.client("cloudformation"), name)
    if stack is None:
        raise OptionError(f"there is no stack {name} in {aws.region}", _DEPLOY)
    return stack


def _with_outputs(stack: Stack, names: Sequence[str]) -> Mapping[str, str]:
    """Return the outputs of a stack. Raise OptionError if one of the named ones is missing."""
    missing = [name for name in names if name not in stack.outputs]
    if missing:
        raise OptionError(f"stack {stack.name} has no output {missing[0]}", _DEPLOY)
    return stack.outputs


DEFAULT_STACK = "express-path"
"""The stack's name in samconfig.toml."""
StackName = Annotated[str, typer.Option(metavar="NAME", help="The name of the deployed stack.")]
