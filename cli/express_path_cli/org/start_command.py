"""express-path org start: allow the heals of an organization again."""

from collections import Counter
from collections.abc import Iterator, Sequence

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.org.check_command import OuIds, RoleName
from express_path_cli.org.deployments import DeploymentsRequest
from express_path_cli.org.stopping import StartedPlace, StoppedPlace, find_stops, start_organization
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.questions import Yes, confirm
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path org start --role-name Operations --all-regions  # show who stopped heals, ask, and allow them again
express-path org start --role-name Operations --ou ou-ab12-c3d4e5f6 --region eu-north-1  # one organizational unit
"""
SCHEMA_VERSION = 1


def org_start(
    *,
    role_name: RoleName,
    yes: Yes = False,
    ou: OuIds = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 32,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Allow heals again in every account and Region, after express-path org stop.

    Shows since when and by whom heals were stopped, and asks. Also clears remediation exceptions that a service control
    policy caused since the stop. Exceptions that the stop recorded, and those with another cause, are listed and stay.
    Detach the policy first. AWS Config heals what the next evaluation finds NON_COMPLIANT.

    Exit status: 0 heals are allowed everywhere; 1 declined; 2 some could not be allowed, or no stack was found. Each of
    them is a line on standard error, and the rest is allowed.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, True, role_name, external_id, workers)
    request = DeploymentsRequest(live, tuple(ou or ()))
    with watching(quiet=quiet) as watch:
        found = find_stops(request, watch)
    stopped = [place for place in found.places if place.record]
    if form is TextFormat.TEXT:
        for line in _stops(stopped):
            echo(line)
    if stopped:
        confirm(yes=yes, question=f"Allow heals again in {count_text(len(stopped), 'deployment')}?")
    with watching(quiet=quiet) as watch:
        started, failed = start_organization(found.places, workers, watch)
    failures = sorted([*found.failures, *failed], key=lambda failure: failure.where)
    status = UNDETERMINED if failures or not found.places else 0
    show_failures_and_notes(failures, quiet=quiet)
    if form is TextFormat.JSON:
        document = {
            "exitStatus": status,
            "places": [place.fields() for place in started],
            "withoutStack": found.without_stack,
            "failures": [failure.fields() for failure in failures],
        }
        echo(json_document(SCHEMA_VERSION, document), nl=False)
    else:
        for line in _lines(started):
            echo(line)
        echo(f"failed: {len(failures):,}; without a stack of the rule: {found.without_stack:,}")
    raise typer.Exit(status)


def _stops(stopped: Sequence[StoppedPlace]) -> Iterator[str]:
    """Yield each stop, with the number of deployments where it was recorded."""
    stops = Counter(place.record.stop for place in stopped if place.record)
    for stop, number in stops.items():
        where = count_text(number, "deployment")
        yield f"stopped since {stop.stopped_at} by {stop.by} in {where}: {stop.reason or 'no reason'}"


def _lines(started: Sequence[StartedPlace]) -> Iterator[str]:
    for place in started:
        for what, subnets in (
            ("cleared the remediation exceptions of", place.cleared.cleared if place.cleared else ()),
            ("left the remediation exceptions of", place.cleared.left if place.cleared else ()),
        ):
            if subnets:
                yield f"{place.deployment}: {what} {', '.join(subnets)}"
    number = sum(place.stop is not None for place in started)
    yield (
        f"heals are allowed again in {count_text(number, 'deployment')}; "
        f"not stopped before: {count_text(len(started) - number, 'deployment')}"
    )
