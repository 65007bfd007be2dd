"""The deployed stacks: those of the caller's account, or those that a roll-out deployed to an organization.

In an organization, nothing counts that a member account can make: a stack is the instance of a StackSet of the
administrator, and the names of its runbooks and its ledger follow from the StackSet's parameters.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from express_path.adapters.aws import Aws, pages
from express_path.adapters.runbooks import Runbooks, runbooks_of
from express_path.domain.findings.texts import RULE_NAME
from express_path_cli.automation.stack import Stack, list_stacks
from express_path_cli.automation.stack_sets import Place, StackInstance, read_deployed
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import members_of
from express_path_cli.aws.sessions import AccountRegion, Caller, enabled_regions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import Home, clients_of, find_home
from express_path_cli.terminal.errors import Failure, OptionError, locating_errors

_OUTPUTS = ("HealDocumentName", "LedgerTableName")
"""The outputs by which a stack is recognized, whatever its name and that of its rule."""
_ROLES = "role/express-path/automation/"
"""The path of the roles that may write to a ledger."""


NOT_DEPLOYED = (
    "no stack of express-path is deployed in the selected accounts and Regions (--region, --profile, and --organization "
    "select others)"
)


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stack of a rule in one account and Region, with what starts, stops, and undoes heals there.

    parameters: those of the stack. is_rolled_out: whether it is the instance of a StackSet, in an account that may belong to
    somebody else. options: select the place again, in this command and in the AWS CLI.
    """

    place: AccountRegion
    stack: str
    rule: str
    ledger: str
    stop_role_arn: str
    automation_role_arn: str
    plan_function_arn: str
    parameters: Mapping[str, str]
    options: str
    is_rolled_out: bool = False

    def __str__(self) -> str:
        return f"{self.place}, stack {self.stack}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What deployments are sorted by."""
        return self.place.account_id, self.place.region, self.stack

    @property
    def runbooks(self) -> Runbooks:
        """The names of its runbooks."""
        return runbooks_of(self.rule)

    @property
    def mode(self) -> str:
        """What AWS Config does about a flagged subnet: OFF, ON, or APPROVAL."""
        return self.parameters.get("RemediationMode", "")

    @property
    def common(self) -> Mapping[str, str]:
        """The parameters that every run gets."""
        return {"AutomationAssumeRole": self.automation_role_arn, "PlanFunctionName": self.plan_function_arn}

    def new_clients(self) -> Aws:
        """Return clients of the place for one task: to keep those of hundreds of places would take gigabytes."""
        return replace(self.place.aws)

    def fields(self) -> dict[str, str | None]:
        """Return the account, its name, the Region, the stack, and its ledger, for JSON."""
        return {
            "accountId": self.place.account_id,
            "accountName": self.place.name or None,
            "region": self.place.region,
            "stackName": self.stack,
            "ledger": self.ledger,
        }

    def undo_command(self, *run_ids: str) -> str:
        """Return the command that undoes heals."""
        return f"express-path undo {shlex.join(run_ids)}{self.options}"

    @property
    def start_command(self) -> str:
        """The command that allows heals, and starts those for which AWS Config has no run."""
        return f"express-path start{self.options}"

    def show_command(self, run_id: str) -> str:
        """Return the command of the AWS CLI that shows a run."""
        return f"aws ssm get-automation-execution --automation-execution-id {shlex.quote(run_id)}{self.options}"


@dataclass(frozen=True, slots=True)
class Deployments:
    """The deployments, sorted, who looks for them, and how many accounts and Regions have none."""

    found: Sequence[Deployment]
    caller: Caller
    without_stack: int


def own_deployments(place: AccountRegion, profile: str | None) -> list[Deployment]:
    """Read the stacks of a Region of the caller's account. Raise ApiError, and OptionError if one is not complete."""
    return [_from_outputs(place, stack, profile) for stack in installed_stacks(place)]


def find_deployments(live: LiveOptions, task_pool: TaskPool) -> Deployments:
    """Find the deployed stacks in the selected accounts and Regions. What fails is added to the failures of the pool.

    Raise OptionError, and ApiError if the organization or its StackSets cannot be read.
    """
    live.check()
    home = find_home(live)
    found = list(_rolled_out(live, home, task_pool) if live.organization else _own(live, home, task_pool))
    deployments = sorted((row for rows in found for row in rows), key=lambda row: row.key)
    return Deployments(deployments, home.caller, sum(not rows for rows in found))


def _own(live: LiveOptions, home: Home, task_pool: TaskPool) -> Iterator[Sequence[Deployment]]:
    """Yield the stacks of each selected Region of the caller's account."""
    regions = enabled_regions(home.aws) if live.all_regions else live.regions or (home.aws.region,)
    places = [home.account_region.in_region(region) for region in regions]
    for _, found in task_pool.run(places, lambda place: _in_own_account(place, live.profile, task_pool.failures)):
        yield found


def _in_own_account(place: AccountRegion, profile: str | None, failures: list[Failure]) -> list[Deployment]:
    """Read the stacks of a Region of the caller's account. What is wrong with one is added to the failures."""
    found = []
    for stack in installed_stacks(place):
        try:
            found.append(_from_outputs(place, stack, profile))
        except OptionError as error:
            failures.append(Failure(str(place), error))
    return found


