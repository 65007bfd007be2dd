"""The deployed stacks: those of the caller's account, or those that a roll-out deployed to an organization.

Names and outputs of a stack are no evidence, because anybody who may create a stack can choose them. In the caller's own
account, a stack is ours if CloudFormation lists our resources of it (automation/resources.py). In an organization, nothing
counts that a member account can make: a stack is the instance of a StackSet of the administrator, and the names of its
runbooks and its ledger follow from the StackSet's parameters. What a command starts there is checked once more, right
before the start (automation/release.py).
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from express_path.adapters.aws import Aws
from express_path.adapters.runbooks import Runbooks, runbooks_of
from express_path.domain.findings.texts import RULE_NAME
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.automation.resources import StackResources, ledger_of, read_resources
from express_path_cli.automation.stack import VERSION, Stack, list_stacks
from express_path_cli.automation.stack_sets import Place, StackInstance, read_deployed
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import members_of
from express_path_cli.aws.sessions import AccountRegion, Caller, enabled_regions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import Home, clients_of, find_home
from express_path_cli.terminal.errors import Failure, LocatedError, OptionError, locating_errors

_OUTPUTS = ("HealDocumentName", "LedgerTableName")
"""The outputs of every stack of ours, whatever its name and that of its rule. Other stacks may have them, too."""
_DOCUMENTS = ("HealDocument", "ApprovalDocument", "UndoDocument")
"""The logical IDs of the runbooks, in the order of Runbooks."""


NOT_DEPLOYED = (
    "no stack of express-path is deployed in the selected accounts and Regions (--region, --profile, and --organization "
    "select others)"
)


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stack of a rule in one account and Region, with what starts, stops, and undoes heals there.

    parameters: those of the stack. version: that of express-path with which it was deployed, empty if it does not say.
    options: select the place again, in this command and in the AWS CLI. stack_option: selects the stack in `heal` and
    `undo`, empty if it is the only one there.
    """

    place: AccountRegion
    stack: str
    rule: str
    ledger: str
    stop_role_arn: str
    automation_role_arn: str
    plan_function_arn: str
    parameters: Mapping[str, str]
    version: str
    options: str
    stack_option: str = ""

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
        return f"express-path undo {shlex.join(run_ids)}{self.options}{self.stack_option}"

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


@dataclass(frozen=True, slots=True)
class OwnStacks:
    """The deployments of a Region of the caller's account, and why other stacks with our outputs are not used, by name.

    It is an OptionError if a stack is not one of express-path, and a LocatedError if that could not be read.
    """

    deployments: Sequence[Deployment]
    refused: Mapping[str, ExpressPathError]


def own_stacks(place: AccountRegion, profile: str | None) -> OwnStacks:
    """Read the stacks of a Region of the caller's account. Raise ApiError if they cannot be listed.

    What cannot be read of one stack, which anybody may have made, keeps nobody from using another one.
    """
    found: list[Deployment] = []
    refused: dict[str, ExpressPathError] = {}
    for stack in installed_stacks(place):
        try:
            found.append(_of_own_account(place, stack, profile))
        except OptionError as error:
            refused[stack.name] = error
        except ApiError as error:
            refused[stack.name] = LocatedError(f"stack {stack.name}", error)
    if len(found) > 1:
        found = [replace(row, stack_option=f" --stack {shlex.quote(row.stack)}") for row in found]
    return OwnStacks(found, refused)


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


def _in_own_account(place: AccountRegion, profile: str | None, failures: list[Failure]) -> Sequence[Deployment]:
    """Read the stacks of a Region of the caller's account. What is wrong with one is added to the failures."""
    found = own_stacks(place, profile)
    failures += [Failure(str(place), error) for error in found.refused.values()]
    return found.deployments


def installed_stacks(place: AccountRegion) -> list[Stack]:
    """Read the stacks with our outputs."""
    # New clients, because those of hundreds of places would take gigabytes.
    stacks = list_stacks(replace(place.aws).client("cloudformation"))
    return [stack for stack in stacks if all(name in stack.outputs for name in _OUTPUTS)]


def _of_own_account(place: AccountRegion, stack: Stack, profile: str | None) -> Deployment:
    """Return the deployment that a stack of the caller's own account is. Raise ApiError, and OptionError if it is none."""
    aws = replace(place.aws)
    resources = read_resources(aws.client("cloudformation"), stack.id)
    rule = resources.name("ConfigRule")
    resources.name("EvaluateFunction")
    for logical_id, expected in zip(_DOCUMENTS, runbooks_of(rule), strict=True):
        if (name := resources.name(logical_id)) != expected:
            raise resources.refusal(f"its {logical_id} is {name}, not {expected}")
    here = options.as_command_line({"--region": place.region, "--profile": profile})
    ledger = ledger_of(aws.functions, resources, stack.parameters)
    return _deployment(resources, place, stack, rule, ledger, here)


def _deployment(
    resources: StackResources, place: AccountRegion, stack: Stack, rule: str, ledger: str, here: str
) -> Deployment:
    """Return the deployment of a stack with these resources; `here` selects its place. Raise OptionError."""
    return Deployment(
        place,
        stack.name,
        rule,
        ledger,
        stop_role_arn=resources.role_arn("StopRole"),
        automation_role_arn=resources.role_arn("AutomationRole"),
        plan_function_arn=resources.function_arn("PlanFunction"),
        parameters=stack.parameters,
        version=stack.version,
        options=here,
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
        version = ""
        for stack in installed_stacks(place):
            if instance and stack.id == instance.stack_id:
                version = stack.version
            else:
                task_pool.failures.append(Failure(str(place), _decoy(stack)))
        return [_from_instance(place, instance, version, live)] if instance else []

    for _, found in task_pool.run(places, read):
        yield found


def _decoy(stack: Stack) -> OptionError:
    return OptionError(
        f"stack {stack.name} has the outputs of express-path, but no StackSet of the roll-out deployed it",
        "it was not used: somebody in the account made it; --profile with credentials of the account acts on it",
    )


def _from_instance(place: AccountRegion, instance: StackInstance, version: str, live: LiveOptions) -> Deployment:
    """Return the deployment that the instance of a StackSet is. Raise ApiError, OptionError."""
    parameters = instance.stack_set.parameters
    if not instance.stack_id or not parameters.get("LedgerTableName"):
        what = "has no stack" if not instance.stack_id else "has no parameter LedgerTableName"
        raise OptionError(
            f"the instance of StackSet {instance.stack_set.name} {what}",
            "update the StackSet, and wait until it is CURRENT",
        )
    resources = read_resources(replace(place.aws).client("cloudformation"), instance.stack_id)
    rule = parameters.get("RuleName") or RULE_NAME
    here = replace(live, all_regions=False, regions=(place.region,), account_ids=(place.account_id,), ou_ids=())
    stack = Stack(instance.stack_id, resources.stack, "", "", {VERSION: version}, parameters)
    return _deployment(resources, place, stack, rule, parameters["LedgerTableName"], f" {shlex.join(here.options())}")
