"""Reading a deployed stack: its status, and what it says of itself."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from express_path.adapters.aws import calling
from express_path.errors import ApiError


class StackRecord(NamedTuple):
    """A stack: its status, why it has that, and its outputs and parameters by name."""

    name: str
    status: str
    reason: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]


def read_stack(cloudformation: Any, name: str) -> StackRecord | None:  # noqa: ANN401  # no types are installed for it
    """A stack of this account and Region, None where there is none of that name. Raises ApiError.

    CloudFormation has no error code of its own for that: the message of a ValidationError says so
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html).
    """
    try:
        with calling("cloudformation:DescribeStacks"):
            [found] = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ApiError as error:
        if error.code != "ValidationError" or "does not exist" not in error.message:
            raise
        return None
    return StackRecord(
        name,
        found["StackStatus"],
        found.get("StackStatusReason", ""),
        {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])},
        {each["ParameterKey"]: each.get("ParameterValue", "") for each in found.get("Parameters", [])},
    )
