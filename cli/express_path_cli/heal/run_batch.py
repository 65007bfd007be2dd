"""Run a runbook several times, and print a line for each run that starts or ends."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from express_path.errors import ApiError
from express_path_cli.automation.runs import Job, Run, RunQueue
from express_path_cli.heal.runbook_commands import (
    Deployment,
    changes_by_heal,
    failed_steps,
    failure_line,
    has_succeeded,
    show_command,
)
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import locating_errors, say


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The runs that succeeded, by the names of their jobs, and the names of the jobs that failed or did not start."""

    succeeded: dict[str, Run]
    failed: Sequence[str]
    not_started: Sequence[str]


class Batch:
    """Jobs that run the same runbook. `title` says what a run is, such as heal or dry run."""

    def __init__(self, deployment: Deployment, title: str, jobs: Sequence[Job], parallel: int | None = None) -> None:
        """Start nothing yet. parallel: how many runs are in progress at once, a few if None."""
        self._deployment = deployment
        self._title = title
        self._total = len(jobs)
        self._queue = RunQueue(deployment.account_region.aws, jobs, parallel)
        self._succeeded: dict[str, Run] = {}
        self._failed: list[str] = []

    def run(self, done: Callable[[Run], Iterable[str]], *, keep_going: bool) -> BatchResult:
        """Start the runs and watch them. `done` returns more lines to print about a run that succeeded.

        After a failure, start no more runs, unless keep_going. Ctrl-C and a failed read or start stop only the
        watching: what continues is printed. Raise LocatedError.
        """
        with locating_errors(self._deployment.account_region):
            try:
                for job, run in self._queue.run(self._print_start):
                    self._print_end(job, run, done)
                    if self._failed and not keep_going:
                        self._stop()
            except (KeyboardInterrupt, ApiError):
                self._print_rest()
                raise
        return BatchResult(self._succeeded, self._failed, [job.name for job in self._queue.waiting])

    def _print_start(self, job: Job, run_id: str) -> None:
        if not _is_dry_run(job):
            echo(f"{self._title} of {job.name}: run {run_id}")

    def _print_end(self, job: Job, run: Run, done: Callable[[Run], Iterable[str]]) -> None:
        number = f"[{len(self._succeeded) + len(self._failed) + 1}/{self._total}]"
        if has_succeeded(run):
            self._succeeded[job.name] = run
            echo(f"{number} {self._title} of {job.name}: done")
            for line in done(run):
                echo(f"  {line}")
            return
        self._failed.append(job.name)
        echo(f"{number} {self._title} of {job.name}: FAILED")
        say(f"{job.name}: {failure_line(run, self._deployment)}")
        for line in failed_steps(run):
            echo(f"  {line}")
        if changes_by_heal(self._deployment, job.document, job.parameters):
            echo(f"  to undo its changes, if any: express-path undo {shlex.quote(run.id)}{self._deployment.options}")

    def _stop(self) -> None:
        if self._queue.waiting and not self._queue.is_stopped:
            echo(f"no more runs are started ({len(self._queue.waiting)} left); --keep-going starts them too")
        self._queue.stop()

    def _print_rest(self) -> None:
        """Print which runs continue, how to undo them, and which were not started."""
        for run_id, job in self._queue.running.items():
            echo(f"{self._title} of {job.name} continues: {show_command(run_id, self._deployment)}")
            if changes_by_heal(self._deployment, job.document, job.parameters):
                undo = f"express-path undo {shlex.quote(run_id)}{self._deployment.options}"
                echo(f"  to undo its changes after it has ended: {undo}")
        if self._queue.waiting:
            names = ", ".join(job.name for job in self._queue.waiting)
            echo(f"{self._title} was not started for {names}")


def _is_dry_run(job: Job) -> bool:
    return job.parameters.get("DryRun") == "true"
