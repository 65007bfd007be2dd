"""Stop the heals of the selected deployments, and allow them again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from express_path.adapters.aws import Aws
from express_path.adapters.ledger import ledger_time
from express_path.adapters.roles import assuming
from express_path.domain.heal.ledger_records import Stop
from express_path.errors import ExpressPathError
from express_path_cli.automation.deployments import Deployment, StackEvidence, for_each_stack
from express_path_cli.automation.starts import Heals, Started, find_heals, start_remediations
from express_path_cli.automation.stops import (
    Exceptions,
    Running,
    StopRecord,
    allow_heals,
    find_exceptions,
    put_stop,
    read_stop,
    record_exceptions,
    wait_for_changes,
    wait_for_runs,
)
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import find_home
from express_path_cli.terminal.errors import UNDETERMINED, Failure, LocatedError, OptionError, one_line
from express_path_cli.terminal.progress import Watch


class StopState(StrEnum):
    """What a deployment is after the command. CHANGING: stopped, but a run may still change something."""

    STOPPED = "STOPPED"
    CHANGING = "CHANGING"
    NOT_STOPPED = "NOT_STOPPED"


@dataclass(frozen=True, slots=True)
class StoppedDeployment:
    """A deployment, the clients of its StopRole, and the stop that it has; None if its heals are not stopped.

    was_stopped: it is an earlier one. running: the heals that still run, or if the command waited, all runs. note: that the
    exceptions were not recorded, and why; empty if they were.
    """

    deployment: Deployment
    role: Aws = field(repr=False)
    record: StopRecord | None
    was_stopped: bool = True
    running: Sequence[Running] = ()
    note: str = ""

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
            "running": [
                {"runId": run.run_id, "runbook": run.document, "step": run.step or None} for run in self.running
            ],
        }


def _stop_fields(record: StopRecord | None) -> dict[str, str | None]:
    stop = record.stop if record else Stop("", "", "")
    return {"stoppedAt": stop.stopped_at or None, "by": stop.by or None, "reason": stop.reason or None}


@dataclass(frozen=True, slots=True)
class Stops:
    """Each deployment with its stop, sorted, how many accounts and Regions have none, and what failed.

    must_end: the command waited until no run is in progress, so one that is counts as not done. other_notes: those that are not
    about a deployment.
    """

    rows: Sequence[StoppedDeployment]
    without_stack: int
    failures: Sequence[Failure]
    must_end: bool = False
    other_notes: Sequence[str] = ()

    @property
    def notes(self) -> Sequence[str]:
        """The notes, those on the deployments sorted."""
        return [*sorted(row.note for row in self.rows if row.note), *self.other_notes]

    def exit_status(self, *, dry_run: bool) -> int:
        """Return 0 if all are stopped, or would be; 2 if one is not, if something failed, or if there is no deployment."""
        is_done = dry_run or all(
            row.state is StopState.STOPPED and not (self.must_end and row.running) for row in self.rows
        )
        return 0 if self.rows and is_done and not self.failures else UNDETERMINED


def find_stops(live: LiveOptions, watch: Watch) -> Stops:
    """Find out where heals are stopped, in stacks where they may be started. Raise OptionError, ApiError."""

    def read(failures: list[Failure], evidence: StackEvidence) -> Sequence[StoppedDeployment]:
        deployment = evidence.confirmed()
        try:
            return [_read(deployment)]
        except ExpressPathError as error:
            failures.append(Failure(str(deployment), error))
            return []

    return _found(live, watch, read)


def plan_stops(live: LiveOptions, watch: Watch) -> Stops:
    """Find out what `stop_heals` would stop. Raise OptionError, ApiError."""
    return _found(live, watch, partial(_in_each_ledger, _read))


def _found(
    live: LiveOptions, watch: Watch, read: Callable[[list[Failure], StackEvidence], Sequence[StoppedDeployment]]
) -> Stops:
    live.check()
    home = find_home(live)
    with TaskPool(live.workers, watch) as task_pool:
        by_stack = for_each_stack(live, home, task_pool, partial(read, task_pool.failures))
    rows = [row for rows in by_stack.values for row in rows]
    return replace(_sorted(rows, by_stack.without_stack, task_pool.failures), other_notes=by_stack.notes)


def stop_heals(live: LiveOptions, reason: str, watch: Watch, wait: timedelta | None = None) -> Stops:
    """Stop the heals of each stack as soon as it is found, and then wait for the runs. Raise OptionError, ApiError.

    wait: wait until no run of a runbook is in progress, at most so long; None: only until no run changes anything.
    """
    live.check()
    home = find_home(live)
    stop = Stop(ledger_time(datetime.now(UTC)), home.caller.arn, reason)
    with TaskPool(live.workers, watch) as task_pool:
        in_stack = partial(_in_each_ledger, partial(_stop, stop), task_pool.failures)
        by_stack = for_each_stack(live, home, task_pool, in_stack)
        stopped: Sequence[StoppedDeployment] = [row for rows in by_stack.values for row in rows]
        stopped = _after(task_pool, stopped, _settle, "")
        if wait:
            stopped = _after(task_pool, stopped, partial(_wait_for_end, wait, watch), "runs of ")
    done = _sorted(stopped, by_stack.without_stack, task_pool.failures)
    return replace(done, must_end=wait is not None, other_notes=by_stack.notes)


def _in_each_ledger(
    task: Callable[[Deployment], StoppedDeployment], failures: list[Failure], evidence: StackEvidence
) -> Sequence[StoppedDeployment]:
    """Run a task for each ledger that a stack or its plan function names, first for those that CloudFormation shows.

    What fails is added to the failures, and so is what is wrong with the stack: it may not be the one that heals.
    """
    deployment = evidence.deployment
    rows: list[StoppedDeployment] = []

    def run(ledger: str) -> None:
        try:
            rows.append(task(replace(deployment, ledger=ledger)))
        except ExpressPathError as error:
            failures.append(Failure(str(deployment), LocatedError(f"ledger {ledger}", error)))

    for ledger in evidence.ledgers:
        run(ledger)
    try:
        function_ledger = evidence.function_ledger()
    except ExpressPathError as error:
        failures.append(Failure(str(deployment), error))
        return rows
    if function_ledger and function_ledger not in evidence.ledgers:
        run(function_ledger)
    problem = evidence.problem(function_ledger)
    if problem and rows:
        problem = OptionError(
            str(problem),
            "its ledger counts all the same; deploy the stack again, or find out who made it and what heals here",
        )
    if problem:
        failures.append(Failure(str(deployment), problem))
    return rows


def _after(
    task_pool: TaskPool,
    rows: Sequence[StoppedDeployment],
    task: Callable[[StoppedDeployment], StoppedDeployment],
    of: str,
) -> Sequence[StoppedDeployment]:
    """Return the deployments after a task. What could not be watched is stopped all the same, and among the failures."""
    done = {row.deployment.key: after for row, after in task_pool.run(rows, task, lambda row: f"{of}{row.deployment}")}
    return [done.get(row.deployment.key, row) for row in rows]


def _wait_for_end(wait: timedelta, watch: Watch, row: StoppedDeployment) -> StoppedDeployment:
    """Wait until no run of the stack's runbooks is in progress. Each run is a task of the watch, and done when it ends."""
    before: set[str] = set()

    def show(found: Sequence[Running]) -> None:
        nonlocal before
        now = {run.run_id for run in found}
        watch.expect(len(now - before))
        for run_id in before - now:
            watch.done(f"run {run_id} has ended")
        before = now

    role = replace(row.role)
    return replace(row, running=wait_for_runs(role.ssm, row.deployment.runbooks, wait.total_seconds(), show))


