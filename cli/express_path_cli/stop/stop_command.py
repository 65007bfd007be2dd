"""express-path stop: let no heal change anything from now on, in an account and Region or in an organization."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import typer

from express_path_cli.automation.deployments import NOT_DEPLOYED, unfinished_texts
from express_path_cli.automation.stops import Running, checked_reason
from express_path_cli.aws import options
from express_path_cli.aws.account_options import DeploymentAccounts, taking
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.stop.stopping import Stops, StopState, plan_stops, stop_heals
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.questions import DryRun, Yes
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path stop --reason "INC-1234: timeouts in web-shop"  # no heal of this account and Region changes anything
express-path stop --wait --reason "removing the stack"  # also wait until every run has ended
express-path stop --organization --role-name Operations --all-regions --reason INC-1234  # every account and Region
express-path stop --organization --role-name Operations --ou ou-ab12-c3d4e5f6  # one organizational unit
express-path start  # allow heals again
"""
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait until no run of the stack's runbooks, undos included, is in progress.")
]
WaitMinutes = Annotated[int, typer.Option(min=1, max=24 * 60, metavar="MINUTES", help="How long --wait waits at most.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for everyone who reads it later.")]
SCHEMA_VERSION = 1


@taking(accounts=DeploymentAccounts)
def stop(
    *,
    reason: Reason = "",
    wait: Wait = False,
    wait_minutes: WaitMinutes = 45,
    dry_run: DryRun = False,
    yes: Yes = False,  # noqa: ARG001  # so that nobody fails in a hurry who has the habit of heal, undo, and start
    accounts: DeploymentAccounts,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Stop all heals, including those that are already running.

    It asks nothing, with or without --yes. Acts on every stack of express-path in this account and Region, whatever its rule is called, also if parts of it are missing; with
    --organization, on each stack that a StackSet of the roll-out deployed. It assumes the stack's StopRole, and records who stopped, when, and why. First,
    heals are stopped everywhere; then it waits until no run is between its last check and its change, at most five minutes.
    Runs end at their next check and do not fail. Undo still works. A second stop keeps the record of the first one.

    With --wait, it then waits until no run is in progress, as before the removal of a stack: AWS Config refuses to delete a
    remediation while one is. A run that waits for an approval ends when it is answered or cancelled.

    Exit status: 0 all are stopped; 2 one could not be stopped, may still change something, or lacks parts, or there is no stack, or with
    --wait, a run is still in progress. Each of them is a line on standard error, and the rest is stopped. With --dry-run:
    0 all would be stopped, or are.
    """
    live = accounts.live
    text = checked_reason(reason)
    limit = timedelta(minutes=wait_minutes) if wait else None
    with watching(quiet=quiet) as watch:
        stops = plan_stops(live, watch) if dry_run else stop_heals(live, text, watch, limit)
    show_failures_and_notes(stops.failures, stops.notes, quiet=quiet)
    status = stops.exit_status(dry_run=dry_run)
    if form is TextFormat.JSON:
        document = {
            "exitStatus": status,
            "places": [row.fields() for row in stops.rows],
            "withoutStack": stops.without_stack,
            "failures": [failure.fields() for failure in stops.failures],
            "notes": list(stops.notes),
        }
        echo(json_document(SCHEMA_VERSION, document), nl=False)
    elif not (stops.rows or stops.failures):
        echo(f"nothing was stopped: {NOT_DEPLOYED}")
    else:
        for line in (*_stacks(stops), *_totals(stops, live, status, dry_run=dry_run)):
            echo(line)
    raise typer.Exit(status)


def _stacks(found: Stops) -> Iterator[str]:
    """Yield each stack with its ledger and its stop, and the runs that may still change something."""
    for row in found.rows:
        where = f"{row.deployment}, ledger {row.deployment.ledger}"
        if row.record is None:
            yield f"would stop: {where}"
        elif row.was_stopped:
            yield f"already stopped: {where}, {row.record.since}"
        else:
            yield f"stopped: {where}"
        for run in row.running:
            yield f"  run {run.run_id} of {run.document} is in {f'step {run.step}' if run.step else 'no step yet'}: {_outlook(run)}"


def _outlook(run: Running) -> str:
    if run.may_change:
        return "it may still change something"
    if run.document.startswith("Remove"):
        return "it is an undo, which a stop does not end"
    return "it ends without a further change"


def _totals(found: Stops, live: LiveOptions, status: int, *, dry_run: bool) -> Iterator[str]:
    stopped = sum(row.state is not StopState.NOT_STOPPED for row in found.rows)
    changing = sum(row.state is StopState.CHANGING for row in found.rows)
    running = sum(len(row.running) for row in found.rows)
    totals = [f"{stopped:,} of {count_text(len(found.rows), 'stack')} stopped"]
    if changing:
        totals.append(f"runs of {count_text(changing, 'stack')} may still change something")
    if running:
        totals.append(f"{count_text(running, 'run')} still in progress")
    elif found.must_end:
        totals.append("no run is in progress")
    yield "; ".join([*totals, *unfinished_texts(found.failures, found.without_stack)])
    if dry_run:
        yield "nothing was changed; without --dry-run, the command stops them at once"
        return
    yield "stacks and accounts that come later are not stopped; org/stop-heals-scp.json stops those, too"
    selected = " ".join(["", *live.options()])
    yield f"to undo what heals did, which still works: express-path heals{selected}"
    yield f"to allow heals again: express-path start{selected}"
    if found.must_end and running:
        yield (
            "runs are still in progress: wait longer (--wait-minutes), answer their requests for approval, or end one with "
            "aws ssm stop-automation-execution --automation-execution-id RUN"
        )
    if status:
        yield "run the command again until its status is 0; org/stop-heals-scp.json stops heals where the role is missing"
