"""Heal route tables: those of a scan, or those that are given, one run of the runbook for each."""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.heal.plan import is_healable
from express_path.domain.heal.records import CHANGING, PlanAction
from express_path.domain.heal.texts import finding_texts
from express_path.domain.path.origins import families_of
from express_path.domain.path.reasons import SEVERITY_ORDER
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.automation.answers import PlanAnswer, read_answer
from express_path_cli.automation.deployments import Deployment
from express_path_cli.automation.planning import LocalPlan, plan_heal
from express_path_cli.automation.release import version_to_start
from express_path_cli.automation.runs import Job
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.heal.running import Batch, request_approvals, undone_by
from express_path_cli.sources.named import named_subnets
from express_path_cli.sources.network import View
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import DECLINED, UNDETERMINED, OptionError, locating_errors
from express_path_cli.terminal.questions import confirm
from express_path_cli.terminal.texts import count_text


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A route table to heal.

    id: the route table, or the subnet if another account owns its route table.
    planned_subnet_ids: the subnets to plan the heal with, which may have different plans; empty if the table governs no
    subnet.
    moved_subnet_ids: every subnet whose traffic moves with the route table.
    """

    id: str
    vpc_id: str
    planned_subnet_ids: tuple[str, ...]
    moved_subnet_ids: tuple[str, ...]


class LiveNetwork:
    """The subnets and route tables of one account and Region, as they are now."""

    def __init__(self, account_region: AccountRegion) -> None:
        """Read the network. Raise LocatedError."""
        with locating_errors(account_region):
            snapshot = SnapshotReader(account_region.aws).read(account_region.account_id, None, RuleParameters())
        self.account_region, self._snapshot = account_region, snapshot
        self.evaluator = Evaluator(Tracer(snapshot), RuleParameters())
        self._verdicts = {subnet.id: self.evaluator.verdict(subnet.id) for subnet in snapshot.listed_subnets}
        self._by_table: defaultdict[str, list[Verdict]] = defaultdict(list)
        for verdict in self._verdicts.values():
            self._by_table[_target_id(verdict)].append(verdict)

    def plan_heal(self, subnet_id: str) -> LocalPlan:
        """Plan the heal of a subnet here."""
        return plan_heal(self.evaluator, self._verdicts[subnet_id], self.account_region)

    def has_subnet(self, subnet_id: str) -> bool:
        """Return whether the subnet exists."""
        return subnet_id in self._verdicts

    def targets(self, ids: Iterable[str]) -> list[TableTarget]:
        """Return the route tables of what these IDs and Name tags name, sorted by VPC. Raise OptionError."""
        named: defaultdict[str, list[Verdict]] = defaultdict(list)
        for target in dict.fromkeys(ids):
            if target in self._snapshot.route_tables:
                named[target] += self._by_table[target]
            elif verdict := self._verdicts.get(target):
                named[_target_id(verdict)].append(verdict)
            elif target in self._snapshot.subnets:
                owner = self._snapshot.subnets[target].owner_id
                raise OptionError(f"{target} belongs to account {owner}", "heal it with credentials of that account")
            else:
                for subnet_id in self._named(target):
                    named[_target_id(self._verdicts[subnet_id])].append(self._verdicts[subnet_id])
        tables = [self._target(target_id, verdicts) for target_id, verdicts in named.items()]
        return sorted(tables, key=lambda target: (target.vpc_id, target.id))

    def _named(self, name: str) -> list[str]:
        """Return the own subnets of what has this Name tag, or of the VPC with this ID."""
        if re.fullmatch(r"(subnet|rtb)-[0-9a-f]{8,17}", name):
            raise OptionError(f"{self.account_region}: {name} does not exist", "check --region and --profile")
        view = View(Account.of(self._snapshot), self.evaluator.tracer, tuple(self._verdicts))
        return [verdict.subnet_id for verdict in named_subnets([view], name, "check the name, --region, and --profile")]

    def _target(self, target_id: str, verdicts: Sequence[Verdict]) -> TableTarget:
        table = self._snapshot.route_tables.get(target_id)
        vpc_id = table.vpc_id if table else verdicts[0].vpc_id
        moved = tuple(verdict.subnet_id for verdict in self._by_table[target_id])
        return TableTarget(target_id, vpc_id, self._planned(verdicts), moved)

    def _planned(self, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
        """Return one subnet for each reason and set of address families, because an endpoint may not cure them all.

        If no path crosses a NAT, return only the subnet with the worst reason: its plan says why nothing is healed.
        """
        healable = [verdict for verdict in verdicts if is_healable(verdict)]
        if not healable:
            worst = sorted(verdicts, key=lambda verdict: (SEVERITY_ORDER[verdict.reason], verdict.subnet_id))
            return tuple(verdict.subnet_id for verdict in worst[:1])
        kinds: dict[object, str] = {}
        for verdict in healable:
            subnet = self._snapshot.subnets[verdict.subnet_id]
            kinds.setdefault((verdict.reason, families_of(subnet)), verdict.subnet_id)
        return tuple(kinds.values())


def _target_id(verdict: Verdict) -> str:
    return verdict.route_table_id or verdict.subnet_id


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The plans of a route table's subnets. One run heals the table, but it may not heal every subnet."""

    table: TableTarget
    plans: tuple[PlanAnswer, ...]

    @property
    def heal(self) -> PlanAnswer | None:
        """The plan that heals the route table, None if nothing can be done."""
        return next((plan for plan in self.plans if plan.action in CHANGING), None)

    @property
    def blocked(self) -> tuple[PlanAnswer, ...]:
        """The plans that are blocked, without those that are blocked by the same as the plan of another subnet."""
        blocked = [plan for plan in self.plans if plan.action is PlanAction.BLOCKED]
        return tuple({(plan.blockers, plan.warnings): plan for plan in reversed(blocked)}.values())[::-1]


