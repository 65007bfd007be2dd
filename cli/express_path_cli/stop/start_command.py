"""express-path start: allow heals again, and start them, in an account and Region or in an organization."""

from collections import Counter
from collections.abc import Iterator, Sequence

import typer

from express_path_cli.automation.deployments import NOT_DEPLOYED, unfinished_texts
from express_path_cli.aws import options
from express_path_cli.aws.account_options import DeploymentAccounts, taking
from express_path_cli.aws.options import TextFormat
from express_path_cli.stop.stopping import (
    Start,
    StartedDeployment,
    StoppedDeployment,
    find_stops,
    plan_starts,
    start_heals,
)
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.questions import DryRun, Yes, confirm
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path start --dry-run  # who stopped the heals of this account and Region, and which heals would be started
express-path start  # show that, ask, allow heals again, and start them
express-path start --organization --role-name Operations --all-regions  # in the organization
"""
SCHEMA_VERSION = 1
_STARTED = {
    "ON": "started heals of {subnets} still NON_COMPLIANT",
    "APPROVAL": "asked the approvers for {subnets} still NON_COMPLIANT",
}
"""What is started for NON_COMPLIANT subnets, by remediation mode."""


@taking(accounts=DeploymentAccounts)
def start(
    *,
    dry_run: DryRun = False,
    yes: Yes = False,
    accounts: DeploymentAccounts,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Allow heals again, and start the heals that wait.

    Shows since when and by whom heals were stopped, and asks. Then, in modes ON and APPROVAL, AWS Config starts its
    remediation for every subnet that is still NON_COMPLIANT, because AWS does not document whether it would do so by itself. Subnets
    that have a run, a remediation exception, or a route table whose last heal was undone or rejected are left alone. If heals
    are not stopped, it only starts these.

    Also clears remediation exceptions that a service control policy caused since the stop: AWS Config adds one if heals of a
    subnet fail too often. Exceptions that the stop recorded, and those with another cause, are listed and stay. Detach the
    policy first.

    Exit status: 0 heals are allowed and started everywhere, or with --dry-run could be, or there is no stack; 1 declined; 2
    some could not be allowed or started, or there is no terminal to ask at. Each failure is a line on standard error, and the
    rest is done.
    """
    live = accounts.live
    with watching(quiet=quiet) as watch:
        stops = find_stops(live, watch)
        planned, unread = plan_starts(stops.rows, live.workers, watch)
    stopped = [row for row in stops.rows if row.record]
    if form is TextFormat.TEXT:
        for line in _stops(stopped):
            echo(line)
    started: Sequence[StartedDeployment] = ()
    failures = [*stops.failures, *(unread if dry_run else ())]
    if not dry_run:
        if question := _question(stopped, planned):
            confirm(yes=yes, question=question)
        with watching(quiet=quiet) as watch:
            started, failed = start_heals(stops.rows, live.workers, watch)
        failures += failed
    failures.sort(key=lambda failure: failure.where)
    status = UNDETERMINED if failures else 0
    show_failures_and_notes(failures, [*(row.note for row in started if row.note), *stops.notes], quiet=quiet)
    if form is TextFormat.JSON:
        document = {
            "exitStatus": status,
            "places": [row.fields() for row in (planned if dry_run else started)],
            "withoutStack": stops.without_stack,
            "failures": [failure.fields() for failure in failures],
        }
        echo(json_document(SCHEMA_VERSION, document), nl=False)
    elif not (stops.rows or failures):
        echo(f"nothing to start: {NOT_DEPLOYED}")
    else:
        for line in _planned(planned) if dry_run else _lines(started):
            echo(line)
        if unfinished := unfinished_texts(failures, stops.without_stack):
            echo("; ".join(unfinished))
    raise typer.Exit(status)


def _stops(stopped: Sequence[StoppedDeployment]) -> Iterator[str]:
    """Yield each stop, with the number of stacks where it was recorded."""
    for since, number in Counter(row.record.since for row in stopped if row.record).items():
        yield f"stopped in {count_text(number, 'stack')} {since}"


def _question(stopped: Sequence[StoppedDeployment], planned: Sequence[Start]) -> str:
    """Return what to ask before heals are allowed or started; empty if nothing is to be done."""
    due = sum(len(start.heals.due) for start in planned)
    starts = f"start heals of {count_text(due, 'subnet')}"
    if not stopped:
        return f"{starts.capitalize()}?" if due else ""
    return f"Allow heals again in {count_text(len(stopped), 'stack')}{f', and {starts}' if due else ''}?"


def _running_text(number: int) -> str:
    """Return how many heals are running already, to follow how many were started; empty if none is."""
    return f"; {count_text(number, 'heal')} already running" if number else ""


def _planned(planned: Sequence[Start]) -> Iterator[str]:
    for start in planned:
        for what, subnets in (
            (
                "would clear the remediation exceptions, which a service control policy caused, of",
                start.exceptions.cleared,
            ),
            (_LEFT, start.exceptions.left),
            (_DECIDED, start.heals.decided),
        ):
            if subnets:
                yield f"{start.row.deployment}: {what} {', '.join(subnets)}"
    due = sum(len(start.heals.due) for start in planned)
    running = sum(len(start.heals.running) for start in planned)
    yield f"would start the heals of {count_text(due, 'subnet')}{_running_text(running)}"
    yield "nothing was changed"


_LEFT = "left the remediation exceptions (express-path doctor shows how to clear them) of"
_DECIDED = "left alone, because the last heal of the route table was undone or rejected (express-path heal heals them):"


def _lines(started: Sequence[StartedDeployment]) -> Iterator[str]:
    for row in started:
        for what, subnets in (
            ("cleared the remediation exceptions, which a service control policy caused, of", row.exceptions.cleared),
            (_LEFT, row.exceptions.left),
            (_DECIDED, row.heals.decided),
        ):
            if subnets:
                yield f"{row.deployment}: {what} {', '.join(subnets)}"
    allowed = [row for row in started if row.record]
    if allowed:
        yield f"heals are allowed again in {count_text(len(allowed), 'stack')}"
    if len(allowed) < len(started):
        yield f"heals were not stopped in {count_text(len(started) - len(allowed), 'stack')}"
    for mode, text in _STARTED.items():
        rows = [row for row in started if row.deployment.mode == mode]
        if rows:
            subnets = count_text(sum(len(row.started.accepted) for row in rows), "subnet")
            running = sum(len(row.heals.running) for row in rows)
            stacks = count_text(len(rows), "stack")
            yield f"mode {mode} ({stacks}): {text.format(subnets=subnets)}{_running_text(running)}"
    off = sum(row.deployment.mode == "OFF" for row in allowed)
    if off:
        yield f"mode OFF ({count_text(off, 'stack')}): AWS Config starts no heals there"
