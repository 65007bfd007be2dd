"""Stop all heals in many accounts and Regions, and allow them again."""

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
from express_path_cli.automation.stack import Brake, brake_of
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
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.org.deployments import (
    Deployment,
    DeploymentsRequest,
    find_deployments,
    on_new_clients,
)
from express_path_cli.terminal.errors import UNDETERMINED, Failure, one_line
from express_path_cli.terminal.progress import Watch


class StopState(StrEnum):
    """What an account and Region is after the command. CHANGING: stopped, but a run may still change something."""

    STOPPED = "STOPPED"
    CHANGING = "CHANGING"
    NOT_STOPPED = "NOT_STOPPED"


@dataclass(frozen=True, slots=True)
class PlaceStop:
    """The stop of one deployment. was_stopped: it is an earlier one. exceptions: how many were recorded, None if unknown."""

    deployment: Deployment
    stop: Stop
    was_stopped: bool
    exceptions: int | None = None
    running: Sequence[RunningHeal] = ()

    @property
    def state(self) -> StopState:
        """Whether it is stopped, and nothing changes any more."""
        return StopState.CHANGING if any(run.may_change for run in self.running) else StopState.STOPPED

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **self.deployment.fields(),
            "state": self.state,
            **_stop_fields(self.stop),
            "wasStopped": self.was_stopped,
            "recordedExceptions": self.exceptions,
            "running": [{"runId": run.run_id, "step": run.step or None} for run in self.running],
        }


def _stop_fields(stop: Stop | None) -> dict[str, str | None]:
    return {
        "stoppedAt": stop.stopped_at if stop else None,
        "by": stop.by if stop else None,
        "reason": (stop.reason or None) if stop else None,
    }


@dataclass(frozen=True, slots=True)
class OrgStop:
    """What was stopped, where there is nothing to stop, what failed, and the notes."""

    places: Sequence[PlaceStop]
    without_stack: int
    failures: Sequence[Failure]
    notes: Sequence[str]

    @property
    def exit_status(self) -> int:
        """Return 0 if all is stopped; 2 if something is not, or if there is nothing that could be stopped."""
        is_stopped = bool(self.places) and all(place.state is StopState.STOPPED for place in self.places)
        return 0 if is_stopped and not self.failures else UNDETERMINED


def stop_organization(request: DeploymentsRequest, reason: str, watch: Watch) -> OrgStop:
    """Stop the heals of each deployment, first everywhere, and then wait for the runs. Raise OptionError, ApiError."""
    with TaskPool(request.live.workers, watch) as task_pool:
        found = find_deployments(request, task_pool)
        stop = new_stop(found.caller.arn, reason, datetime.now(UTC))
        stopped = [row for _, row in task_pool.run(found.found, partial(_stop, stop))]
        settled = task_pool.run(stopped, _settle, lambda row: str(row.place.deployment))
        places = {row.place.deployment.key: (place, note) for row, (place, note) in settled}
    # What could not be watched is stopped all the same, and among the failures.
    rows = [places.get(row.place.deployment.key, (row.place, "")) for row in stopped]
    return OrgStop(
        sorted((place for place, _ in rows), key=lambda place: place.deployment.key),
        found.without_stack,
        sorted(task_pool.failures, key=lambda failure: failure.where),
        sorted(note for _, note in rows if note),
    )


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A deployment that is stopped, and the clients of its StopRole."""

    place: PlaceStop
    brake: Brake
    role: Aws


def _stop(stop: Stop, deployment: Deployment) -> _Stopped:
    """Stop the heals of a deployment, or find out who stopped them earlier. Raise ApiError and RecordError."""
    brake = brake_of(deployment.stack)
    role = on_new_clients(deployment.place.aws, lambda aws: assuming(aws, brake.stop_role_arn))
    is_new = put_stop(role.dynamodb, brake.ledger_table, stop)
    earlier = None if is_new else read_stop(role.dynamodb, brake.ledger_table)
    known = len(earlier.exceptions) if earlier and earlier.exceptions is not None else None
    place = PlaceStop(deployment, earlier.stop if earlier else stop, not is_new, known)
    return _Stopped(place, brake, replace(role))


def _settle(stopped: _Stopped) -> tuple[PlaceStop, str]:
    """Record the exceptions, and wait until nothing changes; return a note if the exceptions were not recorded."""
    place, note = stopped.place, ""

    def settle(role: Aws) -> PlaceStop:
        nonlocal note
        known = place.exceptions
        if not place.was_stopped:
            try:
                known = record_exceptions(role, stopped.brake, place.stop)
            except ExpressPathError as error:
                note = (
                    f"{place.deployment}: remediation exceptions were not recorded, so org start clears none: "
                    f"{one_line(error)}"
                )
        running = wait_for_changes(role.ssm, stopped.brake.heal_document)
        return replace(place, exceptions=known, running=tuple(running))

    return on_new_clients(stopped.role, settle), note


@dataclass(frozen=True, slots=True)
class StoppedPlace:
    """A deployment, and the stop that was found there; None if its heals are not stopped."""

    deployment: Deployment
    brake: Brake
    role: Aws = field(repr=False)
    record: StopRecord | None


@dataclass(frozen=True, slots=True)
class StartedPlace:
    """A deployment whose heals are allowed. cleared: None if they were not stopped."""

    deployment: Deployment
    stop: Stop | None
    cleared: Cleared | None

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **self.deployment.fields(),
            "state": StopState.NOT_STOPPED,
            **_stop_fields(self.stop),
            "clearedExceptions": list(self.cleared.cleared) if self.cleared else [],
            "leftExceptions": list(self.cleared.left) if self.cleared else [],
        }


@dataclass(frozen=True, slots=True)
class FoundStops:
    """Each deployment with its stop, how many accounts and Regions have none, and what failed."""

    places: Sequence[StoppedPlace]
    without_stack: int
    failures: Sequence[Failure]


def find_stops(request: DeploymentsRequest, watch: Watch) -> FoundStops:
    """Find out where heals are stopped. Raise OptionError, ApiError."""
    with TaskPool(request.live.workers, watch) as task_pool:
        found = find_deployments(request, task_pool)
        places = [place for _, place in task_pool.run(found.found, _read)]
    places.sort(key=lambda place: place.deployment.key)
    return FoundStops(places, found.without_stack, task_pool.failures)


def start_organization(
    places: Sequence[StoppedPlace], workers: int, watch: Watch
) -> tuple[Sequence[StartedPlace], Sequence[Failure]]:
    """Allow the heals of each deployment, and return where they are allowed and what failed."""
    with TaskPool(workers, watch) as task_pool:
        started = [place for _, place in task_pool.run(places, _allow, lambda place: str(place.deployment))]
    return sorted(started, key=lambda place: place.deployment.key), task_pool.failures


def _read(deployment: Deployment) -> StoppedPlace:
    brake = brake_of(deployment.stack)
    role = on_new_clients(deployment.place.aws, lambda aws: assuming(aws, brake.stop_role_arn))
    return StoppedPlace(deployment, brake, replace(role), read_stop(replace(role).dynamodb, brake.ledger_table))


def _allow(place: StoppedPlace) -> StartedPlace:
    record = place.record
    if record is None:
        return StartedPlace(place.deployment, None, None)
    cleared = on_new_clients(place.role, lambda role: allow_heals(role, place.brake, record))
    return StartedPlace(place.deployment, record.stop, cleared)
