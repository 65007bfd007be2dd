"""express-path org undo: undo what heals did in an organization since a time."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.org.check_command import OuIds, RoleName
from express_path_cli.org.deployments import DeploymentsRequest
from express_path_cli.org.undoing import (
    HealOutcome,
    OrgUndo,
    UndoState,
    find_heals,
    healed_at,
    planned,
    undo_organization,
)
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.errors import OptionError, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.questions import Yes, confirm
from express_path_cli.terminal.tables import Record, Screen, record_lines
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path org undo --since 2026-11-25T09:00Z --role-name Operations --all-regions --dry-run  # what heals did
express-path org undo --since 2026-11-25T09:00Z --role-name Operations --all-regions  # ask, and undo it
express-path org undo --since 2026-11-25 --account 111122223333 --role-name Operations --region eu-north-1  # one account
"""
Since = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="Undo heals that changed something at this time (ISO 8601, by default UTC) or later."
    ),
]
Accounts = Annotated[
    list[str] | None,
    typer.Option("--account", metavar="ID", help="Only this account; repeatable.", rich_help_panel=options.WHERE),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be undone.")]
SCHEMA_VERSION = 1


def org_undo(
    *,
    since: Since,
    role_name: RoleName,
    dry_run: DryRun = False,
    yes: Yes = False,
    account: Accounts = None,
    ou: OuIds = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 32,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Undo what heals did in every account and Region since a time.

    Lists the heals of each ledger, asks, and starts the runbook that undoes each of them: one after the other in a
    VPC, and in many VPCs, accounts, and Regions at the same time. After an interruption, run it again: what the ledger shows
    as undone is skipped. It works while heals are stopped, and stopping them first keeps new heals out. The undone
    route tables are not healed again until somebody heals them by hand.

    Exit status: 0 all are undone, or with --dry-run all can be; 1 some could not be undone, or declined; 2 something
    could not be read, or no stack of the rule was found.
    """
    start = _time(since)
    live = LiveOptions(options.unique(region), all_regions, profile, True, role_name, external_id, workers)
    request = DeploymentsRequest(live, tuple(ou or ()), tuple(account or ()))
    with watching(quiet=quiet) as watch:
        found = find_heals(request, start, watch)
    result = OrgUndo([row for place in found.places for row in planned(place)], found.failures, found.deployments)
    number = result.count(UndoState.TO_UNDO)
    if form is TextFormat.TEXT:
        _print_heals(result.outcomes)
    if number and not dry_run:
        confirm(yes=yes, question=f"Undo {count_text(number, 'heal')} now?")
        with watching(quiet=quiet) as watch:
            result = undo_organization(found, workers, watch)
    show_failures_and_notes(result.failures, quiet=quiet)
    if form is TextFormat.JSON:
        document = {
            "exitStatus": result.exit_status,
            "heals": [outcome.fields() for outcome in result.outcomes],
            "deployments": found.deployments,
            "withoutStack": found.without_stack,
            "failures": [failure.fields() for failure in result.failures],
        }
        echo(json_document(SCHEMA_VERSION, document), nl=False)
    else:
        for line in _lines(result, dry_run=dry_run):
            echo(line)
        echo(
            f"read: {count_text(found.deployments, 'deployment')}; without a stack of the rule: {found.without_stack:,}"
        )
    raise typer.Exit(result.exit_status)


def _time(text: str) -> datetime:
    """Return a time, by default in UTC. Raise OptionError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"--since {text} is not a time", "use ISO 8601, such as 2026-11-25T09:00Z") from error
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    if found > (now := datetime.now(UTC)):
        raise OptionError(
            f"--since {text} is in the future", f"use a time in the past: it is {now:%Y-%m-%dT%H:%MZ} now"
        )
    return found


def _print_heals(outcomes: Sequence[HealOutcome]) -> None:
    if not outcomes:
        echo("no heals since then")
        return
    console = Terminal()
    records = [
        Record(
            {
                "Account": [outcome.deployment.place.account_id],
                "Name": [outcome.deployment.place.name],
                "Region": [outcome.deployment.place.region],
                "Healed": [healed_at(outcome.heal)[:16]],
                "Route table": [outcome.heal.run.route_table_id],
                "Run": [outcome.heal.run.run_id],
                "State": [outcome.heal.state],
            }
        )
        for outcome in outcomes
    ]
    layouts = [[("Account", "Name", "Region"), ("Healed", "State"), ("Route table", "Run")]]
    console.file.writelines(f"{line}\n" for line in record_lines(records, layouts, Screen(console)))


def _lines(result: OrgUndo, *, dry_run: bool) -> Iterator[str]:
    """Yield what could not be undone and why, and the totals."""
    for outcome in result.outcomes:
        if outcome.state is UndoState.NOT_UNDONE:
            run = outcome.heal.run
            yield f"{outcome.deployment}: {run.route_table_id} (run {run.run_id}) not undone: {outcome.why}"
    counts = {
        "to undo": UndoState.TO_UNDO,
        "undone": UndoState.UNDONE,
        "undone earlier": UndoState.EARLIER,
        "replaced by later heals": UndoState.REPLACED,
        "without a change of a route table": UndoState.UNCHANGED,
        "not undone": UndoState.NOT_UNDONE,
    }
    listed = ", ".join(f"{result.count(state):,} {text}" for text, state in counts.items() if result.count(state))
    yield f"{count_text(len(result.outcomes), 'heal')}{f': {listed}' if listed else ''}"
    if dry_run:
        yield "nothing was changed; without --dry-run, the command asks and undoes them"
    elif result.count(UndoState.TO_UNDO):
        yield "run the command again to undo the rest"
