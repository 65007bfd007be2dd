"""Where the stack sets of a roll-out are deployed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from express_path.adapters.aws import calling, pages
from express_path.errors import ExpressPathError
from express_path_cli.aws.organization import all_members, read_organization
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import Home
from express_path_cli.terminal.errors import Failure, OptionError

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
class Deployed:
    """The names of the organization's accounts by id, the StackSets, and the stack instances that contain the rule.

    inactive: the states of the accounts that are not active, such as SUSPENDED, by id. Stack instances stay in them, and
    StackSets skips them.
    management_account_id: empty if the organization could not be read.
    is_complete: False if the StackSets could not be read.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    stack_sets: Sequence[StackSet] = ()
    instances: Mapping[Place, StackInstance] = field(default_factory=dict)
    management_account_id: str = ""
    is_complete: bool = False
    inactive: Mapping[str, str] = field(default_factory=dict)


def read_deployed(home: Home, task_pool: TaskPool) -> Deployed:
    """Read the accounts, and the StackSets of express-path.

    What cannot be read is added to the failures of the pool.
    """
    try:
        organizations = home.aws.client("organizations")
        organization, members = read_organization(organizations), all_members(organizations)
    except ExpressPathError as error:
        task_pool.failures.append(Failure(f"{home.account_region}: the organization", error))
        return Deployed()
    names = {member.id: member.name for member in members}
    inactive = {member.id: member.state for member in members if not member.is_active}
    # A delegated administrator must say that it acts as one:
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStackSets.html
    is_management = home.caller.account_id == organization.management_account_id
    call_as = "SELF" if is_management else "DELEGATED_ADMIN"
    cloudformation = home.aws.client("cloudformation")
    try:
        stack_sets = read_stack_sets(cloudformation, call_as)
    except ExpressPathError as error:
        task_pool.failures.append(Failure(f"{home.account_region}: the StackSets", error))
        return Deployed(names, management_account_id=organization.management_account_id, inactive=inactive)
    deploying = [stack_set for stack_set in stack_sets if stack_set.deploys_rule]
    read = partial(read_instances, cloudformation, call_as)
    found = [row for _, rows in task_pool.run(deploying, read, lambda stack_set: stack_set.name) for row in rows]
    # Two instances in one place would be two stacks, and nothing says which one counts.
    number = Counter(row.place for row in found)
    for place in sorted(place for place in number if number[place] > 1):
        which = ", ".join(sorted(row.stack_set.name for row in found if row.place == place))
        task_pool.failures.append(
            Failure(str(place), OptionError(f"several StackSets deploy the rule: {which}", "keep one of them"))
        )
    instances = {row.place: row for row in found if number[row.place] == 1}
    return Deployed(
        names, stack_sets, instances, organization.management_account_id, is_complete=True, inactive=inactive
    )
