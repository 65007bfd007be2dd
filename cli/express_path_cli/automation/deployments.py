"""The deployed stacks: those of the caller's account, or those that a roll-out deployed to an organization.

Names and outputs of a stack are no evidence, because anybody who may create a stack can choose them. In the caller's own
account, a stack is ours if CloudFormation lists our resources of it (automation/resources.py). In an organization, nothing
counts that a member account can make: a stack is the instance of a StackSet of the administrator, and the names of its
runbooks and its ledger follow from the StackSet's parameters. What a command starts there is checked once more, right
before the start (automation/release.py).
"""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Generic, TypeVar

from express_path.adapters.aws import Aws
from express_path.adapters.health import read_function
from express_path.adapters.roll_out import Place, StackInstance
from express_path.adapters.runbooks import Runbooks, runbooks_of
from express_path.domain.verdict.parameters import RULE_NAME
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.automation.resources import RefusedStackError, StackResources, ledger_of_function, read_resources
from express_path_cli.automation.stack import Stack, list_stacks
from express_path_cli.automation.stack_sets import Deployed, read_deployed
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import members_of
from express_path_cli.aws.sessions import AccountRegion, enabled_regions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import Home, clients_of, find_home
from express_path_cli.terminal.errors import Failure, LocatedError, OptionError, locating_errors, one_line
from express_path_cli.terminal.texts import count_text

_OUTPUTS = ("HealDocumentName", "LedgerTableName")
"""The outputs of every stack of ours, whatever its name and that of its rule. Other stacks may have them, too."""
_DOCUMENTS = ("HealDocument", "ApprovalDocument", "UndoDocument")
"""The logical IDs of the runbooks, in the order of Runbooks."""
_WORKERS = 16
"""How many stacks of one account and Region are read at the same time."""
_NAMES = 3
"""How many names a line has at most."""
_Value = TypeVar("_Value")


NOT_DEPLOYED = (
    "no stack of express-path is deployed in the selected accounts and Regions (--region, --profile, and --organization "
    "select others)"
)


def unfinished_texts(failures: Collection[Failure], without_stack: int) -> Sequence[str]:
    """Return how many stacks failed and how many accounts and Regions have none, as far as there are any."""
    texts = []
    if failures:
        texts.append(f"{len(failures):,} failed")
    if without_stack:
        places = "account and Region" if without_stack == 1 else "accounts and Regions"
        texts.append(f"no stack in {without_stack:,} {places}")
    return texts


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
    def key(self) -> tuple[str, str, str, str]:
        """What deployments are sorted by."""
        return self.place.account_id, self.place.region, self.stack, self.ledger

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

    def run_link(self, run_id: str) -> str:
        """Return the address of a run in the console of AWS, or outside the partition aws, the command that shows it."""
        if not self.automation_role_arn.startswith("arn:aws:"):
            return self.show_command(run_id)
        region = self.place.region
        return f"https://{region}.console.aws.amazon.com/systems-manager/automation/execution/{run_id}?region={region}"


@dataclass(frozen=True, slots=True)
class StackEvidence:
    """What CloudFormation shows of a stack with a role that stops heals. That is enough to stop, and not to start.

    deployment: the stack, with what it has of our resources. ledgers: the tables that its parameter and its resource name.
    asks_function: whether its plan function must name the same ledger, because no resource of the stack is it. fault: why
    nothing may be started there, None if nothing is wrong with the resources.
    """

    deployment: Deployment
    ledgers: Sequence[str]
    asks_function: bool
    fault: OptionError | None

    def function_ledger(self) -> str:
        """Return the ledger that the plan function names, if that counts; empty if it does not. Raise ApiError."""
        function = self.deployment.plan_function_arn
        if not (self.asks_function and function):
            return ""
        return ledger_of_function(self.deployment.new_clients().functions, function)

    def problem(self, function_ledger: str) -> OptionError | None:
        """Return why nothing may be started in the stack if its function names this ledger, or None."""
        ledger, actual = self.deployment.ledger, function_ledger or "(none)"
        if self.fault or not self.asks_function or function_ledger == ledger:
            return self.fault
        why = f"its parameter LedgerTableName is {ledger}, but the ledger of its function PlanFunction is {actual}"
        return RefusedStackError(self.deployment.stack, why)

    def confirmed(self) -> Deployment:
        """Return the deployment if heals may be started and undone there. Raise ApiError, OptionError."""
        if self.fault:
            raise self.fault
        if problem := self.problem(self.function_ledger()):
            raise problem
        return self.deployment

    def checkable(self) -> Deployment:
        """Return the deployment if it is confirmed, or if only its plan function is gone: a check of doctor says that.

        Raise ApiError, OptionError.
        """
        function = self.deployment.plan_function_arn
        if self.fault or not (self.asks_function and function):
            return self.confirmed()
        is_gone = read_function(self.deployment.new_clients().functions, function) is None
        return self.deployment if is_gone else self.confirmed()


