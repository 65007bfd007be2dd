"""express-path undo: start the runbook that undoes a heal, and watch its run."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from express_path_cli.automation.runs import Job, Run
from express_path_cli.automation.stack import DEFAULT_STACK, StackName
from express_path_cli.aws import options
from express_path_cli.heal.running import (
    Batch,
    BatchResult,
    Deployment,
    KeepGoing,
    deployment_of,
    run_document,
)
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED
from express_path_cli.terminal.questions import Yes, confirm

EXAMPLES = """
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # show what it changes, ask, and undo the heal
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958 5216b50d-0a55-22f7-ae43-1b2c3d4e5a69  # undo two heals
express-path heals  # which heals can be undone
"""


def undo(
    *,
    run_ids: Annotated[list[str], typer.Argument(metavar="RUN-ID...", help="The IDs of the heals' runs.")],
    keep_going: KeepGoing = False,
    yes: Yes = False,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Undo heals. Nothing else in the network is changed.

    Shows the exact changes first: the route table's association with the endpoint is removed, and the endpoint is
    deleted if a heal created it and no other route table uses it. Traffic to S3 Express crosses the NAT again, and open
    connections drop. AWS Config does not heal the route table again until you heal it by hand. Several heals are undone
    one after the other, until one fails. Exit status: 0 undone, 1 declined, 2 it cannot be undone, it failed, or the
    result could not be determined.
    """
    deployment = deployment_of(stack, region, profile)
    unique = list(dict.fromkeys(run_ids))
    if len(unique) > 1:
        raise typer.Exit(_undo_several(deployment, unique, keep_going=keep_going, yes=yes))
    runbooks = deployment.runbooks
    given = {"RunId": unique[0], **runbooks.common}
    planned = run_document(deployment, runbooks.undo_document, {**given, "DryRun": "true"}, "dry run")
    for line in _changes(planned):
        echo(f"  {line}")
    confirm(yes=yes, question="Undo it now?")
    run = run_document(deployment, runbooks.undo_document, given, "undo")
    for line in _done(run):
        echo(line)


def _undo_several(deployment: Deployment, run_ids: Sequence[str], *, keep_going: bool, yes: bool) -> int:
    """Show the changes of all undos, ask once, undo one after the other, and return the exit status.

    One after the other, because only the undo of an endpoint's last route table may delete the endpoint.
    """
    planned = Batch(deployment, "dry run of the undo", _jobs(deployment, run_ids, dry_run=True)).run(
        _changes, keep_going=keep_going
    )
    possible = [run_id for run_id in run_ids if run_id in planned.succeeded]
    if not possible or (len(possible) < len(run_ids) and not keep_going):
        echo("nothing was changed")
        return UNDETERMINED
    echo("an endpoint that a heal created is deleted when no route table uses it anymore")
    confirm(yes=yes, question=f"Undo {len(possible)} heals now?" if len(possible) > 1 else "Undo this heal now?")
    result = Batch(deployment, "undo", _jobs(deployment, possible, dry_run=False), parallel=1).run(
        _done, keep_going=keep_going
    )
    _print_outcome(result, deployment)
    return UNDETERMINED if planned.failed or result.failed else 0


def _jobs(deployment: Deployment, run_ids: Sequence[str], *, dry_run: bool) -> list[Job]:
    runbooks = deployment.runbooks
    more = {**runbooks.common, "DryRun": str(dry_run).lower()}
    return [Job(run_id, runbooks.undo_document, {"RunId": run_id, **more}) for run_id in run_ids]


def _print_outcome(result: BatchResult, deployment: Deployment) -> None:
    echo(f"{len(result.succeeded)} undone, {len(result.failed)} failed, {len(result.not_started)} not started")
    rest = [*result.failed, *result.not_started]
    if rest:
        echo(f"to undo the others: {deployment.undo_command(*rest)}")


def _changes(planned: Run) -> list[str]:
    """Return what an undo will change, one line for each change."""
    return planned.outputs.get("plan.Summary", "").split(" | ")


def _done(run: Run) -> Iterator[str]:
    """Yield a line for each change that an undo made."""
    table, endpoint = (run.outputs.get(f"plan.{name}", "") for name in ("RouteTableId", "VpcEndpointId"))
    if run.outputs.get("check.Action") == "UNDONE":
        yield f"undone: another run undid the same heal of {table} first"
        return
    yield f"undone: {table} no longer uses {endpoint}"
    if run.outputs.get("confirm.Action") == "DELETE_ENDPOINT":
        yield f"deleted: {endpoint}"
    elif run.outputs.get("confirm.Action") == "KEEP_ENDPOINT":
        yield f"kept: {endpoint}, which another heal uses now"
    else:
        yield from (f"kept: {line}" for line in run.outputs.get("rest.Summary", "").split(" | ") if " stays: " in line)