def table_plans(targets: Iterable[TableTarget], plans: Mapping[str, PlanAnswer]) -> list[TablePlan]:
    """Return the plans of each route table, from the plans of dry runs by subnet; none of a table that lacks one.

    Raise OptionError if another route table governs a subnet by now.
    """
    return [
        TablePlan(table, tuple(_plan_of(table, plans[subnet_id]) for subnet_id in table.planned_subnet_ids))
        for table in targets
        if plans.keys() >= set(table.planned_subnet_ids)
    ]


def _plan_of(table: TableTarget, plan: PlanAnswer) -> PlanAnswer:
    if plan.route_table_id and plan.route_table_id != table.id:
        moved = f"{plan.subnet_id} moved from {table.id} to {plan.route_table_id} while the plan was made"
        raise OptionError(moved, "run heal again")
    return plan


def plan_lines(plans: Iterable[TablePlan]) -> Iterator[str]:
    """Yield the combined plan, by VPC: an endpoint that several route tables share is created once."""
    for vpc_id, in_vpc in groupby(plans, key=lambda plan: plan.table.vpc_id):
        of_vpc = list(in_vpc)
        yield f"{vpc_id}:"
        heals = [plan.heal for plan in of_vpc if plan.heal]
        creating = [heal for heal in heals if heal.action is PlanAction.CREATE_AND_ASSOCIATE]
        yield from dict.fromkeys(
            f"  create gateway endpoint {heal.service_name} ({heal.ip_address_type})" for heal in creating
        )
        for plan in of_vpc:
            for line in _table_lines(plan):
                yield f"  {plan.table.id}: {line}"
            for blocked in plan.blocked:
                for patch in blocked.patches.values():
                    yield from patch.splitlines()  # without an indent, to be copied


def _table_lines(plan: TablePlan) -> Iterator[str]:
    if plan.heal:
        is_new = plan.heal.action is PlanAction.CREATE_AND_ASSOCIATE
        endpoint = "the new endpoint" if is_new else plan.heal.endpoint_id
        yield f"associate with {endpoint}; {_moved(plan.table.moved_subnet_ids)}"
        yield from finding_texts(plan.heal)
    for blocked in plan.blocked:
        yield f"BLOCKED for {blocked.subnet_id}: {blocked.annotation}"
        yield from finding_texts(blocked)
    if not plan.heal and not plan.blocked:
        why = plan.plans[0].annotation if plan.plans else "no subnet uses it"
        yield f"nothing to do: {why}"


def _moved(subnet_ids: Sequence[str]) -> str:
    move = "1 subnet moves" if len(subnet_ids) == 1 else f"{len(subnet_ids)} subnets move"
    return f"{move}: {', '.join(subnet_ids)}"


BLOCKED = DECLINED
"""The exit status of a heal that is blocked."""


@dataclass(frozen=True, slots=True)
class HealOptions:
    """The options of a heal. again: the command line that selects the same route tables."""

    again: str
    dry_run: bool
    yes: bool
    keep_going: bool
    verbose: bool


def heal_tables(deployment: Deployment, targets: Sequence[TableTarget], given: HealOptions) -> int:
    """Plan the heal of every route table, ask once, heal, and return the exit status."""
    planned, unknown = _plan(deployment, targets, given)
    echo(f"plan for {count_text(len(targets), 'route table')} in {deployment.place}:")
    for line in plan_lines(planned):
        echo(line)
    if unknown:
        status = UNDETERMINED
    elif any(plan.blocked for plan in planned):
        status = BLOCKED
    else:
        status = 0
    to_heal = [plan for plan in planned if plan.heal]
    for line in (*breaks(planned), sums(planned, unknown)):
        echo(line)
    if unknown and not given.keep_going:
        echo("nothing was changed: a plan is missing; --keep-going heals the others")
    elif not to_heal:
        echo("nothing was changed")
    elif given.dry_run:
        echo(f"nothing was changed; to heal: express-path heal {given.again}{deployment.options}")
    else:
        return max(status, _apply(deployment, to_heal, given))
    return status


