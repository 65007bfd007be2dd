"""Undo heals of the selected deployments: which heals there were, and the runs that undo them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from express_path.adapters.aws import pages
from express_path.domain.heal.ledger import StartedBy
from express_path.domain.heal.texts import undo_fact_text
from express_path.domain.heal.undo import UNDONE, UndoChange, UndoFactCode
from express_path_cli.automation.answers import UndoAnswer, cause_of, read_answer
from express_path_cli.automation.deployments import Deployment, find_deployments
from express_path_cli.automation.ledger import HealState, PastHeal, past_heals, read_history
from express_path_cli.automation.release import version_to_start
from express_path_cli.automation.runs import RUN_ID, Job, Run, RunQueue, has_succeeded
from express_path_cli.automation.starts import find_waiting
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.named import resources_named
from express_path_cli.terminal.errors import UNDETERMINED, Failure, OptionError
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class FoundHeal:
    """A heal in the ledger of a deployment. principal: the ARN of the person's role or user, empty if it is not known."""

    deployment: Deployment
    heal: PastHeal
    principal: str = ""


@dataclass(frozen=True, slots=True)
class FoundHeals:
    """The heals, by deployment, the deployments, how many places have no stack, and what could not be read.

    ledgers: the deployments whose ledgers could be read. notes: what a person should know.
    """

    heals: Sequence[FoundHeal]
    deployments: Sequence[Deployment]
    ledgers: Sequence[Deployment]
    without_stack: int
    failures: Sequence[Failure]
    notes: Sequence[str] = ()

    def since(self, time: datetime) -> "FoundHeals":
        """Return the same with only the heals that changed something since a time, or whose time cannot be read."""

        def is_since(heal: PastHeal) -> bool:
            text = healed_at(heal)
            try:
                healed = datetime.fromisoformat(text)
            except ValueError:
                return True
            return healed.tzinfo is None or healed >= time

        return self.only(is_since)

    def only(self, is_wanted: Callable[[PastHeal], bool]) -> "FoundHeals":
        """Return the same without the other heals."""
        return replace(self, heals=[row for row in self.heals if is_wanted(row.heal)])

    def of_stack(self, name: str | None) -> "FoundHeals":
        """Return the same with only the stacks of a name, or all if there is only one in each place. Raise OptionError."""
        wanted = [row for row in self.deployments if name in (None, row.stack)]
        if name and not wanted:
            raise OptionError(f"there is no stack {name} with runbooks here", "check --stack, --region, and --profile")
        for place, together in groupby(wanted, key=lambda row: str(row.place)):
            stacks = [row.stack for row in together]
            if len(stacks) > 1:
                raise OptionError(f"several stacks heal in {place}: {', '.join(stacks)}", "select one with --stack")
        keys = {row.key for row in wanted}
        heals = [row for row in self.heals if row.deployment.key in keys]
        return replace(self, heals=heals, deployments=wanted, ledgers=[row for row in self.ledgers if row.key in keys])

    def named(self, targets: Sequence[str]) -> "FoundHeals":
        """Return the same with only the heals of these runs, or of what has this ID or Name tag and can be undone.

        Raise OptionError if a run is in no ledger, or in several, or if nothing can be undone; and ApiError.
        """
        wanted = {run_id for target in targets for run_id in self._runs_of(target)}
        return self.only(lambda heal: heal.run.run_id in wanted)

    def _runs_of(self, target: str) -> Sequence[str]:
        runs = [row.heal.run.run_id for row in self.heals if row.heal.run.run_id == target]
        if len(runs) == 1:
            return runs
        if runs or RUN_ID.fullmatch(target):
            where = "several ledgers have" if runs else "no ledger here has"
            raise OptionError(f"{where} the heal of run {target}", "express-path heals lists heals")
        ids = {target}
        if not re.fullmatch(r"(subnet|rtb|vpc)-[0-9a-f]+", target):
            ids = {one for deployment in self.ledgers for one in resources_named(deployment.place.aws, target)}
        healed = [row.heal.run for row in self.heals if row.heal.can_be_undone]
        runs = [run.run_id for run in healed if ids & {run.subnet_id, run.route_table_id, run.vpc_id}]
        if not runs:
            raise OptionError(f"no heal of {target} can be undone", "express-path heals lists heals")
        return runs


