"""The stacks that deployed the rule in the accounts and Regions of an organization, and how to reach them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from express_path.adapters.aws import Aws
from express_path.domain.findings.texts import RULE_NAME
from express_path_cli.automation.stack import Stack, find_stack
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import members_of
from express_path_cli.aws.sessions import AccountRegion, Caller, enabled_regions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import clients_of, find_home
from express_path_cli.terminal.errors import OptionError, locating_errors

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class DeploymentsRequest:
    """Where to look for the stack of the rule. Without units and accounts, everywhere in the organization."""

    live: LiveOptions
    ou_ids: tuple[str, ...] = ()
    account_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stack of the rule in one account and Region."""

    place: AccountRegion
    stack: Stack

    def __str__(self) -> str:
        return str(self.place)

    @property
    def key(self) -> tuple[str, str]:
        """What deployments are sorted by: account and Region."""
        return self.place.account_id, self.place.region

    def fields(self) -> dict[str, str | None]:
        """Return the account, its name, the Region, and the stack, for JSON."""
        return {
            "accountId": self.place.account_id,
            "accountName": self.place.name or None,
            "region": self.place.region,
            "stackName": self.stack.name,
        }


@dataclass(frozen=True, slots=True)
class Deployments:
    """The deployments, sorted, who looks for them, and how many accounts and Regions have no stack of the rule."""

    found: Sequence[Deployment]
    caller: Caller
    without_stack: int


def find_deployments(request: DeploymentsRequest, task_pool: TaskPool) -> Deployments:
    """Find the stack of the rule in each selected account and Region. What fails is added to the failures of the pool.

    The caller's own account needs no role. Raise OptionError, and ApiError if the organization cannot be read.
    """
    request.live.check()
    home = find_home(request.live)
    with locating_errors(home.account_region):
        members = members_of(home.aws.client("organizations"), request.ou_ids)
    unknown = sorted(set(request.account_ids) - {member.id for member in members})
    if unknown:
        raise OptionError(f"--account {unknown[0]} is not an active account there", "org check lists the accounts")
    wanted = [member for member in members if not request.account_ids or member.id in request.account_ids]
    clients = task_pool.run(wanted, partial(clients_of, request.live, home))
    accounts = [AccountRegion(member.id, aws, member.name) for member, aws in clients]
    places = _places(request.live, accounts, home.aws.region, task_pool)
    stacks = list(task_pool.run(places, lambda place: on_new_clients(place.aws, _stack_of)))
    found = [Deployment(place, stack) for place, stack in stacks if stack]
    return Deployments(
        sorted(found, key=lambda deployment: deployment.key), home.caller, sum(stack is None for _, stack in stacks)
    )


def on_new_clients(aws: Aws, use: Callable[[Aws], _Result]) -> _Result:
    """Call a function with new clients: those of hundreds of places would take gigabytes."""
    return use(replace(aws))


def _stack_of(aws: Aws) -> Stack | None:
    return find_stack(aws.client("cloudformation"), RULE_NAME)


def _places(
    live: LiveOptions, accounts: Sequence[AccountRegion], home_region: str, task_pool: TaskPool
) -> list[AccountRegion]:
    """Return each account in the selected Regions. A stack may also be where S3 Express is not offered."""
    if not live.all_regions:
        return [account.in_region(region) for account in accounts for region in live.regions or (home_region,)]
    enabled = task_pool.run(accounts, lambda account: enabled_regions(account.aws))
    return [account.in_region(region) for account, regions in enabled for region in regions]
