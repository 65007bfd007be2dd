"""Undo heals: the runs of the runbook that undoes them, and what became of each heal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from express_path.domain.heal.texts import undo_fact_text
from express_path.domain.heal.undo_plan import UNDONE, UndoChange, UndoFactCode
from express_path_cli.automation.answers import UndoAnswer, cause_of, read_answer
from express_path_cli.automation.deployments import Deployment
from express_path_cli.automation.past_heals import HealState, PastHeal
from express_path_cli.automation.release import version_to_start
from express_path_cli.automation.runs import Job, Run, RunQueue, has_succeeded
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.terminal.errors import UNDETERMINED, Failure
from express_path_cli.terminal.progress import Watch
from express_path_cli.undo.found_heals import FoundHeals, healed_at


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

    Programs read the state and the effects, and people read why.
    """

    deployment: Deployment
    heal: PastHeal
    state: UndoState
    why: str = ""
    effects: Sequence[UndoEffect] = ()
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
            "changes": [effect._asdict() for effect in self.effects],
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
        return [outcome for outcome in self.outcomes if outcome.effects]

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


def _undo(outcomes: Sequence[HealOutcome], *, dry_run: bool) -> Iterator[HealOutcome]:
    """Undo heals of one deployment, and yield what became of each. Raise ApiError, OptionError."""
    deployment = outcomes[0].deployment
    aws = deployment.new_clients()
    version = version_to_start(deployment, deployment.runbooks.undo)
    given = {**deployment.common, "DryRun": str(dry_run).lower()}
    rounds = [_by_run(outcomes)] if dry_run else _rounds(outcomes)
    for by_run in rounds:
        jobs = [Job(run_id, deployment.runbooks.undo, {"RunId": run_id, **given}, version) for run_id in by_run]
        for job, run in RunQueue(aws, jobs).run(started=lambda _job, _run_id: None):
            yield _ended(by_run[job.name], run, dry_run=dry_run)


def _rounds(outcomes: Sequence[HealOutcome]) -> Iterator[Mapping[str, HealOutcome]]:
    """Yield the heals, by run, that can be undone at the same time: at most one of each VPC, latest first."""
    by_vpc: dict[str, list[HealOutcome]] = {}
    latest_first = sorted(outcomes, key=lambda row: (healed_at(row.heal), row.heal.run.run_id), reverse=True)
    for outcome in latest_first:
        by_vpc.setdefault(outcome.heal.run.vpc_id, []).append(outcome)
    for at_once in zip_longest(*by_vpc.values()):
        yield _by_run([outcome for outcome in at_once if outcome])


def _by_run(outcomes: Sequence[HealOutcome]) -> Mapping[str, HealOutcome]:
    return {outcome.heal.run.run_id: outcome for outcome in outcomes}


def _ended(outcome: HealOutcome, run: Run, *, dry_run: bool) -> HealOutcome:
    """Return what became of a heal when the run of its undo, or of the dry run, has ended."""
    if not has_succeeded(run):
        why = cause_of(run) or f"its run ended with {run.status}"
        return replace(outcome, state=UndoState.NOT_UNDONE, why=why, undo_run_id="" if dry_run else run.id)
    if dry_run:
        plan = read_answer(run, "plan.Details", UndoAnswer)
        facts = plan.facts if plan else ()
        effects = [UndoEffect(fact.code, fact.resource, undo_fact_text(fact)) for fact in facts]
        return replace(outcome, effects=effects)
    return replace(outcome, state=UndoState.UNDONE, effects=list(_effects_of(run)), undo_run_id=run.id)


def _effects_of(run: Run) -> Iterator[UndoEffect]:
    """Yield each change that an undo made, and what it kept, by the answers of its run, which succeeded."""
    check = read_answer(run, "check.Details", UndoAnswer)
    if check is None:
        return
    table_id, endpoint_id = check.route_table_id, check.endpoint_id
    if check.action == UNDONE:
        yield UndoEffect("UNDONE_BEFORE", table_id, f"another run undid the same heal of {table_id} first")
        return
    yield UndoEffect("DISASSOCIATED", table_id, f"{table_id} no longer uses {endpoint_id}")
    confirmed = read_answer(run, "confirm.Details", UndoAnswer)
    if confirmed and confirmed.action == UndoChange.DELETE_ENDPOINT:
        yield UndoEffect("DELETED", endpoint_id, f"deleted: {endpoint_id}")
        return
    if confirmed and confirmed.action == UndoChange.KEEP_ENDPOINT:
        yield UndoEffect("KEPT", endpoint_id, f"kept: {endpoint_id}, which another heal uses now")
        return
    # Without a confirmation, the step `rest` found that the endpoint stays, or that it is gone.
    after_disassociation = read_answer(run, "rest.Details", UndoAnswer)
    for fact in after_disassociation.facts if after_disassociation else ():
        if fact.code is UndoFactCode.KEEP_ENDPOINT:
            yield UndoEffect("KEPT", fact.resource, f"kept: {undo_fact_text(fact)}")