def breaks(plans: Iterable[TablePlan]) -> Iterator[str]:
    """Yield what these heals break, if there are any."""
    moved = sum(len(plan.table.moved_subnet_ids) for plan in plans if plan.heal)
    if moved:
        yield (
            f"open TCP connections to S3 Express from {count_text(moved, 'subnet')} will drop for a moment, and policies will see "
            "aws:SourceVpce instead of aws:SourceIp"
        )


def _question(deployment: Deployment, plans: Sequence[TablePlan]) -> str:
    moved = count_text(sum(len(plan.table.moved_subnet_ids) for plan in plans), "subnet")
    vpc_ids = {plan.table.vpc_id for plan in plans}
    where = f"of {vpc_ids.pop()}" if len(vpc_ids) == 1 else f"of {len(vpc_ids)} VPCs"
    return f"Heal {moved} {where} in {deployment.place}?"


def _plan(
    deployment: Deployment, targets: Sequence[TableTarget], given: HealOptions
) -> tuple[list[TablePlan], list[str]]:
    """Make a dry run for each subnet to plan with. Return the plans, and the route tables without one."""
    with locating_errors(deployment.place):
        version = version_to_start(deployment, deployment.runbooks.heal)
    jobs = []
    for table in targets:
        for subnet_id in table.planned_subnet_ids:
            name = table.id if len(table.planned_subnet_ids) == 1 else f"{table.id} ({subnet_id})"
            parameters = {"SubnetId": subnet_id, **deployment.common, "DryRun": "true"}
            jobs.append(Job(name, deployment.runbooks.heal, parameters, version))
    batch = Batch(deployment, jobs, dry_run=True)
    batch.run(keep_going=given.keep_going)
    plans = {job.parameters["SubnetId"]: read_answer(run, "plan.Details", PlanAnswer) for job, run in batch.succeeded}
    planned = table_plans(targets, {subnet_id: plan for subnet_id, plan in plans.items() if plan})
    return planned, sorted({table.id for table in targets} - {plan.table.id for plan in planned})


def _apply(deployment: Deployment, plans: Sequence[TablePlan], given: HealOptions) -> int:
    """Heal the route tables, or ask the approvers to, after asking. Return the exit status."""
    asks = deployment.mode == "APPROVAL"
    runbook = deployment.runbooks.approval if asks else deployment.runbooks.heal
    question = _question(deployment, plans)
    if asks:
        question = f"Ask the approvers now, once for each of {count_text(len(plans), 'route table')}?"
    confirm(yes=given.yes, question=question)
    with locating_errors(deployment.place):
        version = version_to_start(deployment, runbook)
    jobs = [
        Job(plan.table.id, runbook, {"SubnetId": plan.heal.subnet_id, **deployment.common}, version)
        for plan in plans
        if plan.heal
    ]
    if asks:
        request_approvals(deployment, jobs)
        return 0
    batch = Batch(deployment, jobs, verbose=given.verbose)
    batch.run(keep_going=given.keep_going)
    for line in _outcome(batch, deployment):
        echo(line)
    return UNDETERMINED if batch.failed or batch.stopped else 0


def _outcome(batch: Batch, deployment: Deployment) -> Iterator[str]:
    """Yield how many route tables were healed, and the commands that undo those and heal the others."""
    sums = [f"{len(batch.succeeded)} healed"]
    if batch.failed:
        sums.append(f"{len(batch.failed)} failed")
    if batch.stopped:
        sums.append(f"{len(batch.stopped)} stopped")
    if batch.not_started:
        sums.append(f"{len(batch.not_started)} not started")
    yield ", ".join(sums)
    if batch.not_started:
        again = deployment.options + deployment.stack_option
        yield f"to heal those that were not started: express-path heal {shlex.join(batch.not_started)}{again}"
    run_ids = dict.fromkeys(filter(None, (undone_by(run) for _, run in batch.succeeded)))
    if len(run_ids) > 1:
        yield f"to undo all of these heals: {deployment.undo_command(*run_ids)}"


def sums(planned: Sequence[TablePlan], unknown: Sequence[str] = ()) -> str:
    """Return how many route tables can be healed, are blocked, need nothing, or have no plan."""
    to_heal = sum(plan.heal is not None for plan in planned)
    blocked = sum(plan.heal is None and bool(plan.blocked) for plan in planned)
    partly = sum(plan.heal is not None and bool(plan.blocked) for plan in planned)
    numbers = {
        "to heal": to_heal,
        "of them only in part": partly,
        "blocked": blocked,
        "with nothing to do": len(planned) - to_heal - blocked,
        f"without a plan ({', '.join(unknown)})": len(unknown),
    }
    return ", ".join(f"{number} {what}" for what, number in numbers.items() if number)