@dataclass(frozen=True, slots=True)
class FoundStacks(Generic[_Value]):
    """What a task returned for each stack, how many accounts and Regions have none, and what a person should know.

    versions: those that the stacks of a roll-out say to be of, by place.
    """

    values: Sequence[_Value]
    without_stack: int
    notes: Sequence[str]
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deployments:
    """The deployments, sorted, how many accounts and Regions have none, and what a person should know."""

    found: Sequence[Deployment]
    without_stack: int
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class OwnStacks(Generic[_Value]):
    """What a task returned for the stacks of a Region of the caller's account, and why others are not used, by name.

    It is a RefusedStackError if a stack is not one of express-path, and a LocatedError if that could not be read.
    """

    values: Sequence[_Value]
    refused: Mapping[str, ExpressPathError]


def own_stacks(place: AccountRegion, profile: str | None, task: Callable[[StackEvidence], _Value]) -> OwnStacks[_Value]:
    """Run a task for each stack of a Region of the caller's account. Raise ApiError if they cannot be listed.

    What cannot be read of one stack, which anybody may have made, keeps nobody from using another one.
    """
    return _each_own_stack(place, profile, "", task)


def _each_own_stack(
    place: AccountRegion, profile: str | None, known: str, task: Callable[[StackEvidence], _Value]
) -> OwnStacks[_Value]:
    """Run a task for each stack of a Region of the caller's account, in parallel, as soon as the stack is read.

    known: the ID of a stack that is left out. Raise ApiError if the stacks cannot be listed.
    """
    stacks = [stack for stack in installed_stacks(place) if stack.id != known]
    here = options.as_command_line({"--region": place.region, "--profile": profile})
    # Its clients are shared, because each stack may be one of hundreds that somebody made to delay a stop.
    aws = replace(place.aws)
    place = replace(place, aws=aws)
    values: list[_Value] = []
    refused: dict[str, ExpressPathError] = {}

    def read(stack: Stack) -> _Value:
        stack_option = f" --stack {shlex.quote(stack.name)}" if len(stacks) > 1 else ""
        return task(_of_own_account(place, stack, here, stack_option))

    with ThreadPoolExecutor(_WORKERS) as threads:
        running = {stack.name: threads.submit(read, stack) for stack in stacks}
        for name, future in running.items():
            try:
                values.append(future.result())
            except OptionError as error:
                refused[name] = error
            except ApiError as error:
                refused[name] = LocatedError(f"stack {name}", error)
    return OwnStacks(values, refused)


def in_few_lines(refused: Mapping[str, ExpressPathError]) -> list[ExpressPathError]:
    """Return why stacks are not used: one error for all that are not of express-path, and one for all that were not read."""
    found: list[ExpressPathError] = []
    not_ours = {name: error for name, error in sorted(refused.items()) if isinstance(error, RefusedStackError)}
    unread = {name: error for name, error in sorted(refused.items()) if name not in not_ours}
    if len(not_ours) > 1:
        first = next(iter(not_ours.values()))
        text = f"{_few(not_ours)} are not stacks of express-path, such as {first.stack}: {first.why}"
        found.append(OptionError(text, first.hint))
    else:
        found += not_ours.values()
    if len(unread) > 1:
        found.append(LocatedError(_few(unread), next(iter(unread.values()))))
    else:
        found += unread.values()
    return found


def _few(names: Collection[str]) -> str:
    """Return how many stacks there are, with the names of a few."""
    others = len(names) - _NAMES
    text = ", ".join(sorted(names)[:_NAMES])
    return f"{count_text(len(names), 'stack')} ({text}{f', and {others:,} others' if others > 0 else ''})"