def _sorted(rows: Sequence[StoppedDeployment], without_stack: int, failures: Sequence[Failure]) -> Stops:
    return Stops(
        sorted(rows, key=lambda row: row.deployment.key),
        without_stack,
        sorted(failures, key=lambda failure: failure.where),
    )


def _role_of(deployment: Deployment) -> Aws:
    return assuming(deployment.new_clients(), deployment.stop_role_arn)


def _read(deployment: Deployment) -> StoppedDeployment:
    role = _role_of(deployment)
    return StoppedDeployment(deployment, role, read_stop(replace(role).dynamodb, deployment.ledger))


def _stop(stop: Stop, deployment: Deployment) -> StoppedDeployment:
    """Stop the heals of a deployment, or find out who stopped them earlier. Raise ApiError."""
    role = _role_of(deployment)
    dynamodb = replace(role).dynamodb
    is_new = put_stop(dynamodb, deployment.ledger, stop)
    earlier = None if is_new else read_stop(dynamodb, deployment.ledger)
    return StoppedDeployment(deployment, role, earlier or StopRecord(stop), was_stopped=not is_new)


def _settle(row: StoppedDeployment) -> StoppedDeployment:
    """Record the exceptions if the stop is new, and wait until nothing changes. Raise ApiError if that cannot be read."""
    role, deployment = replace(row.role), row.deployment
    if row.record and not row.was_stopped:
        try:
            exceptions = record_exceptions(role, deployment, row.record.stop)
            row = replace(row, record=replace(row.record, exceptions=exceptions))
        except ExpressPathError as error:
            note = f"{deployment}: remediation exceptions were not recorded, so start clears none: {one_line(error)}"
            row = replace(row, note=note)
    return replace(row, running=wait_for_changes(role.ssm, deployment.runbooks.heal))


