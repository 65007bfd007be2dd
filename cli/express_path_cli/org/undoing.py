"""Undo heals in many accounts and Regions: which heals there were, and the runs that undo them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from express_path_cli.automation.ledger import HealState, PastHeal, past_heals, read_history
from express_path_cli.automation.runs import Job, Run, RunQueue, cause_of, has_succeeded
from express_path_cli.automation.stack import runbooks_of
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.org.deployments import Deployment, DeploymentsRequest, find_deployments
from express_path_cli.terminal.errors import UNDETERMINED, Failure
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class PlaceHeals:
    """The heals of one deployment since a time, latest first."""

    deployment: Deployment
    heals: Sequence[PastHeal]

    def to_undo(self) -> Sequence[PastHeal]:
        """Return those whose change is still there, as far as the ledger shows."""
        return [heal for heal in self.heals if heal.can_be_undone]


@dataclass(frozen=True, slots=True)
class FoundHeals:
    """The heals of each deployment that had some, how many places have no stack, and what could not be read."""

    places: Sequence[PlaceHeals]
    deployments: int
    without_stack: int
    failures: Sequence[Failure]


def find_heals(request: DeploymentsRequest, since: datetime, watch: Watch) -> FoundHeals:
    """Read which heals changed something since a time. Raise OptionError, ApiError."""

    def read(deployment: Deployment) -> PlaceHeals:
        runbooks, aws = runbooks_of(deployment.stack), replace(deployment.place.aws)
        heals = past_heals(read_history(aws.dynamodb, runbooks.ledger_table))
        latest_first = sorted(heals, key=lambda heal: (healed_at(heal), heal.run.run_id), reverse=True)
        return PlaceHeals(deployment, [heal for heal in latest_first if _is_since(heal, since)])

    with TaskPool(request.live.workers, watch) as task_pool:
        found = find_deployments(request, task_pool)
        places = [place for _, place in task_pool.run(found.found, read)]
    places.sort(key=lambda place: place.deployment.key)
    return FoundHeals(
        [place for place in places if place.heals],
        len(places),
        found.without_stack,
        sorted(task_pool.failures, key=lambda failure: failure.where),
    )


def healed_at(heal: PastHeal) -> str:
    """Return when a heal last changed something, or started to, in ISO 8601."""
    run = heal.run
    return run.associated_at or run.intended_at or run.creation_intended_at or run.started_at


def _is_since(heal: PastHeal, since: datetime) -> bool:
    """Return whether a heal changed something since a time. One whose time cannot be read is never left out."""
    try:
        return datetime.fromisoformat(healed_at(heal)) >= since
    except (ValueError, TypeError):
        return True


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
    """A heal, what became of it, why it could not be undone, and the run of its undo."""

    deployment: Deployment
    heal: PastHeal
    state: UndoState
    why: str = ""
    undo_run_id: str = ""

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        run = self.heal.run
        place = {name: value for name, value in self.deployment.fields().items() if name != "stackName"}
        return {
            **place,
            "runId": run.run_id,
            "vpcId": run.vpc_id,
            "routeTableId": run.route_table_id,
            "endpointId": run.endpoint_id,
            "healedAt": healed_at(self.heal) or None,
            "state": self.state,
            "why": self.why or None,
            "undoneByRunId": self.undo_run_id or None,
        }


def planned(place: PlaceHeals) -> list[HealOutcome]:
    """Return what an undo would do with each heal of a place."""
    return [_planned(place.deployment, heal) for heal in place.heals]


def _planned(deployment: Deployment, heal: PastHeal) -> HealOutcome:
    if heal.can_be_undone:
        return HealOutcome(deployment, heal, UndoState.TO_UNDO)
    if heal.state is HealState.UNDONE:
        return HealOutcome(deployment, heal, UndoState.EARLIER, undo_run_id=heal.run.undo_run_id)
    if heal.state is HealState.REPLACED:
        return HealOutcome(deployment, heal, UndoState.REPLACED, f"run {heal.later_run_id} healed the table again")
    if not heal.run.unconfirmed_since:
        why = "its route table was not changed; an endpoint that it created has no traffic, and the next heal uses it"
        return HealOutcome(deployment, heal, UndoState.UNCHANGED, why)
    why = "the ledger does not confirm its change; express-path undo says what to look for in CloudTrail"
    return HealOutcome(deployment, heal, UndoState.NOT_UNDONE, why)


@dataclass(frozen=True, slots=True)
class OrgUndo:
    """What became of each heal, what could not be read or followed, and in how many deployments heals were looked for."""

    outcomes: Sequence[HealOutcome]
    failures: Sequence[Failure]
    deployments: int

    def count(self, state: UndoState) -> int:
        """Return how many heals are in a state."""
        return sum(outcome.state is state for outcome in self.outcomes)

    @property
    def exit_status(self) -> int:
        """Return 0 if all are undone, 1 if some could not be undone, 2 if something could not be read, or no ledger was."""
        if self.failures or not self.deployments:
            return UNDETERMINED
        return int(any(outcome.state is UndoState.NOT_UNDONE for outcome in self.outcomes))


def undo_organization(found: FoundHeals, workers: int, watch: Watch) -> OrgUndo:
    """Undo the heals of each place, one after the other in a VPC, so that the last undo of an endpoint deletes it.

    What could not be started or followed is a failure of its place. Its other heals are still to undo.
    """
    outcomes = {_key(outcome): outcome for place in found.places for outcome in planned(place)}

    def undo(place: PlaceHeals) -> None:
        for outcome in _undo(place):
            outcomes[_key(outcome)] = outcome

    with TaskPool(workers, watch) as task_pool:
        waiting = [place for place in found.places if place.to_undo()]
        for _ in task_pool.run(waiting, undo, lambda place: str(place.deployment)):
            pass
    failures = sorted([*found.failures, *task_pool.failures], key=lambda failure: failure.where)
    return OrgUndo(list(outcomes.values()), failures, found.deployments)


def _key(outcome: HealOutcome) -> tuple[str, str, str]:
    return *outcome.deployment.key, outcome.heal.run.run_id


def _undo(place: PlaceHeals) -> Iterator[HealOutcome]:
    """Undo the heals of one place, and yield what became of each. Raise ApiError."""
    runbooks, aws = runbooks_of(place.deployment.stack), replace(place.deployment.place.aws)
    given = {**runbooks.common, "DryRun": "false"}
    for heals in _rounds(place.to_undo()):
        jobs = [Job(run_id, runbooks.undo_document, {"RunId": run_id, **given}) for run_id in heals]
        for job, run in RunQueue(aws, jobs).run(started=lambda _job, _run_id: None):
            yield _ended(place.deployment, heals[job.name], run)


def _rounds(heals: Sequence[PastHeal]) -> Iterator[Mapping[str, PastHeal]]:
    """Yield the heals, by run, that can be undone at the same time: at most one of each VPC, in the given order."""
    by_vpc: dict[str, list[PastHeal]] = {}
    for heal in heals:
        by_vpc.setdefault(heal.run.vpc_id, []).append(heal)
    for row in zip_longest(*by_vpc.values()):
        yield {heal.run.run_id: heal for heal in row if heal}


def _ended(deployment: Deployment, heal: PastHeal, run: Run) -> HealOutcome:
    if has_succeeded(run):
        return HealOutcome(deployment, heal, UndoState.UNDONE, undo_run_id=run.id)
    why = cause_of(run) or f"its run ended with {run.status}"
    return HealOutcome(deployment, heal, UndoState.NOT_UNDONE, why, run.id)
