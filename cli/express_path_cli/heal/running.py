"""What heal, undo, and heals share: the deployed stack, the question before a change, and running a runbook once or several times."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from express_path.adapters.aws import unless_denied
from express_path.errors import ApiError
from express_path_cli.automation.runs import (
    Job,
    Run,
    RunQueue,
    cause_of,
    failed_steps,
    has_succeeded,
    start_run,
    watch_run,
)
from express_path_cli.automation.stack import DEFAULT_STACK, Runbooks, find_runbooks, read_runbooks
from express_path_cli.automation.stops import read_stop
from express_path_cli.aws import options
from express_path_cli.aws.sessions import AccountRegion, connect
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, OptionError, locating_errors, say

STOPS_HINT = "undo still works; when the reason is gone: express-path start"
"""What people can do while heals are stopped."""

KeepGoing = Annotated[bool, typer.Option("--keep-going", help="With several runs: continue after a failure.")]


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployed stack with runbooks, and the options that select it, in this command and in the AWS CLI."""

    account_region: AccountRegion
    runbooks: Runbooks
    options: str
    aws_options: str

    def undo_command(self, *run_ids: str) -> str:
        """Return the command that undoes heals."""
        return f"express-path undo {shlex.join(run_ids)}{self.options}"

    def show_command(self, run_id: str) -> str:
        """Return the command of the AWS CLI that shows a run."""
        return f"aws ssm get-automation-execution --automation-execution-id {shlex.quote(run_id)}{self.aws_options}"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """The options that select a stack."""

    stack: str
    region: str | None
    profile: str | None

    def deployment(self, account_region: AccountRegion, runbooks: Runbooks) -> Deployment:
        """Return a deployment with the options that select it again."""
        stack = self.stack if self.stack != DEFAULT_STACK else None
        own = options.as_command_line({"--stack": stack, "--region": self.region, "--profile": self.profile})
        aws = options.as_command_line({"--region": account_region.aws.region, "--profile": self.profile})
        return Deployment(account_region, runbooks, own, aws)


def deployment_of(stack: str, region: str | None, profile: str | None) -> Deployment:
    """Find a stack in the caller's account. Raise ApiError, LocatedError, and OptionError if it has no runbooks."""
    account_region = AccountRegion.of_caller(connect(region, profile))
    with locating_errors(account_region):
        runbooks = read_runbooks(account_region.aws, stack)
    return StackOptions(stack, region, profile).deployment(account_region, runbooks)


def find_deployment(given: StackOptions, account_region: AccountRegion) -> Deployment | None:
    """Find a stack in an account and Region; None if it has no runbooks, or if that may not be read. Raise LocatedError."""
    with locating_errors(account_region):
        runbooks = unless_denied(lambda: find_runbooks(account_region.aws, given.stack))
    return given.deployment(account_region, runbooks) if runbooks else None


def run_document(deployment: Deployment, document: str, parameters: dict[str, str], title: str) -> Run:
    """Start a runbook, watch its run, and return it. If it fails, print why and how to undo it, and exit."""
    changes = changes_by_heal(deployment, document, parameters)
    aws = deployment.account_region.aws
    with locating_errors(deployment.account_region):
        run_id = start_run(aws, document, parameters)
        echo(f"{title}: {document}, run {run_id}")
        undo = deployment.undo_command(run_id)
        try:
            run = watch_run(aws, run_id, deployment.show_command(run_id))
        except (KeyboardInterrupt, ApiError):
            if changes:
                echo(f"to undo its changes after it has ended: {undo}")
            raise
    if not has_succeeded(run):
        say(failure_line(run, deployment))
        if changes:
            echo(f"to undo its changes, if any: {undo}")
        raise typer.Exit(UNDETERMINED)
    return run


def check_stop(deployment: Deployment, *, starts: bool) -> None:
    """Say that somebody stopped all heals, if so. Raise OptionError if the command is about to start one.

    Heals do not depend on this check: who may not read the ledger learns it from the run.
    """
    with locating_errors(deployment.account_region):
        found = unless_denied(
            lambda: read_stop(deployment.account_region.aws.dynamodb, deployment.runbooks.ledger_table)
        )
    if found and starts:
        raise OptionError(str(found.stop), STOPS_HINT)
    if found:
        say(f"note: {found.stop}")


def changes_by_heal(deployment: Deployment, document: str, parameters: Mapping[str, str]) -> bool:
    """Return whether a run of this runbook heals, so that there may be something to undo."""
    return document == deployment.runbooks.heal_document and parameters.get("DryRun") != "true"


def failure_line(run: Run, deployment: Deployment) -> str:
    """Return how a run ended, why, and how to see more of it."""
    if run.was_stopped:
        return f"run {run.id} ended without a further change, because somebody stopped all heals ({STOPS_HINT})"
    cause = cause_of(run) or "AWS gives no reason"
    return f"run {run.id} ended with {run.status}: {cause} ({deployment.show_command(run.id)})"


def request_approval(deployment: Deployment, parameters: dict[str, str]) -> None:
    """Start the runbook that asks the approvers, and print how to check it. It waits up to a day for their answer."""
    document = deployment.runbooks.approval_document
    with locating_errors(deployment.account_region):
        run_id = start_run(deployment.account_region.aws, document, parameters)
    echo(f"asking the approvers: {document}, run {run_id}")
    echo("nothing is changed until one of them approves; without an answer within a day, nothing is changed")
    echo(f"to check: {deployment.show_command(run_id)}")


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
            echo(f"  to undo its changes, if any: {self._deployment.undo_command(run.id)}")

    def _stop(self) -> None:
        if self._queue.waiting and not self._queue.is_stopped:
            echo(f"no more runs are started ({len(self._queue.waiting)} left); --keep-going starts them too")
        self._queue.stop()

    def _print_rest(self) -> None:
        """Print which runs continue, how to undo them, and which were not started."""
        for run_id, job in self._queue.running.items():
            echo(f"{self._title} of {job.name} continues: {self._deployment.show_command(run_id)}")
            if changes_by_heal(self._deployment, job.document, job.parameters):
                echo(f"  to undo its changes after it has ended: {self._deployment.undo_command(run_id)}")
        if self._queue.waiting:
            names = ", ".join(job.name for job in self._queue.waiting)
            echo(f"{self._title} was not started for {names}")


def _is_dry_run(job: Job) -> bool:
    return job.parameters.get("DryRun") == "true"
