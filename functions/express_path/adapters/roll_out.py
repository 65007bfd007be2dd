"""A roll-out to an organization: its accounts, the StackSets of express-path, and the stack instances."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import calling, pages

if TYPE_CHECKING:
    from mypy_boto3_organizations import OrganizationsClient

STACK_SETS = "express-path-"
"""How the names of the StackSets begin: those of org/*.yaml end with the OU or with what they deploy."""
_MODE = "RemediationMode"
"""A parameter of the StackSets that deploy the rule, which that of the ledger does not have."""
_VERSION = "CodeKey"
"""The parameter with the key of the function's code, which contains a hash of the code."""


class Place(NamedTuple):
    """An account (12 digits) in one Region."""

    account_id: str
    region: str

    def __str__(self) -> str:
        return f"account {self.account_id} {self.region}"


@dataclass(frozen=True, slots=True)
class StackSet:
    """A StackSet: its name, its ID, and the values of its parameters."""

    name: str
    id: str
    parameters: Mapping[str, str]

    @property
    def deploys_rule(self) -> bool:
        """Whether it deploys the rule, unlike the StackSet of the ledger."""
        return _MODE in self.parameters

    @property
    def deploys_integrations(self) -> bool:
        """Whether it deploys the integrations: functions, and no rule."""
        return bool(self.version) and not self.deploys_rule

    @property
    def mode(self) -> str:
        """The remediation mode; empty for the StackSet of the ledger."""
        return self.parameters.get(_MODE, "")

    @property
    def version(self) -> str:
        """The key of the function's code; empty if it deploys no function."""
        return self.parameters.get(_VERSION, "")


@dataclass(frozen=True, slots=True)
class StackInstance:
    """A stack instance, and AWS's status of it, with the reason: OUTDATED, INOPERABLE, or CURRENT.

    One that is CURRENT has the StackSet's template and parameters.

    stack_id: the ARN of its stack, empty if it has none.
    """

    stack_set: StackSet
    place: Place
    status: str
    reason: str
    stack_id: str


def read_stack_sets(cloudformation: Any, call_as: str) -> list[StackSet]:  # noqa: ANN401  # boto3's client
    """Read the active StackSets of express-path, sorted. Raise ApiError."""
    rows = pages(cloudformation, "cloudformation", "list_stack_sets", "Summaries", Status="ACTIVE", CallAs=call_as)
    names = sorted(str(row["StackSetName"]) for row in rows if str(row["StackSetName"]).startswith(STACK_SETS))
    return [_stack_set(cloudformation, call_as, name) for name in names]


def _stack_set(cloudformation: Any, call_as: str, name: str) -> StackSet:  # noqa: ANN401  # boto3's client
    with calling("cloudformation:DescribeStackSet"):
        found = cloudformation.describe_stack_set(StackSetName=name, CallAs=call_as)["StackSet"]
    parameters = {row["ParameterKey"]: row.get("ParameterValue", "") for row in found.get("Parameters", ())}
    return StackSet(name, found["StackSetId"], parameters)


def read_instances(cloudformation: Any, call_as: str, stack_set: StackSet) -> Sequence[StackInstance]:  # noqa: ANN401  # boto3's client
    """Read the stack instances of a StackSet, sorted by account and Region. Raise ApiError."""
    operation, name = "list_stack_instances", stack_set.name
    rows = pages(cloudformation, "cloudformation", operation, "Summaries", StackSetName=name, CallAs=call_as)
    found = [
        StackInstance(
            stack_set,
            Place(str(row["Account"]), str(row["Region"])),
            str(row["Status"]),
            str(row.get("StatusReason") or ""),
            str(row.get("StackId") or ""),
        )
        for row in rows
    ]
    return sorted(found, key=lambda instance: instance.place)


@dataclass(frozen=True, slots=True)
class Member:
    """An account of the organization: its id (12 digits), the name that its owner gave it, and its state, such as SUSPENDED."""

    id: str
    name: str
    state: str = "ACTIVE"

    @property
    def is_active(self) -> bool:
        """Whether it can be used. One that is closed is SUSPENDED for 90 days, and its roles cannot be assumed."""
        return self.state == "ACTIVE"

    def __str__(self) -> str:
        return f"account {self.id} ({self.name})" if self.name else f"account {self.id}"


def all_members(organizations: "OrganizationsClient") -> list[Member]:
    """Read the accounts of the organization, whatever their state, sorted by id. Raise ApiError.

    Only the management account and delegated administrators have access
    (https://docs.aws.amazon.com/organizations/latest/APIReference/API_ListAccounts.html).
    """
    return sorted(
        members_in(pages(organizations, "organizations", "list_accounts", "Accounts")), key=lambda member: member.id
    )


def members_in(rows: Iterable[Mapping[str, Any]]) -> list[Member]:
    """Return the accounts that Organizations lists."""
    # State replaces Status, which AWS retires (botocore model: organizations Account).
    return [
        Member(str(row["Id"]), str(row.get("Name") or ""), str(row.get("State") or row.get("Status"))) for row in rows
    ]
