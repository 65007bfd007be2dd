"""Starting the runbooks of a deployed stack, after asking, and following them to their end."""

import json
import re
import sys
from typing import Annotated, NamedTuple

import typer

from express_path.errors import ApiError
from express_path_cli import options
from express_path_cli.account_region import AccountRegion
from express_path_cli.connections import connect
from express_path_cli.groups import Made
from express_path_cli.problems import COULD_NOT_TELL, DECLINED, OptionError, naming, say
from express_path_cli.run_watcher import follow
from express_path_cli.runbooks.automation_runs import Run, Stack, find_stack, start_run

DEFAULT_STACK = "express-path"
"""The stack's name in samconfig.toml."""
_RAISED = re.compile(r'"errorMessage": *("(?:[^"\\]|\\.)*")')
"""The message of an error as Lambda returns it (https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html)."""
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class Deployed(NamedTuple):
    """The stack whose runbooks are started, and the options that lead there again, in this command and the AWS CLI."""

    place: AccountRegion
    stack: Stack
    options: str
    aws_options: str


def deployed_stack(
    *,
    stack: Annotated[str, typer.Option(metavar="NAME", help="The stack that deployed the runbooks.")] = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> Deployed:
    """The stack of an account and Region. Raises ApiError and PlaceError."""
    place = AccountRegion.of_caller(connect(region, profile))
    other = stack if stack != DEFAULT_STACK else None
    own = options.as_written({"--stack": other, "--region": region, "--profile": profile})
    with naming(place):
        found = find_stack(place.aws, stack)
    return Deployed(place, found, own, options.as_written({"--region": place.aws.region, "--profile": profile}))


WhereDeployed = Annotated[Deployed, Made(deployed_stack)]
"""The stack that a command's options name."""


def run_document(deployed: Deployed, document: str, parameters: dict[str, str], what: str) -> Run:
    """Start a runbook and follow it to its end; where a heal does not end well, say how it is undone."""
    changes = document == deployed.stack.heal_document and parameters.get("DryRun") != "true"
    with naming(deployed.place):
        run_id = start_run(deployed.place.aws, document, parameters)
        typer.echo(f"{what}: {document}, run {run_id}")
        undoing = f"express-path undo {run_id}{deployed.options}"
        look = f"aws ssm get-automation-execution --automation-execution-id {run_id}{deployed.aws_options}"
        try:
            run = follow(deployed.place.aws, run_id, look)
        except (KeyboardInterrupt, ApiError):
            if changes:
                typer.echo(f"to undo what it changes, once it has ended: {undoing}")
            raise
    if run.status not in ("Success", "CompletedWithSuccess"):
        say(f"run {run_id} ended with {run.status}: {_failure(run) or 'AWS gives no reason'} ({look})")
        if changes:
            typer.echo(f"to undo what it changed, if anything: {undoing}")
        raise typer.Exit(COULD_NOT_TELL)
    return run


def ask_approvers(deployed: Deployed, parameters: dict[str, str]) -> None:
    """Start the runbook that asks the approvers, and say how to look at it; it waits for them up to a day."""
    with naming(deployed.place):
        run_id = start_run(deployed.place.aws, deployed.stack.approval_document, parameters)
    typer.echo(f"asking the approvers: {deployed.stack.approval_document}, run {run_id}")
    typer.echo(
        "nothing is changed until one of them approves; without an answer within a day, nothing is changed at all"
    )
    typer.echo(f"to look: aws ssm get-automation-execution --automation-execution-id {run_id}{deployed.aws_options}")


def _failure(run: Run) -> str:
    """The step whose failure failed the run, and its cause; other steps may fail and be made up for."""
    failed = [each for each in run.steps if each.failure]
    deciding = [each for each in failed if each.failure in run.failure] or failed
    return f"{deciding[0].name}: {_cause(run.failure)}" if deciding else _cause(run.failure)


def _cause(failure: str) -> str:
    """What a failed step says, without the trace of a Lambda function and the patches of a blocked heal."""
    raised = _RAISED.search(failure)
    return str(json.loads(raised[1])).partition("\n")[0] if raised else failure


def confirm(*, yes: bool, question: str) -> None:
    """Ask, unless yes; ends with DECLINED where a person says no. Raises OptionError where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise OptionError("nobody is there to be asked: standard input is no terminal", "add --yes if you are sure")
    if not typer.confirm(question):
        say("nothing was changed")
        raise typer.Exit(DECLINED)
