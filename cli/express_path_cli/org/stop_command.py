"""express-path org stop: let no heal in an organization change anything, from now on."""

from collections.abc import Iterator
from typing import Annotated

import typer

from express_path_cli.automation.stops import checked_reason
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.org.check_command import OuIds, RoleName
from express_path_cli.org.deployments import DeploymentsRequest
from express_path_cli.org.stopping import OrgStop, StopState, stop_organization
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path org stop --role-name Operations --all-regions --reason INC-1234  # every account and Region
express-path org stop --role-name Operations --ou ou-ab12-c3d4e5f6 --region eu-north-1  # one organizational unit
express-path org start --role-name Operations --all-regions  # allow heals again
"""
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for everyone who reads it later.")]
SCHEMA_VERSION = 1


def org_stop(
    *,
    role_name: RoleName,
    reason: Reason = "",
    ou: OuIds = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 32,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Stop all heals in every account and Region, including heals that are already running.

    The role finds the stack of the rule in each account and Region, and assumes its StopRole. It asks nothing. First,
    heals are stopped everywhere; then it waits until no run is between its last check and its change, at most five
    minutes. Undo still works. Run it again until its status is 0: a second stop keeps the record of the first one.

    Exit status: 0 all are stopped; 2 some could not be stopped, or no stack was found. Each of them is a line on
    standard error, and the rest is stopped.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, True, role_name, external_id, workers)
    request = DeploymentsRequest(live, tuple(ou or ()))
    text = checked_reason(reason)
    with watching(quiet=quiet) as watch:
        found = stop_organization(request, text, watch)
    show_failures_and_notes(found.failures, found.notes, quiet=quiet)
    if form is TextFormat.JSON:
        echo(as_org_stop_json(found), nl=False)
    else:
        for line in _lines(found):
            echo(line)
    raise typer.Exit(found.exit_status)


def as_org_stop_json(found: OrgStop) -> str:
    """Return every deployment that is stopped, and what failed."""
    document = {
        "exitStatus": found.exit_status,
        "places": [place.fields() for place in found.places],
        "withoutStack": found.without_stack,
        "failures": [failure.fields() for failure in found.failures],
        "notes": list(found.notes),
    }
    return json_document(SCHEMA_VERSION, document)


def _lines(found: OrgStop) -> Iterator[str]:
    for place in found.places:
        for run in place.running:
            if run.may_change:
                yield f"{place.deployment}: run {run.run_id} is in step {run.step} and may still change something"
    accounts = {place.deployment.place.account_id for place in found.places}
    earlier = sum(place.was_stopped for place in found.places)
    running = sum(len(place.running) for place in found.places)
    changing = sum(place.state is StopState.CHANGING for place in found.places)
    yield (
        f"stopped: {count_text(len(found.places), 'deployment')} in {count_text(len(accounts), 'account')}, "
        f"{earlier:,} of them before; {count_text(running, 'run')} still running, {changing:,} may still change "
        "something"
    )
    yield f"failed: {len(found.failures):,}; without a stack of the rule: {found.without_stack:,}"
    if found.exit_status:
        yield "run the command again for what failed; org/stop-heals-scp.json stops heals where the role is missing"
