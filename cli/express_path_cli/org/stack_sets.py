"""Read the StackSets that deploy the rule, and their stack instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from express_path.adapters.aws import calling, pages
from express_path_cli.org.aggregate import PlaceKey

_MODE = "RemediationMode"
"""A parameter of the StackSets that deploy the rule, which that of the ledger does not have."""
VERSION = "CodeKey"
"""The parameter with the key of the function's code, which contains a hash of the code."""
_CURRENT = "CURRENT"


@dataclass(frozen=True, slots=True)
class StackSet:
    """A StackSet: its name, and the values of its parameters."""

    name: str
    parameters: Mapping[str, str]

    @property
    def deploys_rule(self) -> bool:
        """Whether it deploys the rule, unlike the StackSet of the ledger."""
        return _MODE in self.parameters

    @property
    def mode(self) -> str:
        """The remediation mode; empty for the StackSet of the ledger."""
        return self.parameters.get(_MODE, "")

    @property
    def version(self) -> str:
        """The key of the function's code; empty if it deploys no function."""
        return self.parameters.get(VERSION, "")


@dataclass(frozen=True, slots=True)
class StackInstance:
    """A stack instance, and AWS's status of it: CURRENT, OUTDATED, or INOPERABLE, with the reason."""

    stack_set: StackSet
    place: PlaceKey
    status: str
    reason: str

    @property
    def is_current(self) -> bool:
        """Whether the stack has the StackSet's template and parameters."""
        return self.status == _CURRENT


def read_stack_sets(cloudformation: Any, call_as: str, prefix: str) -> list[StackSet]:  # noqa: ANN401  # boto3's client
    """Read the active StackSets with names that begin with a prefix, sorted. Raise ApiError."""
    rows = pages(cloudformation, "cloudformation", "list_stack_sets", "Summaries", Status="ACTIVE", CallAs=call_as)
    names = sorted(str(row["StackSetName"]) for row in rows if str(row["StackSetName"]).startswith(prefix))
    return [StackSet(name, _parameters(cloudformation, call_as, name)) for name in names]


def _parameters(cloudformation: Any, call_as: str, name: str) -> Mapping[str, str]:  # noqa: ANN401  # boto3's client
    with calling("cloudformation:DescribeStackSet"):
        found = cloudformation.describe_stack_set(StackSetName=name, CallAs=call_as)["StackSet"]
    return {row["ParameterKey"]: row.get("ParameterValue", "") for row in found.get("Parameters", ())}


def read_instances(cloudformation: Any, call_as: str, stack_set: StackSet) -> Sequence[StackInstance]:  # noqa: ANN401  # boto3's client
    """Read the stack instances of a StackSet, sorted by account and Region. Raise ApiError."""
    operation, name = "list_stack_instances", stack_set.name
    rows = pages(cloudformation, "cloudformation", operation, "Summaries", StackSetName=name, CallAs=call_as)
    found = [
        StackInstance(
            stack_set,
            PlaceKey(str(row["Account"]), str(row["Region"])),
            str(row["Status"]),
            str(row.get("StatusReason") or ""),
        )
        for row in rows
    ]
    return sorted(found, key=lambda instance: instance.place)
