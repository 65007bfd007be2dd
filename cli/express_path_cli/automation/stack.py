"""A deployed stack: its status, outputs and parameters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from express_path.adapters.aws import calling, pages
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

VERSION = "Version"
"""The output with the version of express-path."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack: its ARN, its status, the reason for it, and its outputs and parameters by name."""

    id: str
    name: str
    status: str
    reason: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]

    @property
    def version(self) -> str:
        """The version of express-path that the stack says to be of; empty if it says none. Anybody may have chosen it."""
        version = self.outputs.get(VERSION, "")
        return version if re.fullmatch(r"\d{1,4}(\.\d{1,4}){2}", version) else ""


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


def list_stacks(cloudformation: "CloudFormationClient") -> list[Stack]:
    """Read the stacks of this account and Region, the oldest first. Raise ApiError.

    CloudFormation sets the time, so a stack that somebody made to look like another one is never before it.
    """
    found = pages(cloudformation, "cloudformation", "describe_stacks", "Stacks")
    return [_stack(row) for row in sorted(found, key=lambda row: row["CreationTime"])]


def _stack(found: Mapping[str, Any]) -> Stack:
    return Stack(
        found.get("StackId", ""),
        found["StackName"],
        found["StackStatus"],
        found.get("StackStatusReason", ""),
        {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])},
        {parameter["ParameterKey"]: parameter.get("ParameterValue", "") for parameter in found.get("Parameters", [])},
    )


DEFAULT_STACK = "express-path"
"""The stack's name in samconfig.toml."""
StackName = Annotated[str | None, typer.Option(metavar="NAME", help="The name of the deployed stack.")]