def find_heals(live: LiveOptions, watch: Watch) -> FoundHeals:
    """Read the heals of each deployment, latest first in each. Raise OptionError, ApiError."""

    def read(deployment: Deployment) -> list[FoundHeal]:
        heals = past_heals(read_history(deployment.new_clients().dynamodb, deployment.ledger))
        return [FoundHeal(deployment, heal) for heal in heals]

    with TaskPool(live.workers, watch) as task_pool:
        found = find_deployments(live, task_pool)
        ledgers = sorted(task_pool.run(found.found, read), key=lambda row: row[0].key)
    return FoundHeals(
        [heal for _, heals in ledgers for heal in heals],
        found.found,
        [deployment for deployment, _ in ledgers],
        found.without_stack,
        sorted(task_pool.failures, key=lambda failure: failure.where),
        found.notes,
    )


def with_principals(found: FoundHeals, workers: int, watch: Watch) -> tuple[FoundHeals, Sequence[Failure]]:
    """Return the heals, each with the principal that started it, and what could not be read of that.

    Systems Manager lists a run for a limited time. The prefix also fits the runbook that asks for an approval.
    """

    def read(deployment: Deployment) -> Mapping[str, str]:
        named = [{"Key": "DocumentNamePrefix", "Values": [deployment.runbooks.heal]}]
        operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
        runs = pages(deployment.new_clients().ssm, "ssm", operation, field, Filters=named)
        return {run["AutomationExecutionId"]: run.get("ExecutedBy", "") for run in runs}

    with TaskPool(workers, watch) as task_pool:
        by_ledger = {deployment.key: by_run for deployment, by_run in task_pool.run(found.ledgers, read)}
    heals = [
        replace(row, principal=by_ledger.get(row.deployment.key, {}).get(row.heal.run.run_id, ""))
        if row.heal.run.started_by is StartedBy.PERSON
        else row
        for row in found.heals
    ]
    return replace(found, heals=heals), task_pool.failures


@dataclass(frozen=True, slots=True)
class WaitingHeals:
    """The subnets of a deployment that AWS Config should have healed and has not started for a day."""

    deployment: Deployment
    subnet_ids: Sequence[str]

    def fields(self) -> dict[str, Any]:
        """Return them for JSON, with the command that starts their heals."""
        return {
            **self.deployment.fields(),
            "subnetIds": list(self.subnet_ids),
            "command": self.deployment.start_command,
        }


def find_waiting_heals(
    found: FoundHeals, workers: int, watch: Watch
) -> tuple[Sequence[WaitingHeals], Sequence[Failure]]:
    """Return the subnets that wait for a heal in the deployments with some, and what could not be read of that."""
    now = datetime.now(UTC)

    def read(deployment: Deployment) -> WaitingHeals:
        return WaitingHeals(deployment, find_waiting(deployment.new_clients(), deployment, now))

    with TaskPool(workers, watch) as task_pool:
        waiting = [row for _, row in task_pool.run(found.ledgers, read) if row.subnet_ids]
    return sorted(waiting, key=lambda row: row.deployment.key), task_pool.failures


