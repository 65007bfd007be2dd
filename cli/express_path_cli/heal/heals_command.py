"""express-path heals: past heals from the ledger, and the commands that undo them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any

import typer

from express_path.domain.heal.ledger import StartedBy
from express_path_cli.automation.ledger import HealState, PastHeal, past_heals, read_history
from express_path_cli.automation.stack import DEFAULT_STACK, StackName
from express_path_cli.aws import options
from express_path_cli.aws.options import TableFormat
from express_path_cli.heal.running import Deployment, deployment_of
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import locating_errors
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.texts import count_text

SCHEMA_VERSION = 1


def as_heals_json(heals: Sequence[PastHeal], deployment: Deployment) -> str:
    """Return the document; a time or id is null if it did not happen."""
    return json_document(SCHEMA_VERSION, {"heals": [_heal(heal, deployment) for heal in heals]})


def _heal(heal: PastHeal, deployment: Deployment) -> dict[str, Any]:
    run = heal.run
    return {
        "runId": run.run_id,
        "state": heal.state,
        "accountId": run.account_id,
        "region": deployment.account_region.region,
        "vpcId": run.vpc_id,
        "subnetId": run.subnet_id,
        "routeTableId": run.route_table_id,
        "endpointId": run.endpoint_id,
        "createdEndpoint": run.created_endpoint,
        "startedBy": run.started_by,
        "startedAt": run.started_at or None,
        "intendedAt": run.intended_at or run.associated_at or None,
        "associatedAt": run.associated_at if run.is_associated else None,
        "finishedAt": run.finished_at or None,
        "undoneByRunId": run.undo_run_id or None,
        "undoneAt": (heal.undo.finished_at or None) if heal.undo else None,
        "deletedEndpoint": bool(heal.undo and heal.undo.deleted_at),
        "replacedByRunId": heal.later_run_id or None,
        "undo": deployment.undo_command(run.run_id) if heal.can_be_undone else None,
    }


_COLUMNS = (36, 22, 16)
"""The widths of a run id, an endpoint id, and a time to the minute."""
_GAP = "   "
_STARTED = {StartedBy.PERSON: "a person", StartedBy.CONFIG: "AWS Config"}


def as_heals_table(heals: Sequence[PastHeal], deployment: Deployment) -> Iterator[str]:
    """Yield a table for each VPC, and the number of heals in each state."""
    for (account_id, vpc_id), group in groupby(heals, key=lambda heal: (heal.run.account_id, heal.run.vpc_id)):
        yield f"{vpc_id}  {deployment.account_region.region}  account {account_id}"
        yield _row("Run", "Route table, endpoint", "State, time")
        yield "-" * (sum(_COLUMNS) + 2 * len(_GAP))
        for heal in group:
            yield from _lines(heal, deployment)
        yield ""
    yield _summary(heals)


def _lines(heal: PastHeal, deployment: Deployment) -> Iterator[str]:
    run = heal.run
    yield _row(run.run_id, run.route_table_id, heal.state)
    yield _row(run.subnet_id, run.endpoint_id, _minute(heal.changed_at))
    yield _row(f"started by {_STARTED[run.started_by]}", "created by this run" if run.created_endpoint else "")
    if heal.state is HealState.UNDONE:
        yield f"  undone by run {run.undo_run_id}"
    elif heal.later_run_id:
        yield f"  replaced by run {heal.later_run_id}"
    if heal.can_be_undone:
        yield f"  {deployment.undo_command(run.run_id)}"
    if heal.state is HealState.UNCONFIRMED:
        yield "  not confirmed; what to look for in CloudTrail:"
        yield f"  {deployment.undo_command(run.run_id)}"


def _row(*cells: str) -> str:
    return _GAP.join(f"{cell:{width}}" for cell, width in zip(cells, _COLUMNS, strict=False)).rstrip()


def _minute(time: str) -> str:
    """Return a time of the ledger in UTC, to the minute; anything else unchanged."""
    try:
        return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M}"
    except ValueError:
        return time


def _summary(heals: Sequence[PastHeal]) -> str:
    if not heals:
        return "no heals: no run in the ledger changed anything here"
    counts = Counter(heal.state for heal in heals)
    listed = ", ".join(f"{counts[state]:,} {state}" for state in HealState if counts[state])
    return f"{count_text(len(heals), 'heal')}: {listed} (UTC)"


_WHAT = "What to list"
EXAMPLES = """
express-path heals  # every heal of this account and Region, and how to undo it
express-path heals --vpc vpc-0a1b2c3d4e5f60718 --format json  # those of one VPC, for other tools
"""


VpcIds = Annotated[
    list[str] | None,
    typer.Option("--vpc", metavar="VPC", help="Only heals of this VPC; repeatable.", rich_help_panel=_WHAT),
]


def heals(
    *,
    vpc: VpcIds = None,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
    form: options.TableOrJson = TableFormat.TABLE,
) -> None:
    """List past heals: what each one changed, when, in which run, its state, and the command that undoes it.

    Reads the ledger of the stack, and changes nothing. Exit status: 0 listed, 2 the ledger could not be read.
    """
    deployment = deployment_of(stack, region, profile)
    with locating_errors(deployment.account_region):
        history = read_history(deployment.account_region.aws.dynamodb, deployment.runbooks.ledger_table)
    found = past_heals(history, vpc or ())
    if form is TableFormat.JSON:
        echo(as_heals_json(found, deployment), nl=False)
    else:
        for line in as_heals_table(found, deployment):
            echo(line)
