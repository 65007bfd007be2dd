"""Run the runbook that heals, once or several times, and say what came of it."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from express_path.adapters.aws import unless_denied
from express_path.domain.heal.texts import plan_text
from express_path.errors import ApiError
from express_path_cli.automation import runs
from express_path_cli.automation.answers import PlanAnswer, VerifyAnswer, cause_of, failed_steps, read_answer
from express_path_cli.automation.deployments import Deployment
from express_path_cli.automation.runs import Job, Run, RunQueue, StepRun, has_succeeded, start_run
from express_path_cli.automation.stops import read_stop
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import OptionError, locating_errors, say

_ALLOW_HINT = "to allow heals again: express-path start"
STOPS_HINT = f"undo still works; {_ALLOW_HINT}"
"""What people can do while heals are stopped."""

KeepGoing = Annotated[bool, typer.Option("--keep-going", help="With several runs: continue after a failure.")]


def check_stop(deployment: Deployment, *, starts: bool) -> None:
    """Say that somebody stopped all heals, if so. Raise OptionError if the command is about to start one.

    Heals do not depend on this check: who may not read the ledger learns it from the run.
    """
    with locating_errors(deployment.place):
        record = unless_denied(lambda: read_stop(deployment.place.aws.dynamodb, deployment.ledger))
    if record and starts:
        raise OptionError(str(record.stop), STOPS_HINT)
    if record:
        say(f"note: {record.stop}")


def undone_by(run: Run) -> str:
    """Return the run to undo in order to undo what a heal did, empty if nothing was healed."""
    verified = read_answer(run, "verify.Details", VerifyAnswer)
    return verified.undo_run_id if verified else ""


def request_approvals(deployment: Deployment, jobs: Sequence[Job]) -> None:
    """Start a run that asks the approvers for each job, and print how to check it. It waits up to a day for an answer."""
    for job in jobs:
        echo(f"{job.name}:")
        with locating_errors(deployment.place):
            run_id = start_run(deployment.place.aws, job)
        echo(f"asking the approvers: {job.document}, run {run_id}")
        echo("nothing is changed until one of them approves; without an answer within a day, nothing is changed")
        echo(f"to check: {deployment.show_command(run_id)}")
        time.sleep(runs.START_SECONDS)


_RUNNING = {
    "create": "creating the endpoint",
    "associate": "associating the route table",
    "verifyPath": "verifying that S3 Express traffic uses the endpoint",
}
"""What a heal does while a step runs that changes something, or that verifies the change."""
_DONE = {
    "create": "created the endpoint",
    "associate": "associated the route table",
    "verify": "verified that S3 Express traffic uses the endpoint",
}
"""What a heal has done when a step has succeeded. The step verify reads what verifyPath found out."""


def step_text(step: StepRun) -> str:
    """Return what a step does or has done, in the words of a person; empty if it says nothing."""
    if not step.has_ended:
        return _RUNNING.get(step.name, "")
    if step.status == "Success":
        return _DONE.get(step.name, "")
    return f"{_RUNNING[step.name]}: {step.status}" if step.name in _RUNNING else ""


class Batch:
    """Jobs that run the runbook that heals, all of them as dry runs or none.

    succeeded: the jobs whose runs succeeded, with these. failed, stopped: the names of the jobs whose runs failed, and of
    those whose runs somebody stopped.
    """

    def __init__(
        self, deployment: Deployment, jobs: Sequence[Job], *, dry_run: bool = False, verbose: bool = False
    ) -> None:
        """Start nothing yet. verbose: print each step, not only those that change something."""
        self._deployment = deployment
        self._is_dry_run = dry_run
        self._title = "dry run" if dry_run else "heal"
        self._verbose = verbose
        self._total = len(jobs)
        self._queue = RunQueue(deployment.place.aws, jobs)
        self._shown: set[tuple[str, str]] = set()
        self.succeeded: list[tuple[Job, Run]] = []
        self.failed: list[str] = []
        self.stopped: list[str] = []

    @property
    def not_started(self) -> list[str]:
        """The names of the jobs that were not started."""
        return [job.name for job in self._queue.waiting]

    def run(self, *, keep_going: bool) -> None:
        """Start the runs and watch them.

        After a failure or a stop, start no more runs, unless keep_going. Ctrl-C and a failed read or start stop only the
        watching: what continues is printed. Raise LocatedError.
        """
        with locating_errors(self._deployment.place):
            try:
                for job, run in self._queue.run(self._print_start, self._print_steps):
                    self._print_end(job, run)
                    if (self.failed or self.stopped) and not keep_going:
                        self._stop()
            except (KeyboardInterrupt, ApiError):
                self._print_rest()
                raise

    def _print_start(self, job: Job, run_id: str) -> None:
        if not self._is_dry_run:
            echo(f"{self._title} of {job.name}: run {run_id}")

    def _print_steps(self, job: Job, run: Run) -> None:
        """Print each step that has begun, once while it runs and once after it has ended."""
        for step in run.steps:
            if not step.has_begun:
                continue
            text = f"{step.status}: {step.name}" if self._verbose else step_text(step)
            if text and (run.id, text) not in self._shown and not self._is_dry_run:
                self._shown.add((run.id, text))
                echo(f"  {job.name}: {text}")

    def _print_end(self, job: Job, run: Run) -> None:
        number = f"[{len(self.succeeded) + len(self.failed) + len(self.stopped) + 1}/{self._total}]"
        if has_succeeded(run):
            self.succeeded.append((job, run))
            echo(f"{number} {self._title} of {job.name}: done")
            if not self._is_dry_run:
                self._print_healed(run)
            return
        if run.was_stopped or run.was_cancelled:
            self.stopped.append(job.name)
            echo(f"{number} {self._title} of {job.name}: STOPPED")
        else:
            self.failed.append(job.name)
            echo(f"{number} {self._title} of {job.name}: FAILED")
        say(f"{job.name}: {self._failure(run)}")
        for line in failed_steps(run):
            echo(f"  {line}")
        if self._is_dry_run:
            return
        if run.may_have_changed:
            echo(f"  to undo its changes, if any: {self._deployment.undo_command(run.id)}")
        elif not (run.was_stopped or run.was_cancelled):
            echo("  nothing was changed")

    def _failure(self, run: Run) -> str:
        """Return how a run ended, why, and how to see more of it."""
        link = self._deployment.run_link(run.id)
        if run.was_stopped and not run.may_have_changed:
            return f"nothing was changed, because somebody stopped all heals: {link} ({_ALLOW_HINT})"
        if run.was_cancelled and not run.may_have_changed:
            return f"nothing was changed, because somebody cancelled the run: {link}"
        if run.was_cancelled:
            return f"somebody cancelled run {run.id}, which may have changed something: {link}"
        if run.was_stopped:
            return f"run {run.id} ended without a further change, because somebody stopped all heals ({STOPS_HINT})"
        cause = cause_of(run) or "AWS gives no reason"
        return f"run {run.id} ended with {run.status}: {cause} ({self._deployment.show_command(run.id)})"

    def _print_healed(self, run: Run) -> None:
        """Print the verdict after a heal, and the command that undoes it.

        If another run healed the table first, that run is the one to undo. If nothing was left to heal, there is none.
        """
        verified = read_answer(run, "verify.Details", VerifyAnswer)
        plan = None if verified else read_answer(run, "plan.Details", PlanAnswer)
        if verified:
            echo(f"  {verified.verdict.annotation}")
        elif plan:
            echo(f"  {plan_text(plan)}")
        if undone_by(run):
            echo(f"  to undo: {self._deployment.undo_command(undone_by(run))}")

    def _stop(self) -> None:
        if self.not_started and not self._queue.is_stopped:
            echo(f"no more runs are started ({len(self.not_started)} left); --keep-going starts them too")
        self._queue.is_stopped = True

    def _print_rest(self) -> None:
        """Print which runs continue, how to undo them, and which were not started."""
        for run_id, job in self._queue.running.items():
            echo(f"{self._title} of {job.name} continues: {self._deployment.show_command(run_id)}")
            if not self._is_dry_run:
                echo(f"  to undo its changes after it has ended: {self._deployment.undo_command(run_id)}")
        if self.not_started:
            echo(f"{self._title} was not started for {', '.join(self.not_started)}")
