"""express-path undo: show what the undo of heals changes, ask, and undo them, in an account or in an organization."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer

from express_path_cli.automation.deployments import NOT_DEPLOYED, unfinished_texts
from express_path_cli.automation.stack import StackName
from express_path_cli.aws import options
from express_path_cli.aws.account_options import DeploymentAccounts, taking
from express_path_cli.aws.options import TextFormat
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import OptionError, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.questions import DryRun, Yes, confirm
from express_path_cli.terminal.texts import count_text
from express_path_cli.undo.found_heals import FoundHeals, find_heals, healed_at, parse_since
from express_path_cli.undo.undoing import UndoResult, UndoState, plan_undo, undo_heals

EXAMPLES = """
express-path undo 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # show what it changes, ask, and undo the heal
express-path undo data-private  # the heal of what has this Name tag: a subnet, a route table, or a VPC
express-path undo --since 2026-11-25T09:00Z --dry-run  # what the heals of this account and Region since then changed
express-path undo --since 2026-11-25T09:00Z --organization --role-name Operations --all-regions  # everywhere
express-path heals  # which heals can be undone
"""
RunIds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET...",
        help="The IDs of the heals' runs; or the IDs or Name tags of subnets, route tables, and VPCs, for the heals that "
        "can be undone.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Undo heals that changed something at this time (ISO 8601, by default UTC) or later."
    ),
]
SCHEMA_VERSION = 1
MOST_NAMED = 3
"""How many route tables a question names."""


@taking(accounts=DeploymentAccounts)
def undo(
    *,
    run_ids: RunIds = None,
    since: Since = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    stack: StackName = None,
    accounts: DeploymentAccounts,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Undo heals. Nothing else in the network is changed.

    Shows the exact changes first, from a dry run of the runbook: the route table's association with the endpoint is
    removed, and the endpoint is deleted if a heal created it and no other route table uses it. Traffic to S3 Express
    crosses the NAT again, and open connections drop. AWS Config does not heal the route table again until you heal it by
    hand. Heals are undone one after the other in a VPC, and at the same time in several. After an interruption, run it
    again. If several stacks heal in an account and Region, select one with --stack. It works while heals are stopped, and stopping them first keeps new heals out.

    Exit status: 0 all are undone, or with --dry-run all can be; 1 some cannot be undone, or declined; 2 something could not
    be read, there is no stack, or there is no terminal to ask at.
    """
    live = accounts.live
    start = parse_since(since)
    if bool(run_ids) == bool(start):
        raise OptionError("give either runs or --since", "express-path heals lists heals")
    with watching(quiet=quiet) as watch:
        found = find_heals(live, watch).of_stack(stack)
        found = found.since(start) if start else found.named(options.unique(run_ids))
        result = plan_undo(found, live.workers, watch)
    if form is TextFormat.TEXT:
        for line in _heals(result):
            echo(line)
    if result.planned and not dry_run:
        confirm(yes=yes, question=_question(result))
        with watching(quiet=quiet) as watch:
            result = undo_heals(result, live.workers, watch)
        if form is TextFormat.TEXT:
            echo("after the undo:")
            for line in _heals(result):
                echo(line)
    show_failures_and_notes(result.failures, found.notes, quiet=quiet)
    if form is TextFormat.JSON:
        echo(_as_json(result, found), nl=False)
    else:
        for line in _closing(result, found, dry_run=dry_run):
            echo(line)
    raise typer.Exit(result.exit_status)


def _as_json(result: UndoResult, found: FoundHeals) -> str:
    document = {
        "exitStatus": result.exit_status,
        "heals": [outcome.fields() for outcome in result.outcomes],
        "ledgers": result.ledgers,
        "withoutStack": found.without_stack,
        "failures": [failure.fields() for failure in result.failures],
    }
    return json_document(SCHEMA_VERSION, document)


def _closing(result: UndoResult, found: FoundHeals, *, dry_run: bool) -> Iterator[str]:
    """Yield the totals, and what to do next."""
    if not (result.ledgers or result.failures):
        yield f"nothing was undone: {NOT_DEPLOYED}"
        return
    yield _totals(result)
    if unfinished := unfinished_texts(result.failures, found.without_stack):
        yield f"read {count_text(result.ledgers, 'ledger')}; {'; '.join(unfinished)}"
    if dry_run:
        yield "nothing was changed; without --dry-run, the command asks and undoes them"
    elif any(outcome.state is UndoState.TO_UNDO for outcome in result.outcomes):
        yield "run the command again to undo the rest"


def _heals(result: UndoResult) -> Iterator[str]:
    """Yield each heal with its state, and what its undo changes or why it cannot be undone."""
    for outcome in result.outcomes:
        run = outcome.heal.run
        yield (
            f"{outcome.deployment.place}: {run.route_table_id}, healed {healed_at(outcome.heal)[:16]} by run {run.run_id}: "
            f"{outcome.state.value}"
        )
        if outcome.why:
            yield f"  {outcome.why}"
        else:
            yield from (f"  {effect.text}" for effect in outcome.effects)


def _question(result: UndoResult) -> str:
    """Return the question that names what changes: the route tables, or how many there are, and where."""
    tables = sorted({outcome.heal.run.route_table_id for outcome in result.planned})
    places = sorted({str(outcome.deployment.place) for outcome in result.planned})
    of = ", ".join(tables) if len(tables) <= MOST_NAMED else count_text(len(tables), "route table")
    where = places[0] if len(places) == 1 else f"{len(places)} accounts and Regions"
    return f"Undo {count_text(len(result.planned), 'heal')} of {of} in {where}?"


def _totals(result: UndoResult) -> str:
    counts = Counter(outcome.state for outcome in result.outcomes)
    listed = ", ".join(f"{counts[state]:,} {state.value}" for state in UndoState if counts[state])
    return f"{count_text(len(result.outcomes), 'heal')}: {listed}" if listed else "no heals since then"