def parse_since(text: str | None) -> datetime | None:
    """Return the time of --since, by default in UTC, or None without it. Raise OptionError."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"--since {text} is not a time", "use ISO 8601, such as 2026-11-25T09:00Z") from error
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    if found > (now := datetime.now(UTC)):
        raise OptionError(
            f"--since {text} is in the future", f"use a time in the past: it is {now:%Y-%m-%dT%H:%MZ} now"
        )
    return found


def healed_at(heal: PastHeal) -> str:
    """Return when a heal last changed something, or started to, in ISO 8601."""
    run = heal.run
    return run.associated_at or run.intended_at or run.creation_intended_at or run.started_at


class UndoState(Enum):
    """What became of a heal, as totals say it.

    EARLIER: it was undone before. REPLACED: the heal that replaced it is undone instead. UNCHANGED: it ended before it
    changed its route table, as heals do that are stopped.
    """

    TO_UNDO = "to undo"
    UNDONE = "undone"
    EARLIER = "undone earlier"
    REPLACED = "replaced by later heals"
    UNCHANGED = "without a change of a route table"
    NOT_UNDONE = "not undone"


class UndoEffect(NamedTuple):
    """What an undo changes or has changed, or keeps: a code, the resource, and a text for people."""

    code: str
    resource: str
    text: str


@dataclass(frozen=True, slots=True)
class HealOutcome:
    """A heal, what became of it, why it could not be undone, what an undo changes, and the run of its undo.

    Programs read the state and the changes, and people read why.
    """

    deployment: Deployment
    heal: PastHeal
    state: UndoState
    why: str = ""
    changes: Sequence[UndoEffect] = ()
    undo_run_id: str = ""

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        run = self.heal.run
        return {
            **self.deployment.fields(),
            "runId": run.run_id,
            "vpcId": run.vpc_id,
            "routeTableId": run.route_table_id,
            "endpointId": run.endpoint_id,
            "healedAt": healed_at(self.heal) or None,
            "state": self.state.name,
            "why": self.why or None,
            "changes": [change._asdict() for change in self.changes],
            "undoneByRunId": self.undo_run_id or None,
        }


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What became of each heal, what could not be read or followed, and in how many ledgers heals were looked for."""

    outcomes: Sequence[HealOutcome]
    failures: Sequence[Failure]
    ledgers: int

    @property
    def planned(self) -> Sequence[HealOutcome]:
        """Before the undo: the heals that can be undone, as a dry run of the runbook showed."""
        return [outcome for outcome in self.outcomes if outcome.changes]

    @property
    def exit_status(self) -> int:
        """Return 0 if all are undone, 1 if some could not be undone, 2 if something could not be read, or no ledger was."""
        if self.failures or not self.ledgers:
            return UNDETERMINED
        return int(any(outcome.state is UndoState.NOT_UNDONE for outcome in self.outcomes))


def plan_undo(found: FoundHeals, workers: int, watch: Watch) -> UndoResult:
    """Let the runbook say what the undo of each heal changes, in a dry run that changes nothing."""
    outcomes = [_from_ledger(row.deployment, row.heal) for row in found.heals]
    rows = [outcome for outcome in outcomes if outcome.state is UndoState.TO_UNDO]
    return _run(UndoResult(outcomes, found.failures, len(found.ledgers)), rows, workers, watch, dry_run=True)


def undo_heals(planned: UndoResult, workers: int, watch: Watch) -> UndoResult:
    """Undo the heals whose changes are known, one after the other in a VPC: the last undo of an endpoint deletes it.

    What could not be started or followed is a failure of its deployment. Its other heals are still to undo.
    """
    return _run(planned, planned.planned, workers, watch, dry_run=False)


def _run(before: UndoResult, rows: Sequence[HealOutcome], workers: int, watch: Watch, *, dry_run: bool) -> UndoResult:
    """Start the runs for these heals, at the same time in each deployment, and return what became of all heals."""
    outcomes = {_key(outcome): outcome for outcome in before.outcomes}
    by_deployment = [list(together) for _, together in groupby(rows, key=lambda row: row.deployment.key)]

    def run(together: Sequence[HealOutcome]) -> None:
        for outcome in _undo(together, dry_run=dry_run):
            outcomes[_key(outcome)] = outcome

    with TaskPool(workers, watch) as task_pool:
        for _ in task_pool.run(by_deployment, run, lambda together: str(together[0].deployment)):
            pass
    failures = sorted([*before.failures, *task_pool.failures], key=lambda failure: failure.where)
    return UndoResult(list(outcomes.values()), failures, before.ledgers)


def _key(outcome: HealOutcome) -> tuple[str, ...]:
    return *outcome.deployment.key, outcome.heal.run.run_id


