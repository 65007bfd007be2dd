"""Read what StackSets have deployed to the accounts of an organization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from express_path.errors import ExpressPathError
from express_path_cli.aws.organization import active_members
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.org.aggregate import PlaceKey
from express_path_cli.org.members import read_organization
from express_path_cli.org.stack_sets import StackInstance, StackSet, read_instances, read_stack_sets
from express_path_cli.sources.live import Home
from express_path_cli.terminal.errors import Failure


@dataclass(frozen=True, slots=True)
class Deployed:
    """The names of the organization's accounts by id, the StackSets, and the stack instances that contain the rule.

    management_account_id: empty if the organization could not be read.
    is_complete: False if the StackSets could not be read.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    stack_sets: Sequence[StackSet] = ()
    instances: Mapping[PlaceKey, StackInstance] = field(default_factory=dict)
    management_account_id: str = ""
    is_complete: bool = False


def read_deployed(home: Home, prefix: str, task_pool: TaskPool) -> Deployed:
    """Read the accounts, and the StackSets with names that begin with a prefix.

    What cannot be read is added to the failures of the pool.
    """
    try:
        organizations = home.aws.client("organizations")
        organization, members = read_organization(organizations), active_members(organizations)
    except ExpressPathError as error:
        task_pool.failures.append(Failure(f"{home.account_region}: the organization", error))
        return Deployed()
    names = {member.id: member.name for member in members}
    # A delegated administrator must say that it acts as one:
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListStackSets.html
    is_management = home.caller.account_id == organization.management_account_id
    call_as = "SELF" if is_management else "DELEGATED_ADMIN"
    cloudformation = home.aws.client("cloudformation")
    try:
        stack_sets = read_stack_sets(cloudformation, call_as, prefix)
    except ExpressPathError as error:
        task_pool.failures.append(Failure(f"{home.account_region}: the StackSets", error))
        return Deployed(names, management_account_id=organization.management_account_id)
    deploying = [stack_set for stack_set in stack_sets if stack_set.deploys_rule]
    read = partial(read_instances, cloudformation, call_as)
    found = [row for _, rows in task_pool.run(deploying, read, lambda stack_set: stack_set.name) for row in rows]
    instances = {row.place: row for row in found}
    return Deployed(names, stack_sets, instances, organization.management_account_id, is_complete=True)
