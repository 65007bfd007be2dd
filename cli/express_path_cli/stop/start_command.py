"""express-path start: allow heals again, in an account and Region or in an organization."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

import typer

from express_path_cli.automation.deployments import NOT_DEPLOYED
from express_path_cli.automation.selection import deployments, selecting
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.stop.stopping import StartedDeployment, StoppedDeployment, find_stops, start_heals
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.questions import DryRun, Yes, confirm
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path start  # show who stopped the heals of this account and Region, ask, and allow them again
express-path start --organization --role-name Operations --all-regions  # in the organization
"""
SCHEMA_VERSION = 1
_NEXT = {
    "ON": "AWS Config heals what the next evaluation finds NON_COMPLIANT",
    "APPROVAL": "AWS Config asks the approvers about what the next evaluation finds NON_COMPLIANT",
    "OFF": "AWS Config starts no heals there",
}
"""What happens next, by remediation mode."""


@selecting(deployments)
def start(
    *,
    dry_run: DryRun = False,
    yes: Yes = False,
    live: LiveOptions,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Allow heals again, after express-path stop.

    Shows since when and by whom heals were stopped, and asks. Also clears remediation exceptions that a service control
    policy caused since the stop: AWS Config adds one if heals of a subnet fail too often, and then leaves the subnet
    alone. Exceptions that the stop recorded, and those with another cause, are listed and stay. Detach the policy first.

    Exit status: 0 heals are allowed everywhere, or with --dry-run could be, or there is no stack; 1 declined; 2 some could
    not be allowed, or there is no terminal to ask at. Each failure is a line on standard error, and the rest is allowed.
    """
    with watching(quiet=quiet) as watch:
        found = find_stops(live, watch)
    stopped = [row for row in found.rows if row.record]
    if form is TextFormat.TEXT:
        for line in _stops(stopped):
            echo(line)
    started: Sequence[StartedDeployment] = ()
    failures = [*found.failures]
    if not dry_run:
        if stopped:
            confirm(yes=yes, question=f"Allow heals again in {count_text(len(stopped), 'stack')}?")
        with watching(quiet=quiet) as watch:
            started, failed = start_heals(found.rows, live.workers, watch)
        failures = sorted([*failures, *failed], key=lambda failure: failure.where)
    status = UNDETERMINED if failures else 0
    show_failures_and_notes(failures, quiet=quiet)
    if form is TextFormat.JSON:
        document = {
            "exitStatus": status,
            "places": [row.fields() for row in started or found.rows],
            "withoutStack": found.without_stack,
            "failures": [failure.fields() for failure in failures],
        }
        echo(json_document(SCHEMA_VERSION, document), nl=False)
    elif not (found.rows or failures):
        echo(f"nothing to start: {NOT_DEPLOYED}")
    else:
        for line in ["nothing was changed"] if dry_run else _lines(started, live.profile):
            echo(line)
        echo(f"failed: {len(failures):,}; without a stack: {found.without_stack:,}")
    raise typer.Exit(status)


def _stops(stopped: Sequence[StoppedDeployment]) -> Iterator[str]:
    """Yield each stop, with the number of stacks where it was recorded."""
    for since, number in Counter(row.record.since for row in stopped if row.record).items():
        yield f"stopped in {count_text(number, 'stack')} {since}"


def _lines(started: Sequence[StartedDeployment], profile: str | None) -> Iterator[str]:
    for row in started:
        for what, subnets in (
            ("cleared the remediation exceptions, which a service control policy caused, of", row.exceptions.cleared),
            ("left the remediation exceptions (express-path doctor shows how to clear them) of", row.exceptions.left),
        ):
            if subnets:
                yield f"{row.deployment}: {what} {', '.join(subnets)}"
    allowed = [row for row in started if row.record]
    yield (
        f"heals are allowed again in {count_text(len(allowed), 'stack')}; "
        f"not stopped before: {count_text(len(started) - len(allowed), 'stack')}"
    )
    for mode, number in sorted(Counter(row.deployment.mode for row in allowed).items()):
        if mode in _NEXT:
            yield f"mode {mode} ({count_text(number, 'stack')}): {_NEXT[mode]}"
    if len(allowed) == 1 and allowed[0].deployment.mode != "OFF":
        [row] = allowed
        selected = options.as_command_line({"--region": row.deployment.place.region, "--profile": profile})
        rule = shlex.quote(row.deployment.rule)
        yield "to evaluate now, with credentials of the account:"
        yield f"  aws configservice start-config-rules-evaluation --config-rule-names {rule}{selected}"
