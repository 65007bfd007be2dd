"""express-path undo: start the runbook that undoes a heal, and follow it."""

from collections.abc import Iterator
from typing import Annotated

import typer

from express_path_cli.runbooks.automation_runs import Run
from express_path_cli.running import WhereDeployed, Yes, confirm, run_document

EXAMPLES = """
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # show what it changes, ask, and undo the heal
express-path heals  # which heals can be undone
"""


def undo(
    *,
    run_id: Annotated[str, typer.Argument(metavar="RUN-ID", help="The id of the heal's run.")],
    yes: Yes = False,
    deployed: WhereDeployed,
) -> None:
    """Undo one heal, and nothing else.

    Shows the exact changes first: the route table's association with the endpoint is removed, and the endpoint is
    deleted if a heal created it and no other route table uses it. Traffic to S3 Express crosses the NAT again, and open
    connections drop. AWS Config does not heal the route table again until you heal it by hand. Exit status: 0 undone, 1
    declined, 2 it cannot be undone, it failed, or the result could not be determined.
    """
    stack = deployed.stack
    given = {"RunId": run_id, **stack.common}
    planned = run_document(deployed, stack.undo_document, {**given, "DryRun": "true"}, "dry run")
    for line in planned.outputs.get("plan.Summary", "").split(" | "):
        typer.echo(f"  {line}")
    confirm(yes=yes, question="Undo it now?")
    run = run_document(deployed, stack.undo_document, given, "undo")
    for line in _done(run):
        typer.echo(line)


def _done(run: Run) -> Iterator[str]:
    """What an undo did, in a line for each change."""
    table, endpoint = (run.outputs.get(f"plan.{name}", "") for name in ("RouteTableId", "VpcEndpointId"))
    if "UNDONE" in (run.outputs.get("turn.Action"), run.outputs.get("turnAgain.Action")):
        yield f"undone: another run undid the same heal of {table} meanwhile"
        return
    yield f"undone: {table} does not use {endpoint} any longer"
    if run.outputs.get("confirm.Action") == "DELETE_ENDPOINT":
        yield f"deleted: {endpoint}"
    elif run.outputs.get("confirm.Action") == "KEEP_ENDPOINT":
        yield f"kept: {endpoint}, which a heal used meanwhile"
    else:
        yield from (f"kept: {line}" for line in run.outputs.get("rest.Summary", "").split(" | ") if " stays: " in line)