def find_deployments(live: LiveOptions, task_pool: TaskPool) -> Deployments:
    """Find the deployed stacks in the selected accounts and Regions. What fails is added to the failures of the pool.

    Raise OptionError, and ApiError if the organization or its StackSets cannot be read.
    """
    live.check()
    found = for_each_stack(live, find_home(live), task_pool, StackEvidence.confirmed)
    deployments = [replace(row, version=row.version or found.versions.get(str(row.place), "")) for row in found.values]
    return Deployments(sorted(deployments, key=lambda row: row.key), found.without_stack, found.notes)


def for_each_stack(
    live: LiveOptions, home: Home, task_pool: TaskPool, task: Callable[[StackEvidence], _Value]
) -> FoundStacks[_Value]:
    """Run a task for each stack in the selected accounts and Regions, as soon as the stack is read.

    What fails is added to the failures of the pool. Stacks that only look like ours are looked for at the end, because that
    may be slow. Raise OptionError, and ApiError if the organization or its StackSets cannot be read.
    """
    if not live.organization:
        regions = enabled_regions(home.aws) if live.all_regions else live.regions or (home.aws.region,)
        places: Sequence[AccountRegion] = [home.account_region.in_region(region) for region in regions]
        deployed = Deployed()
    else:
        deployed = read_deployed(home, task_pool)
        places = _places(live, home, task_pool, deployed)

    def in_place(place: AccountRegion) -> Sequence[_Value]:
        instance = deployed.instances.get(Place(place.account_id, place.region))
        own: OwnStacks[_Value] = OwnStacks([], {})
        values: list[_Value] = []
        if instance:
            try:
                values.append(task(_of_instance(place, instance, live)))
            except ExpressPathError as error:
                task_pool.failures.append(Failure(str(place), error))
        if place.account_id == home.caller.account_id:
            try:
                own = _each_own_stack(place, live.profile, instance.stack_id if instance else "", task)
            except ApiError as error:
                # The instance of the StackSet counts all the same.
                task_pool.failures.append(Failure(str(place), error))
                return values
            task_pool.failures.extend(Failure(str(place), error) for error in in_few_lines(own.refused))
        if not (instance or own.values or own.refused):
            empty.append(place)
        return [*values, *own.values]

    empty: list[AccountRegion] = []
    values = [value for _, found in task_pool.run(places, in_place) for value in found]
    members = [place for place in places if place.account_id != home.caller.account_id]
    versions: dict[str, str] = {}
    notes = _name_decoys(members, deployed, task_pool, versions)
    return FoundStacks(values, len(empty), notes, versions)


def installed_stacks(place: AccountRegion) -> list[Stack]:
    """Read the stacks with our outputs, the oldest first."""
    # New clients, because those of hundreds of places would take gigabytes.
    stacks = list_stacks(replace(place.aws).client("cloudformation"))
    return [stack for stack in stacks if all(name in stack.outputs for name in _OUTPUTS)]


def _places(live: LiveOptions, home: Home, task_pool: TaskPool, deployed: Deployed) -> Sequence[AccountRegion]:
    """Return each selected account of the organization in each selected Region; none if the StackSets are not known."""
    with locating_errors(home.account_region):
        members = members_of(home.aws.client("organizations"), live.ou_ids)
    unknown = sorted(set(live.account_ids) - {member.id for member in members})
    if unknown:
        raise OptionError(f"--account {unknown[0]} is not an active account there", "org check lists the accounts")
    if not deployed.is_complete:
        return []
    regions = sorted({place.region for place in deployed.instances}) if live.all_regions else live.regions
    wanted = [member for member in members if not live.account_ids or member.id in live.account_ids]
    clients = [
        AccountRegion(member.id, aws, member.name)
        for member, aws in task_pool.run(wanted, partial(clients_of, live, home))
    ]
    return [account.in_region(region) for account, region in product(clients, regions or (home.aws.region,))]


