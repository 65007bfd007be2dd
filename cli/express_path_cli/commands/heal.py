"""express-path heal and undo: start the runbooks of a deployed stack, and follow them."""

import json
import re
import sys
from typing import Annotated, NamedTuple

import typer

from express_path.adapters.automation_runs import Run, Stack, find_stack, start_run
from express_path.adapters.organization_clients import MovingAws
from express_path.domain.reasons import Reason
from express_path.errors import ApiError
from express_path_cli import options
from express_path_cli.following import follow
from express_path_cli.groups import Made
from express_path_cli.place import Place
from express_path_cli.problems import COULD_NOT_TELL, OptionError, naming, say

BLOCKED = 1
"""Exit status where a heal may not be done."""
DEFAULT_STACK = "express-path"
"""The stack's name in samconfig.toml."""
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RAISED = re.compile(r'"errorMessage": *("(?:[^"\\]|\\.)*")')
"""The message of an error as Lambda returns it (https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html)."""
EXAMPLES = """
express-path heal subnet-0a1b2c3d4e5f60718  # what a heal would change
express-path heal subnet-0a1b2c3d4e5f60718 --apply  # heal it, after asking
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # take it back
"""
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class Deployed(NamedTuple):
    """The stack whose runbooks are started, and the options that lead there again, in this command and the AWS CLI."""

    place: Place
    stack: Stack
    options: str
    aws_options: str


def _deployed(
    *,
    stack: Annotated[str, typer.Option(metavar="NAME", help="The stack that deployed the runbooks.")] = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> Deployed:
    place = Place.of_caller(MovingAws.connect(region, profile))
    other = stack if stack != DEFAULT_STACK else None
    own = options.as_written({"--stack": other, "--region": region, "--profile": profile})
    with naming(place):
        found = find_stack(place.aws, stack)
    return Deployed(place, found, own, options.as_written({"--region": place.aws.region, "--profile": profile}))


def heal(
    *,
    subnet: Annotated[str, typer.Argument(metavar="SUBNET", help="The subnet's id.")],
    apply: Annotated[bool, typer.Option("--apply", help="Heal it; else only show what would be changed.")] = False,
    yes: Yes = False,
    deployed: Annotated[Deployed, Made(_deployed)],
) -> None:
    """Heal a subnet by the deployed runbook: a dry run, unless --apply is given.

    Shows the plan, follows the steps as they are done, and prints the command that undoes the run. A heal drops open
    TCP connections to S3 Express from all subnets of the route table for a moment. Exit status: 0 healed, or would be,
    or nothing is to heal; 1 blocked or declined, nothing was changed; 2 it failed or could not be told.
    """
    stack, again = deployed.stack, deployed.options
    given = {"SubnetId": subnet, **stack.common, **stack.heal}
    if not _may_go_on(_run(deployed, stack.heal_document, {**given, "DryRun": "true"}, "dry run")):
        return
    if not apply:
        typer.echo(f"nothing was changed; to heal: express-path heal {subnet} --apply{again}")
        return
    _confirm(yes=yes, question="Heal it now?")
    run = _run(deployed, stack.heal_document, given, "heal")
    typer.echo(run.outputs.get("verify.Annotation") or run.outputs.get("plan.Summary", ""))
    # Where another run was faster, that one can be undone; where nothing was to heal any more, there is none.
    undone_by = _RUN_ID.search(run.outputs.get("verify.Undo", ""))
    if undone_by:
        typer.echo(f"to undo: express-path undo {undone_by[0]}{again}")


def undo(
    *,
    run_id: Annotated[str, typer.Argument(metavar="RUN-ID", help="The id of the heal's run.")],
    yes: Yes = False,
    deployed: Annotated[Deployed, Made(_deployed)],
) -> None:
    """Undo one run of a heal, and nothing else.

    The route table is taken from the endpoint again, and the endpoint deleted if a heal made it and nobody uses it.
    Exit status: 0 undone, 1 declined, 2 it failed or could not be told.
    """
    stack = deployed.stack
    _confirm(yes=yes, question=f"Undo {run_id}? Traffic to S3 Express crosses the NAT again.")
    run = _run(deployed, stack.undo_document, {"RunId": run_id, **stack.common}, "undo")
    typer.echo(f"undone: {run.outputs.get('plan.RouteTableId', 'the route table')} no longer uses the endpoint")
    if run.outputs.get("planRest.Action") == "DELETE_ENDPOINT":
        typer.echo(f"deleted: {run.outputs.get('plan.VpcEndpointId', 'the endpoint')}, which a heal made")


def _run(deployed: Deployed, document: str, parameters: dict[str, str], what: str) -> Run:
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
        failed = next((f"{each.name}: " for each in run.steps if each.failure), "")
        say(f"run {run_id} ended with {run.status}: {failed}{_cause(run.failure) or 'AWS gives no reason'} ({look})")
        if changes:
            typer.echo(f"to undo what it changed, if anything: {undoing}")
        raise typer.Exit(COULD_NOT_TELL)
    return run


def _cause(failure: str) -> str:
    """What a failed step says, without the trace of a Lambda function and the patches of a blocked heal."""
    raised = _RAISED.search(failure)
    return str(json.loads(raised[1])).partition("\n")[0] if raised else failure


def _may_go_on(plan: Run) -> bool:
    """Whether there is something to heal; ends with BLOCKED where it may not be."""
    summary = plan.outputs.get("plan.Summary") or plan.outputs.get("planWhileClosed.Summary", "")
    for line in summary.split(" | "):
        typer.echo(line)
    action = plan.outputs.get("plan.Action", "BLOCKED")
    if f": {Reason.DELETED}: " in summary:
        raise OptionError("there is no such subnet", "name its --region and --profile")
    if action == "BLOCKED":
        raise typer.Exit(BLOCKED)
    return action != "NOTHING_TO_DO"


def _confirm(*, yes: bool, question: str) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise OptionError("nobody is there to be asked: standard input is no terminal", "add --yes if you are sure")
    if not typer.confirm(question):
        say("nothing was changed")
        raise typer.Exit(BLOCKED)