def installed_stacks(place: AccountRegion) -> list[Stack]:
    """Read the stacks with our outputs."""
    # New clients, because those of hundreds of places would take gigabytes.
    stacks = list_stacks(replace(place.aws).client("cloudformation"))
    return [stack for stack in stacks if all(name in stack.outputs for name in _OUTPUTS)]


def _from_outputs(place: AccountRegion, stack: Stack, profile: str | None) -> Deployment:
    """Return the deployment that a stack of the caller's own account is. Raise OptionError."""

    def output(name: str) -> str:
        if name not in stack.outputs:
            raise OptionError(f"stack {stack.name} has no output {name}", "deploy the newest version of the stack")
        return stack.outputs[name]

    stop_role = output("StopRoleArn")
    if f":iam::{place.account_id}:{_ROLES}" not in stop_role:
        raise OptionError(
            f"stack {stack.name}: its output StopRoleArn is {stop_role}, not a role of this account with the path of "
            "express-path",
            "nothing was done there: ask who made that stack, and delete it or deploy it again",
        )
    return Deployment(
        place,
        stack.name,
        output("RuleName"),
        output("LedgerTableName"),
        stop_role_arn=stop_role,
        automation_role_arn=output("AutomationRoleArn"),
        plan_function_arn=output("PlanFunctionArn"),
        parameters=stack.parameters,
        options=options.as_command_line({"--region": place.region, "--profile": profile}),
    )


def _rolled_out(live: LiveOptions, home: Home, task_pool: TaskPool) -> Iterator[Sequence[Deployment]]:
    """Yield the instance of a StackSet in each selected account and Region, and the stacks of the caller's own account.

    StackSets do not deploy to the management account.
    """
    with locating_errors(home.account_region):
        members = members_of(home.aws.client("organizations"), live.ou_ids)
    unknown = sorted(set(live.account_ids) - {member.id for member in members})
    if unknown:
        raise OptionError(f"--account {unknown[0]} is not an active account there", "org check lists the accounts")
    deployed = read_deployed(home, task_pool)
    if not deployed.is_complete:
        return
    regions = sorted({place.region for place in deployed.instances}) if live.all_regions else live.regions
    wanted = [member for member in members if not live.account_ids or member.id in live.account_ids]
    clients = [
        AccountRegion(member.id, aws, member.name)
        for member, aws in task_pool.run(wanted, partial(clients_of, live, home))
    ]
    places = [account.in_region(region) for account, region in product(clients, regions or (home.aws.region,))]

    def read(place: AccountRegion) -> Sequence[Deployment]:
        if place.account_id == home.caller.account_id:
            return _in_own_account(place, live.profile, task_pool.failures)
        instance = deployed.instances.get(Place(place.account_id, place.region))
        for stack in installed_stacks(place):
            if instance is None or stack.id != instance.stack_id:
                task_pool.failures.append(Failure(str(place), _decoy(stack)))
        return [_from_instance(place, instance, home.caller.partition, live)] if instance else []

    for _, found in task_pool.run(places, read):
        yield found


def _decoy(stack: Stack) -> OptionError:
    return OptionError(
        f"stack {stack.name} has the outputs of express-path, but no StackSet of the roll-out deployed it",
        "it was not used: somebody in the account made it; --profile with credentials of the account acts on it",
    )


def _from_instance(place: AccountRegion, instance: StackInstance, partition: str, live: LiveOptions) -> Deployment:
    """Return the deployment that the instance of a StackSet is. Raise ApiError, OptionError."""
    parameters = instance.stack_set.parameters
    if not instance.stack_id or not parameters.get("LedgerTableName"):
        what = "has no stack" if not instance.stack_id else "has no parameter LedgerTableName"
        raise OptionError(
            f"the instance of StackSet {instance.stack_set.name} {what}",
            "update the StackSet, and wait until it is CURRENT",
        )
    names = _resources(replace(place.aws).client("cloudformation"), instance.stack_id)
    missing = [name for name in ("AutomationRole", "StopRole", "PlanFunction") if name not in names]
    if missing:
        raise OptionError(f"stack {instance.stack_id} has no resource {missing[0]}", "update the StackSet")
    account = f"arn:{partition}:iam::{place.account_id}:{_ROLES}"
    function = f"arn:{partition}:lambda:{place.region}:{place.account_id}:function:{names['PlanFunction']}"
    rule = parameters.get("RuleName") or RULE_NAME
    here = replace(live, all_regions=False, regions=(place.region,), account_ids=(place.account_id,), ou_ids=())
    return Deployment(
        place,
        instance.stack_id.split("/")[1],
        rule,
        parameters["LedgerTableName"],
        stop_role_arn=account + names["StopRole"],
        automation_role_arn=account + names["AutomationRole"],
        plan_function_arn=function,
        parameters=parameters,
        options=f" {shlex.join(here.options())}",
        is_rolled_out=True,
    )


def _resources(cloudformation: Any, stack_id: str) -> Mapping[str, str]:  # noqa: ANN401  # boto3's client
    """Read the physical IDs of a stack's resources, by logical ID. Raise ApiError."""
    rows = pages(cloudformation, "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack_id)
    return {str(row["LogicalResourceId"]): str(row.get("PhysicalResourceId") or "") for row in rows}