@dataclass(frozen=True, slots=True)
class Start:
    """What allowing the heals of a deployment does: the exceptions that are to be cleared, and the heals to start."""

    row: StoppedDeployment
    exceptions: Exceptions
    heals: Heals

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **self.row.fields(),
            "mode": self.row.deployment.mode or None,
            "toClear": list(self.exceptions.cleared),
            "leftExceptions": list(self.exceptions.left),
            **_heal_fields(self.heals),
            "toStart": list(self.heals.due),
        }


def _heal_fields(heals: Heals) -> dict[str, Sequence[str]]:
    return {"runningHeals": list(heals.running), "undoneOrRejected": list(heals.decided)}


def plan_starts(
    rows: Sequence[StoppedDeployment], workers: int, watch: Watch
) -> tuple[Sequence[Start], Sequence[Failure]]:
    """Find out what `start_heals` would do in each deployment, and return that and what could not be read."""
    with TaskPool(workers, watch) as task_pool:
        planned = [plan for _, plan in task_pool.run(rows, _plan_start, lambda row: str(row.deployment))]
    return sorted(planned, key=lambda start: start.row.deployment.key), task_pool.failures


def _plan_start(row: StoppedDeployment) -> Start:
    if row.deployment.mode == "OFF" and not row.record:
        return Start(row, Exceptions(), Heals())
    exceptions = find_exceptions(replace(row.role), row.deployment, row.record)
    return Start(row, exceptions, find_heals(row.deployment.new_clients(), row.deployment, exceptions.left))


@dataclass(frozen=True, slots=True)
class StartedDeployment:
    """A deployment whose heals are allowed, the stop that it had, and what became of exceptions and heals.

    failure: why heals were not started, or not all of them; None if they were.
    """

    deployment: Deployment
    record: StopRecord | None
    exceptions: Exceptions
    heals: Heals = field(default_factory=Heals)
    started: Started = field(default_factory=Started)
    failure: ExpressPathError | None = None

    @property
    def note(self) -> str:
        """That AWS Config shows no runs of heals that it accepted; empty if it does."""
        if not self.started.unseen:
            return ""
        return (
            f"{self.deployment}: AWS Config accepted the heals of {', '.join(self.started.unseen)}, and shows no run of them "
            "yet; express-path doctor names subnets without a run for a day"
        )

    def fields(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **self.deployment.fields(),
            "state": StopState.NOT_STOPPED,
            "mode": self.deployment.mode or None,
            **_stop_fields(self.record),
            "clearedExceptions": list(self.exceptions.cleared),
            "leftExceptions": list(self.exceptions.left),
            **_heal_fields(self.heals),
            "startedHeals": list(self.started.accepted),
            "withoutRun": list(self.started.unseen),
            "refusedHeals": list(self.started.refused),
        }


def start_heals(
    rows: Sequence[StoppedDeployment], workers: int, watch: Watch
) -> tuple[Sequence[StartedDeployment], Sequence[Failure]]:
    """Allow the heals of each deployment and start those that are due. Return where that worked and what failed."""
    with TaskPool(workers, watch) as task_pool:
        started = [done for _, done in task_pool.run(rows, _allow, lambda row: str(row.deployment))]
    failures = [Failure(str(row.deployment), row.failure) for row in started if row.failure]
    return sorted(started, key=lambda row: row.deployment.key), [*task_pool.failures, *failures]


def _allow(row: StoppedDeployment) -> StartedDeployment:
    """Allow the heals of a deployment, and start those that are due, with the permissions of the operator. Raise ApiError.

    A heal that cannot be started does not undo that heals are allowed.
    """
    deployment, record = row.deployment, row.record
    if record:
        exceptions = allow_heals(replace(row.role), deployment, record)
    elif deployment.mode == "OFF":
        exceptions = Exceptions()
    else:
        exceptions = find_exceptions(replace(row.role), deployment, None)
    done = StartedDeployment(deployment, record, exceptions)
    aws = deployment.new_clients()
    try:
        heals = find_heals(aws, deployment, exceptions.left)
        done = replace(done, heals=heals)
        started = start_remediations(aws.config, deployment.rule, heals)
    except ExpressPathError as error:
        return replace(done, failure=error)
    if not started.refused:
        return replace(done, started=started)
    reasons = "; ".join(sorted({*started.refused.values()}))
    refusal = OptionError(
        f"AWS Config did not start the heals of {', '.join(started.refused)}: {reasons}",
        f"run the command again: {deployment.start_command}",
    )
    return replace(done, started=started, failure=refusal)
