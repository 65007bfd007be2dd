"""Undo heals of the selected deployments: which heals there were, and the runs that undo them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from express_path.adapters.aws import Aws, pages
from express_path.domain.heal.ledger import StartedBy
from express_path.errors import ApiError
from express_path_cli.automation.deployments import Deployment, find_deployments
from express_path_cli.automation.documents import released_version
from express_path_cli.automation.ledger import HealState, PastHeal, past_heals, read_history
from express_path_cli.automation.runs import RUN_ID, Job, Run, RunQueue, cause_of, has_succeeded
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.named import resources_named
from express_path_cli.terminal.errors import UNDETERMINED, Failure, OptionError
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class LedgerHeals:
    """The heals in the ledger of one deployment, latest first."""

    deployment: Deployment
    heals: Sequence[PastHeal]


@dataclass(frozen=True, slots=True)
class FoundHeals:
    """The ledgers, how many accounts and Regions have no stack, and what could not be read."""

    ledgers: Sequence[LedgerHeals]
    without_stack: int
    failures: Sequence[Failure]

    def since(self, time: datetime) -> "FoundHeals":
        """Return the same with only the heals that changed something since a time, or whose time cannot be read."""

        def is_since(heal: PastHeal) -> bool:
            try:
                return datetime.fromisoformat(healed_at(heal)) >= time
            except (ValueError, TypeError):
                return True

        return self.only(is_since)

    def only(self, is_wanted: Callable[[PastHeal], bool]) -> "FoundHeals":
        """Return the same without the other heals."""
        ledgers = [replace(row, heals=[heal for heal in row.heals if is_wanted(heal)]) for row in self.ledgers]
        return replace(self, ledgers=ledgers)

    def named(self, targets: Sequence[str]) -> "FoundHeals":
        """Return the same with only the heals of these runs, or of what has this ID or Name tag and can be undone.

        Raise OptionError if a run is in no ledger, or in several, or if nothing can be undone; and ApiError.
        """
        wanted = {run_id for target in targets for run_id in self._runs_of(target)}
        return self.only(lambda heal: heal.run.run_id in wanted)

    def _runs_of(self, target: str) -> Sequence[str]:
        every = [heal for row in self.ledgers for heal in row.heals]
        runs = [heal.run.run_id for heal in every if heal.run.run_id == target]
        if not runs and not RUN_ID.fullmatch(target):
            ids = {target}
            if not re.fullmatch(r"(subnet|rtb|vpc)-[0-9a-f]+", target):
                ids = {one for row in self.ledgers for one in resources_named(row.deployment.place.aws, target)}
            healed = [heal for heal in every if heal.can_be_undone]
            runs = [
                one.run.run_id for one in healed if ids & {one.run.subnet_id, one.run.route_table_id, one.run.vpc_id}
            ]
            if not runs:
                raise OptionError(f"no heal of {target} can be undone", "express-path heals lists heals")
        elif len(runs) != 1:
            where = "several ledgers have" if runs else "no ledger here has"
            raise OptionError(f"{where} the heal of run {target}", "express-path heals lists heals")
        return runs


def find_heals(live: LiveOptions, watch: Watch) -> FoundHeals:
    """Read the heals of each deployment. Raise OptionError, ApiError."""

    def read(deployment: Deployment) -> LedgerHeals:
        heals = past_heals(read_history(replace(deployment.place.aws).dynamodb, deployment.ledger))
        return LedgerHeals(deployment, heals)

    with TaskPool(live.workers, watch) as task_pool:
        found = find_deployments(live, task_pool)
        ledgers = [row for _, row in task_pool.run(found.found, read)]
    ledgers.sort(key=lambda row: row.deployment.key)
    return FoundHeals(ledgers, found.without_stack, sorted(task_pool.failures, key=lambda failure: failure.where))


def with_principals(found: FoundHeals, workers: int, watch: Watch) -> tuple[FoundHeals, Sequence[ApiError]]:
    """Return the heals, each with the principal that started it, and what could not be read of that.

    Systems Manager lists a run for a limited time. The prefix also fits the runbook that asks for an approval.
    """
    unread: list[ApiError] = []

    def read(row: LedgerHeals) -> LedgerHeals:
        named = [{"Key": "DocumentNamePrefix", "Values": [row.deployment.runbooks.heal]}]
        operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
        try:
            runs = pages(replace(row.deployment.place.aws).ssm, "ssm", operation, field, Filters=named)
        except ApiError as error:
            unread.append(error)
            return row
        by_run = {run["AutomationExecutionId"]: run.get("ExecutedBy", "") for run in runs}
        heals = [
            replace(heal, principal=by_run.get(heal.run.run_id, ""))
            if heal.run.started_by is StartedBy.PERSON
            else heal
            for heal in row.heals
        ]
        return replace(row, heals=heals)

    with TaskPool(workers, watch) as task_pool:
        read_rows = task_pool.run(found.ledgers, read, lambda row: str(row.deployment))
        return replace(found, ledgers=[row for _, row in read_rows]), unread


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


class UndoState(StrEnum):
    """What became of a heal.

    EARLIER: it was undone before. REPLACED: the heal that replaced it is undone instead. UNCHANGED: it ended before it
    changed its route table, as heals do that are stopped.
    """

    UNDONE = "UNDONE"
    EARLIER = "EARLIER"
    REPLACED = "REPLACED"
    UNCHANGED = "UNCHANGED"
    TO_UNDO = "TO_UNDO"
    NOT_UNDONE = "NOT_UNDONE"


@dataclass(frozen=True, slots=True)
class HealOutcome:
    """A heal, what became of it, why it could not be undone, what an undo changes, and the run of its undo."""

    deployment: Deployment
    heal: PastHeal
    state: UndoState
    why: str = ""
    changes: Sequence[str] = ()
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
            "state": self.state,
            "why": self.why or None,
            "changes": list(self.changes),
            "undoneByRunId": self.undo_run_id or None,
        }


@dataclass(frozen=True, slots=True)
class Undo:
    """What became of each heal, what could not be read or followed, and in how many ledgers heals were looked for."""

    outcomes: Sequence[HealOutcome]
    failures: Sequence[Failure]
    ledgers: int

    def count(self, state: UndoState) -> int:
        """Return how many heals are in a state."""
        return sum(outcome.state is state for outcome in self.outcomes)

    @property
    def planned(self) -> int:
        """How many heals can be undone, as a dry run of the runbook showed."""
        return sum(outcome.state is UndoState.TO_UNDO and bool(outcome.changes) for outcome in self.outcomes)

    @property
    def exit_status(self) -> int:
        """Return 0 if all are undone, 1 if some could not be undone, 2 if something could not be read, or no ledger was."""
        if self.failures or not self.ledgers:
            return UNDETERMINED
        return int(any(outcome.state is UndoState.NOT_UNDONE for outcome in self.outcomes))


def plan_undo(found: FoundHeals, workers: int, watch: Watch) -> Undo:
    """Let the runbook say what the undo of each heal changes, in a dry run that changes nothing."""
    outcomes = [_from_ledger(row.deployment, heal) for row in found.ledgers for heal in row.heals]
    return _run(Undo(outcomes, found.failures, len(found.ledgers)), workers, watch, dry_run=True)


def undo_heals(planned: Undo, workers: int, watch: Watch) -> Undo:
    """Undo the heals whose changes are known, one after the other in a VPC: the last undo of an endpoint deletes it.

    What could not be started or followed is a failure of its deployment. Its other heals are still to undo.
    """
    return _run(planned, workers, watch, dry_run=False)


def _run(planned: Undo, workers: int, watch: Watch, *, dry_run: bool) -> Undo:
    outcomes = {_key(outcome): outcome for outcome in planned.outcomes}
    waiting: dict[tuple[str, str, str], list[HealOutcome]] = {}
    for outcome in planned.outcomes:
        if outcome.state is UndoState.TO_UNDO and (dry_run or outcome.changes):
            waiting.setdefault(outcome.deployment.key, []).append(outcome)

    def run(rows: Sequence[HealOutcome]) -> None:
        aws = replace(rows[0].deployment.place.aws)
        for outcome in _undo(aws, rows, dry_run=dry_run):
            outcomes[_key(outcome)] = outcome

    with TaskPool(workers, watch) as task_pool:
        for _ in task_pool.run(list(waiting.values()), run, lambda rows: str(rows[0].deployment)):
            pass
    failures = sorted([*planned.failures, *task_pool.failures], key=lambda failure: failure.where)
    return Undo(list(outcomes.values()), failures, planned.ledgers)


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


def _undo(aws: Aws, rows: Sequence[HealOutcome], *, dry_run: bool) -> Iterator[HealOutcome]:
    """Undo heals of one deployment, and yield what became of each. Raise ApiError, OptionError."""
    deployment = rows[0].deployment
    version = released_version(aws.ssm, deployment.runbooks.undo) if deployment.is_rolled_out else ""
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
        return replace(row, changes=run.outputs.get("plan.Summary", "").split(" | "))
    return replace(row, state=UndoState.UNDONE, changes=list(_done(run)), undo_run_id=run.id)


def _done(run: Run) -> Iterator[str]:
    """Yield each change that an undo made, and what it kept."""
    table, endpoint = (run.outputs.get(f"plan.{name}", "") for name in ("RouteTableId", "VpcEndpointId"))
    if run.outputs.get("check.Action") == "UNDONE":
        yield f"another run undid the same heal of {table} first"
        return
    yield f"{table} no longer uses {endpoint}"
    if run.outputs.get("confirm.Action") == "DELETE_ENDPOINT":
        yield f"deleted: {endpoint}"
    elif run.outputs.get("confirm.Action") == "KEEP_ENDPOINT":
        yield f"kept: {endpoint}, which another heal uses now"
    else:
        yield from (f"kept: {line}" for line in run.outputs.get("rest.Summary", "").split(" | ") if " stays: " in line)
