"""Where the stack sets of a roll-out are deployed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from express_path.adapters.roll_out import (
    Place,
    StackInstance,
    StackSet,
    all_members,
    read_instances,
    read_stack_sets,
)
from express_path.errors import ExpressPathError
from express_path_cli.aws.organization import read_organization
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import Home
from express_path_cli.terminal.errors import Failure, OptionError


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
