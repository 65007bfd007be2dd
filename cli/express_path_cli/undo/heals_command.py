"""express-path heals: past heals from the ledger, and the commands that undo them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from express_path.adapters.unhealed import waiting_problem
from express_path.domain.heal.ledger_records import StartedBy
from express_path_cli.automation.deployments import NOT_DEPLOYED
from express_path_cli.automation.past_heals import HealState, PastHeal
from express_path_cli.aws import options
from express_path_cli.aws.account_options import DeploymentAccounts, taking
from express_path_cli.aws.options import TableFormat
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, one_line, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Record, Screen, print_lines, record_lines
from express_path_cli.terminal.texts import count_text
from express_path_cli.undo.found_heals import (
    FoundHeal,
    FoundHeals,
    WaitingHeals,
    find_heals,
    find_waiting_heals,
    healed_at,
    parse_since,
    with_principals,
)

SCHEMA_VERSION = 1


def newest(found: FoundHeals) -> list[FoundHeal]:
    """Return the heals of all ledgers, newest first."""
    return sorted(found.heals, key=lambda row: (healed_at(row.heal), row.heal.run.run_id), reverse=True)


def as_heals_json(found: FoundHeals, waiting: Sequence[WaitingHeals]) -> str:
    """Return the document; a time or id is null if it did not happen."""
    document = {
        "heals": [_heal(row) for row in newest(found)],
        "waiting": [row.fields() for row in waiting],
        "withoutStack": found.without_stack,
        "failures": [failure.fields() for failure in found.failures],
    }
    return json_document(SCHEMA_VERSION, document)


def _heal(row: FoundHeal) -> dict[str, Any]:
    heal, run = row.heal, row.heal.run
    return {
        "runId": run.run_id,
        "state": heal.state,
        **row.deployment.fields(),
        "vpcId": run.vpc_id,
        "subnetId": run.subnet_id,
        "routeTableId": run.route_table_id,
        "endpointId": run.endpoint_id,
        "createdEndpoint": run.created_endpoint,
        "startedBy": run.started_by,
        "principal": row.principal or None,
        "startedAt": run.started_at or None,
        "intendedAt": run.intended_at or run.associated_at or None,
        "associatedAt": run.associated_at if run.is_associated else None,
        "finishedAt": run.finished_at or None,
        "undoneByRunId": run.undo_run_id or None,
        "undoneAt": (heal.undo.finished_at or None) if heal.undo else None,
        "deletedEndpoint": bool(heal.undo and heal.undo.deleted_at),
        "replacedByRunId": heal.later_run_id or None,
        "undo": row.deployment.undo_command(run.run_id) if heal.can_be_undone else None,
    }


_STARTED = {StartedBy.PERSON: "a person", StartedBy.CONFIG: "AWS Config"}
_LAYOUTS = (
    [
        ("Run", "VPC", "Subnet"),
        ("Route table", "Endpoint", "Endpoint is"),
        ("State", "Changed (UTC)", "Ended (UTC)", "Undone (UTC)"),
    ],
    [
        ("Run", "Route table", "Endpoint", "VPC", "Subnet"),
        ("State", "Changed (UTC)", "Ended (UTC)", "Undone (UTC)", "Endpoint is"),
    ],
)


def as_heals_table(found: FoundHeals, waiting: Sequence[WaitingHeals], screen: Screen) -> Iterator[str]:
    """Yield the heals, newest first, the commands about them, what waits, and the number of heals in each state."""
    heals = newest(found)
    if heals:
        yield from record_lines([_record(row) for row in heals], _LAYOUTS, screen)
        yield ""
    undoable = [row for row in heals if row.heal.can_be_undone]
    yield from _commands("to undo them, newest first:" if len(undoable) > 1 else "to undo it:", undoable)
    unconfirmed = [row for row in heals if row.heal.state is HealState.UNCONFIRMED]
    yield from _commands("UNCONFIRMED: to see what to look for in CloudTrail:", unconfirmed)
    for place in waiting:
        yield f"{place.deployment}: {waiting_problem(place.subnet_ids, place.deployment.start_command)}"
    yield _summary([row.heal for row in heals])


def _commands(title: str, heals: Sequence[FoundHeal]) -> Iterator[str]:
    """Yield the commands about these heals below a title; nothing if there are none."""
    if heals:
        yield title
        yield from (f"  {row.deployment.undo_command(row.heal.run.run_id)}" for row in heals)
        yield ""


def _record(row: FoundHeal) -> Record:
    heal, run, place = row.heal, row.heal.run, row.deployment.place
    undone_at = heal.undo.finished_at if heal.undo else ""
    cells = {
        "Run": run.run_id,
        "State": heal.state,
        "Changed (UTC)": healed_at(heal)[:16],
        "Ended (UTC)": run.finished_at[:16],
        "Undone (UTC)": undone_at[:16],
        "Route table": run.route_table_id,
        "Endpoint": run.endpoint_id,
        "Endpoint is": "new" if run.created_endpoint else "",
        "VPC": run.vpc_id,
        "Subnet": run.subnet_id,
        "Account": place.account_id,
        "Region": place.region,
        "Started by": row.principal or _STARTED[run.started_by],
    }
    notes = {"Undone by": run.undo_run_id if heal.state is HealState.UNDONE else "", "Replaced by": heal.later_run_id}
    return Record({title: [cell] for title, cell in cells.items()}, {title: [note] for title, note in notes.items()})


def _summary(heals: Sequence[PastHeal]) -> str:
    if not heals:
        return "no heals: no run in the ledger changed anything here"
    counts = Counter(heal.state for heal in heals)
    listed = ", ".join(f"{counts[state]:,} {state}" for state in HealState if counts[state])
    return f"{count_text(len(heals), 'heal')}: {listed}"


_what = partial(typer.Option, rich_help_panel="What to list")
EXAMPLES = """
express-path heals  # every heal of this account and Region, and how to undo it
express-path heals --since 2026-11-25T09:00Z  # those since a time
express-path heals --vpc vpc-0a1b2c3d4e5f60718 --format json  # those of one VPC, for other tools
express-path heals --organization --role-name Operations --all-regions  # those of every account and Region
"""


VpcIds = Annotated[
    list[str] | None,
    _what("--vpc", metavar="VPC", help="Only heals of this VPC; repeatable."),
]

Since = Annotated[
    str | None,
    _what(metavar="TIME", help="Only heals that changed something at this time (ISO 8601, by default UTC) or later."),
]


@taking(accounts=DeploymentAccounts)
def heals(
    *,
    vpc: VpcIds = None,
    since: Since = None,
    accounts: DeploymentAccounts,
    form: options.TableOrJson = TableFormat.TABLE,
    quiet: options.Quiet = False,
) -> None:
    """List past heals, and the command that undoes each of them.

    Shows what each heal changed, when, in which run, its state, and when it ended and was undone. The newest heal is first. Reads the ledger of each stack, and who started each run from Systems Manager, which lists runs
    for a limited time. In modes ON and APPROVAL, it also names the subnets that could be healed and for which AWS Config has
    started no run for a day. Changes nothing.

    Exit status: 0 listed, or there is no stack; 2 a ledger could not be read.
    """
    live = accounts.live
    start = parse_since(since)
    with watching(quiet=quiet) as watch:
        past = find_heals(live, watch).only(lambda heal: not vpc or heal.run.vpc_id in vpc)
        past = past.since(start) if start else past
        past, unread = with_principals(past, live.workers, watch)
        waiting, unknown = find_waiting_heals(past, live.workers, watch)
    stacks = count_text(len(unread), "stack")
    notes = [f"who started the heals of {stacks} is not known: {one_line(failure.error)}" for failure in unread[:1]]
    notes += [
        f"which subnets of {count_text(len(unknown), 'stack')} wait for a heal is not known: {one_line(failure.error)}"
        for failure in unknown[:1]
    ]
    show_failures_and_notes(past.failures, [*notes, *past.notes], quiet=quiet)
    if form is TableFormat.JSON:
        echo(as_heals_json(past, waiting), nl=False)
    elif past.ledgers:
        print_lines(partial(as_heals_table, past, waiting))
    elif not past.failures:
        echo(f"no heals: {NOT_DEPLOYED}")
    raise typer.Exit(UNDETERMINED if past.failures else 0)
