"""A deployed stack: its status, outputs and parameters, and the runbooks among its outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from express_path.adapters.aws import Aws, calling
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient


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
    return Stack(
        name,
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
    """Read which runbooks a stack has, from its outputs. Raise ApiError, also if there is no such stack or it has no runbooks."""
    stack = read_stack(aws.client("cloudformation"), name)
    if stack is None:
        raise ApiError("cloudformation:DescribeStacks", "NoRunbooks", f"there is no stack {name} in {aws.region}")
    outputs = stack.outputs
    needed = ("HealDocumentName", "UndoDocumentName", "AutomationRoleArn", "PlanFunctionArn", "LedgerTableName")
    missing = [output for output in needed if output not in outputs]
    if missing:
        raise ApiError("cloudformation:DescribeStacks", "NoRunbooks", f"stack {name} has no output {missing[0]}")
    common = {
        "AutomationAssumeRole": outputs["AutomationRoleArn"],
        "PlanFunctionName": outputs["PlanFunctionArn"],
    }
    approval = outputs.get("ApprovalDocumentName", "") if stack.parameters.get("RemediationMode") == "APPROVAL" else ""
    return Runbooks(
        outputs["HealDocumentName"], outputs["UndoDocumentName"], outputs["LedgerTableName"], common, approval
    )


DEFAULT_STACK = "express-path"
"""The stack's name in samconfig.toml."""
