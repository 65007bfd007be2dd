"""express-path undo: start the runbook that undoes a heal, and watch its run."""

from collections.abc import Iterator
from typing import Annotated

import typer

from express_path_cli import options
from express_path_cli.runbook_commands import DEFAULT_STACK, StackName, Yes, confirm, deployment_of, run_document
from express_path_cli.runbooks.automation_runs import Run

EXAMPLES = """
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # show what it changes, ask, and undo the heal
express-path heals  # which heals can be undone
"""


def undo(
    *,
    run_id: Annotated[str, typer.Argument(metavar="RUN-ID", help="The ID of the heal's run.")],
    yes: Yes = False,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Undo one heal, and nothing else.

    Shows the exact changes first: the route table's association with the endpoint is removed, and the endpoint is
    deleted if a heal created it and no other route table uses it. Traffic to S3 Express crosses the NAT again, and open
    connections drop. AWS Config does not heal the route table again until you heal it by hand. Exit status: 0 undone, 1
    declined, 2 it cannot be undone, it failed, or the result could not be determined.
    """
    deployment = deployment_of(stack, region, profile)
    documents = deployment.stack
    given = {"RunId": run_id, **documents.common}
    planned = run_document(deployment, documents.undo_document, {**given, "DryRun": "true"}, "dry run")
    for line in planned.outputs.get("plan.Summary", "").split(" | "):
        typer.echo(f"  {line}")
    confirm(yes=yes, question="Undo it now?")
    run = run_document(deployment, documents.undo_document, given, "undo")
    for line in _done(run):
        typer.echo(line)


def _done(run: Run) -> Iterator[str]:
    """Yield a line for each change that an undo made."""
    table, endpoint = (run.outputs.get(f"plan.{name}", "") for name in ("RouteTableId", "VpcEndpointId"))
    if "UNDONE" in (run.outputs.get("turn.Action"), run.outputs.get("turnAgain.Action")):
        yield f"undone: another run undid the same heal of {table} first"
        return
    yield f"undone: {table} no longer uses {endpoint}"
    if run.outputs.get("confirm.Action") == "DELETE_ENDPOINT":
        yield f"deleted: {endpoint}"
    elif run.outputs.get("confirm.Action") == "KEEP_ENDPOINT":
        yield f"kept: {endpoint}, which another heal uses now"
    else:
        yield from (f"kept: {line}" for line in run.outputs.get("rest.Summary", "").split(" | ") if " stays: " in line)
