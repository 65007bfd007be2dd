"""Stop the heals of the selected deployments, and allow them again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any

from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import assuming
from express_path.domain.heal.ledger import Stop
from express_path.errors import ExpressPathError
from express_path_cli.automation.deployments import Deployment, find_deployments, on_new_clients
from express_path_cli.automation.stops import (
    Cleared,
    RunningHeal,
    StopRecord,
    allow_heals,
    new_stop,
    put_stop,
    read_stop,
    record_exceptions,
    wait_for_changes,
)
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.terminal.errors import UNDETERMINED, Failure, one_line
from express_path_cli.terminal.progress import Watch


class StopState(StrEnum):
    """What a deployment is after the command. CHANGING: stopped, but a run may still change something."""

    STOPPED = "STOPPED"
    CHANGING = "CHANGING"
    NOT_STOPPED = "NOT_STOPPED"


@dataclass(frozen=True, slots=True)
class StoppedDeployment:
    """A deployment, the clients of its StopRole, and the stop that it has; None if its heals are not stopped.

    was_stopped: it is an earlier one. running: the heals that still run.
    """

    deployment: Deployment
    role: Aws = field(repr=False)
    record: StopRecord | None
    was_stopped: bool = True
    running: Sequence[RunningHeal] = ()

    @property
    def state(self) -> StopState:
        """Whether it is stopped, and nothing changes anymore."""
        if self.record is None:
            return StopState.NOT_STOPPED
        return StopState.CHANGING if any(run.may_change for run in self.running) else StopState.STOPPED

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        known = self.record.exceptions if self.record else None
        return {
            **self.deployment.fields(),
            "state": self.state,
            **_stop_fields(self.record),
            "wasStopped": self.was_stopped,
            "recordedExceptions": None if known is None else len(known),
            "running": [{"runId": run.run_id, "step": run.step or None} for run in self.running],
        }


def _stop_fields(record: StopRecord | None) -> dict[str, str | None]:
    stop = record.stop if record else Stop("", "", "")
    return {"stoppedAt": stop.stopped_at or None, "by": stop.by or None, "reason": stop.reason or None}


@dataclass(frozen=True, slots=True)
class Stops:
    """Each deployment with its stop, sorted, how many accounts and Regions have none, what failed, and the notes."""

    rows: Sequence[StoppedDeployment]
    without_stack: int
    failures: Sequence[Failure]
    notes: Sequence[str] = ()

    def exit_status(self, *, dry_run: bool) -> int:
        """Return 0 if all are stopped, or would be; 2 if one is not, if something failed, or if there is no deployment."""
        is_done = dry_run or all(row.state is StopState.STOPPED for row in self.rows)
        return 0 if self.rows and is_done and not self.failures else UNDETERMINED


def find_stops(live: LiveOptions, watch: Watch) -> Stops:
    """Find out where heals are stopped. Raise OptionError, ApiError."""
    with TaskPool(live.workers, watch) as task_pool:
        found = find_deployments(live, task_pool)
        rows = [row for _, row in task_pool.run(found.found, _read)]
    return Stops(_sorted(rows), found.without_stack, _sorted_failures(task_pool))


def stop_heals(live: LiveOptions, reason: str, watch: Watch) -> Stops:
    """Stop the heals of each deployment, first everywhere, and then wait for the runs. Raise OptionError, ApiError."""
    with TaskPool(live.workers, watch) as task_pool:
        found = find_deployments(live, task_pool)
        stop = new_stop(found.caller.arn, reason, datetime.now(UTC))
        stopped = [row for _, row in task_pool.run(found.found, partial(_stop, stop))]
        settled = task_pool.run(stopped, _settle, lambda row: str(row.deployment))
        rows = {row.deployment.key: (done, note) for row, (done, note) in settled}
    # What could not be watched is stopped all the same, and among the failures.
    both = [rows.get(row.deployment.key, (row, "")) for row in stopped]
    notes = sorted(note for _, note in both if note)
    return Stops(_sorted([row for row, _ in both]), found.without_stack, _sorted_failures(task_pool), notes)


def _sorted(rows: Sequence[StoppedDeployment]) -> list[StoppedDeployment]:
    return sorted(rows, key=lambda row: row.deployment.key)


def _sorted_failures(task_pool: TaskPool) -> list[Failure]:
    return sorted(task_pool.failures, key=lambda failure: failure.where)


def _read(deployment: Deployment) -> StoppedDeployment:
    role = on_new_clients(deployment.place.aws, lambda aws: assuming(aws, deployment.stop_role_arn))
    return StoppedDeployment(deployment, replace(role), read_stop(replace(role).dynamodb, deployment.ledger))


def _stop(stop: Stop, deployment: Deployment) -> StoppedDeployment:
    """Stop the heals of a deployment, or find out who stopped them earlier. Raise ApiError."""
    role = on_new_clients(deployment.place.aws, lambda aws: assuming(aws, deployment.stop_role_arn))
    is_new = put_stop(role.dynamodb, deployment.ledger, stop)
    earlier = None if is_new else read_stop(role.dynamodb, deployment.ledger)
    return StoppedDeployment(deployment, replace(role), earlier or StopRecord(stop), was_stopped=not is_new)


def _settle(row: StoppedDeployment) -> tuple[StoppedDeployment, str]:
    """Record the exceptions, and wait until nothing changes; return a note if the exceptions were not recorded."""
    deployment, record, note = row.deployment, row.record, ""

    def settle(role: Aws) -> StoppedDeployment:
        nonlocal record, note
        if record and not row.was_stopped:
            try:
                record = replace(record, exceptions=record_exceptions(role, deployment, record.stop))
            except ExpressPathError as error:
                note = (
                    f"{deployment}: remediation exceptions were not recorded, so start clears none: {one_line(error)}"
                )
        running = wait_for_changes(role.ssm, deployment.runbooks.heal)
        return replace(row, record=record, running=tuple(running))

    return on_new_clients(row.role, settle), note


@dataclass(frozen=True, slots=True)
class StartedDeployment:
    """A deployment whose heals are allowed, the stop that it had, and what became of the remediation exceptions."""

    deployment: Deployment
    record: StopRecord | None
    exceptions: Cleared

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **self.deployment.fields(),
            "state": StopState.NOT_STOPPED,
            "mode": self.deployment.mode or None,
            **_stop_fields(self.record),
            "clearedExceptions": list(self.exceptions.cleared),
            "leftExceptions": list(self.exceptions.left),
        }


def start_heals(
    rows: Sequence[StoppedDeployment], workers: int, watch: Watch
) -> tuple[Sequence[StartedDeployment], Sequence[Failure]]:
    """Allow the heals of each deployment, and return where they are allowed and what failed."""
    with TaskPool(workers, watch) as task_pool:
        started = [done for _, done in task_pool.run(rows, _allow, lambda row: str(row.deployment))]
    return sorted(started, key=lambda row: row.deployment.key), task_pool.failures


def _allow(row: StoppedDeployment) -> StartedDeployment:
    record = row.record
    if record is None:
        return StartedDeployment(row.deployment, None, Cleared((), ()))
    cleared = on_new_clients(row.role, lambda role: allow_heals(role, row.deployment, record))
    return StartedDeployment(row.deployment, record, cleared)