def _from_ledger(deployment: Deployment, heal: PastHeal) -> HealOutcome:
    """Return what the ledger says about the undo of a heal. The runbook says what it cannot confirm."""
    if heal.state is HealState.UNDONE:
        return HealOutcome(deployment, heal, UndoState.EARLIER, undo_run_id=heal.run.undo_run_id)
    if heal.state is HealState.REPLACED:
        return HealOutcome(deployment, heal, UndoState.REPLACED, f"run {heal.later_run_id} healed the table again")
    if not heal.can_be_undone and not heal.run.unconfirmed_since:
        why = "its route table was not changed; an endpoint that it created has no traffic, and the next heal uses it"
        return HealOutcome(deployment, heal, UndoState.UNCHANGED, why)
    return HealOutcome(deployment, heal, UndoState.TO_UNDO)


def _undo(rows: Sequence[HealOutcome], *, dry_run: bool) -> Iterator[HealOutcome]:
    """Undo heals of one deployment, and yield what became of each. Raise ApiError, OptionError."""
    deployment = rows[0].deployment
    aws = deployment.new_clients()
    version = version_to_start(deployment, deployment.runbooks.undo)
    given = {**deployment.common, "DryRun": str(dry_run).lower()}
    for by_run in [{row.heal.run.run_id: row for row in rows}] if dry_run else _rounds(rows):
        jobs = [Job(run_id, deployment.runbooks.undo, {"RunId": run_id, **given}, version) for run_id in by_run]
        for job, run in RunQueue(aws, jobs).run(started=lambda _job, _run_id: None):
            yield _ended(by_run[job.name], run, dry_run=dry_run)


def _rounds(rows: Sequence[HealOutcome]) -> Iterator[Mapping[str, HealOutcome]]:
    """Yield the heals, by run, that can be undone at the same time: at most one of each VPC, latest first."""
    by_vpc: dict[str, list[HealOutcome]] = {}
    for row in sorted(rows, key=lambda row: (healed_at(row.heal), row.heal.run.run_id), reverse=True):
        by_vpc.setdefault(row.heal.run.vpc_id, []).append(row)
    for at_once in zip_longest(*by_vpc.values()):
        yield {row.heal.run.run_id: row for row in at_once if row}


def _ended(row: HealOutcome, run: Run, *, dry_run: bool) -> HealOutcome:
    if not has_succeeded(run):
        why = cause_of(run) or f"its run ended with {run.status}"
        return replace(row, state=UndoState.NOT_UNDONE, why=why, undo_run_id="" if dry_run else run.id)
    if dry_run:
        plan = read_answer(run, "plan.Details", UndoAnswer)
        facts = plan.facts if plan else ()
        return replace(row, changes=[UndoEffect(fact.code, fact.resource, undo_fact_text(fact)) for fact in facts])
    return replace(row, state=UndoState.UNDONE, changes=list(_done(run)), undo_run_id=run.id)


def _done(run: Run) -> Iterator[UndoEffect]:
    """Yield each change that an undo made, and what it kept."""
    check, rest, confirm = (read_answer(run, f"{step}.Details", UndoAnswer) for step in ("check", "rest", "confirm"))
    if check is None:
        return
    table_id, endpoint_id = check.route_table_id, check.endpoint_id
    if check.action == UNDONE:
        yield UndoEffect("UNDONE_BEFORE", table_id, f"another run undid the same heal of {table_id} first")
        return
    yield UndoEffect("DISASSOCIATED", table_id, f"{table_id} no longer uses {endpoint_id}")
    if confirm and confirm.action == UndoChange.DELETE_ENDPOINT:
        yield UndoEffect("DELETED", endpoint_id, f"deleted: {endpoint_id}")
    elif confirm and confirm.action == UndoChange.KEEP_ENDPOINT:
        yield UndoEffect("KEPT", endpoint_id, f"kept: {endpoint_id}, which another heal uses now")
    else:
        kept = (fact for fact in (rest.facts if rest else ()) if fact.code is UndoFactCode.KEEP_ENDPOINT)
        yield from (UndoEffect("KEPT", fact.resource, f"kept: {undo_fact_text(fact)}") for fact in kept)