def _name_decoys(
    places: Sequence[AccountRegion], deployed: Deployed, task_pool: TaskPool, versions: dict[str, str]
) -> Sequence[str]:
    """Add stacks of member accounts that only look like ours to the failures. Return a note if they could not be listed.

    The versions of ours are added, too.
    """
    unread: dict[str, ApiError] = {}

    def look(place: AccountRegion) -> None:
        instance = deployed.instances.get(Place(place.account_id, place.region))
        try:
            listed = installed_stacks(place)
        except ApiError as error:
            unread[str(place)] = error
            return
        versions.update((str(place), stack.version) for stack in listed if instance and stack.id == instance.stack_id)
        stacks = [stack.name for stack in listed if not instance or stack.id != instance.stack_id]
        if stacks:
            which = f"stack {stacks[0]} has" if len(stacks) == 1 else f"{_few(stacks)} have"
            raise OptionError(
                f"{which} the outputs of express-path, but no StackSet of the roll-out deployed it",
                "it was not used: somebody in the account made it; --profile with credentials of the account acts on it",
            )

    for _ in task_pool.run(places, look):
        pass
    if not unread:
        return []
    first = min(unread)
    where = f"{first} and {len(unread) - 1:,} more places" if len(unread) > 1 else first
    return [
        f"stacks that only look like those of express-path were not looked for in {where}: {one_line(unread[first])}"
    ]


def _of_own_account(place: AccountRegion, stack: Stack, here: str, stack_option: str) -> StackEvidence:
    """Return what a stack of the caller's own account shows. `here` selects the place. Raise ApiError, RefusedStackError."""
    resources = read_resources(place.aws.client("cloudformation"), stack.id)
    rule = resources.names.get("ConfigRule") or stack.parameters.get("RuleName") or RULE_NAME
    given, table = stack.parameters.get("LedgerTableName", ""), resources.names.get("LedgerTable", "")
    if not given:  # while a stack is deleted, heals that run still use what stays of it
        table = table or resources.retained_ledger
    ledgers = list(dict.fromkeys(name for name in (given, table) if name))
    fault: OptionError | None = None
    try:
        resources.check_owned(
            "ConfigRule", "EvaluateFunction", "PlanFunction", "AutomationRole", "StopRole", *_DOCUMENTS
        )
        for logical_id, expected in zip(_DOCUMENTS, runbooks_of(rule), strict=True):
            if (name := resources.name(logical_id)) != expected:
                raise resources.refusal(f"its {logical_id} is {name}, not {expected}")
        if not given:
            resources.check_owned("LedgerTable")
        if len(ledgers) > 1:
            raise resources.refusal(f"its parameter LedgerTableName is {given}, but it has the ledger {table}")
    except RefusedStackError as error:
        fault = error
    deployment = _deployment(resources, place, stack, rule, ledgers[0] if ledgers else "", here)
    return StackEvidence(replace(deployment, stack_option=stack_option), ledgers, bool(given) or not ledgers, fault)


def _deployment(
    resources: StackResources, place: AccountRegion, stack: Stack, rule: str, ledger: str, here: str
) -> Deployment:
    """Return the deployment of a stack with what it has of these resources; `here` selects its place.

    Raise RefusedStackError if it has no role that stops heals.
    """
    names = resources.names
    return Deployment(
        place,
        stack.name,
        rule,
        ledger,
        stop_role_arn=resources.role_arn("StopRole"),
        automation_role_arn=resources.role_arn("AutomationRole") if names.get("AutomationRole") else "",
        plan_function_arn=resources.function_arn("PlanFunction") if names.get("PlanFunction") else "",
        parameters=stack.parameters,
        version=stack.version,
        options=here,
    )


def _of_instance(place: AccountRegion, instance: StackInstance, live: LiveOptions) -> StackEvidence:
    """Return what the instance of a StackSet shows, whose parameters name the ledger. Raise ApiError, OptionError."""
    parameters = instance.stack_set.parameters
    if not instance.stack_id or not parameters.get("LedgerTableName"):
        what = "has no stack" if not instance.stack_id else "has no parameter LedgerTableName"
        raise OptionError(
            f"the instance of StackSet {instance.stack_set.name} {what}",
            "update the StackSet, and wait until it is CURRENT",
        )
    resources = read_resources(replace(place.aws).client("cloudformation"), instance.stack_id)
    rule, ledger = parameters.get("RuleName") or RULE_NAME, parameters["LedgerTableName"]
    fault: OptionError | None = None
    try:
        resources.check_owned("StopRole", "AutomationRole", "PlanFunction")
    except RefusedStackError as error:
        fault = error
    selected = replace(live, all_regions=False, regions=(place.region,), account_ids=(place.account_id,), ou_ids=())
    stack = Stack(instance.stack_id, resources.stack, "", "", {}, parameters)
    deployment = _deployment(resources, place, stack, rule, ledger, f" {shlex.join(selected.options())}")
    return StackEvidence(deployment, [ledger], asks_function=False, fault=fault)
