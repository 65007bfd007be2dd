"""express-path diagnose: whether a NAT on the path throttles S3 Express traffic."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.selection import Selection, evaluate_all
from express_path_cli.sources.source import Source, metered_source
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.errors import UNDETERMINED, OptionError, say, show_failures_and_notes
from express_path_cli.terminal.files import write_file
from express_path_cli.terminal.progress import watching
from express_path_cli.traffic.charts import as_svg
from express_path_cli.traffic.diagnosing import HOURS, NatDiagnosis, Timing, diagnose_all, nats_to_diagnose, timing
from express_path_cli.traffic.diagnosis_rendering import as_diagnosis_json, panels, print_diagnoses

_WHEN = "When to look at"
EXAMPLES = """
express-path diagnose  # every NAT on a flagged path, the last 24 hours
express-path diagnose subnet-0a1b2c3d4e5f60718 --hours 3 --chart nat.svg  # the NATs that this subnet crosses
express-path diagnose --from 2026-03-01T09:00 --to 2026-03-01T15:00 --format json  # an incident, in UTC
"""


Subnet = Annotated[
    str | None,
    typer.Argument(
        metavar="SUBNET", help="Only the NATs that this subnet crosses. Default: those on all flagged paths."
    ),
]
Hours = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=455 * 24,
        metavar="NUMBER",
        help=f"How many hours to look back, from --to or from now. Default: {HOURS}.",
        rich_help_panel=_WHEN,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="The start, in ISO 8601; UTC without a time zone.", rich_help_panel=_WHEN
    ),
]
Until = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="The end. Default: now.", rich_help_panel=_WHEN)
]
Period = Annotated[
    int | None,
    typer.Option(
        min=60,
        metavar="SECONDS",
        help="The length of a period. Default: the shortest that CloudWatch has, for at most 720 periods.",
        rich_help_panel=_WHEN,
    ),
]
Chart = Annotated[
    Path | None,
    typer.Option(metavar="FILE.svg", help="Also write the charts to this SVG file.", rich_help_panel=options.HOW),
]


@dataclass(frozen=True, slots=True)
class _Request:
    """The accounts and Regions to search for NATs, the subnet if only one counts, and the period."""

    source: Source
    parameters: RuleParameters
    subnet_id: str | None
    timing: Timing


def diagnose(
    *,
    subnet: Subnet = None,
    from_dump: options.HiddenDump = None,
    aggregator: options.HiddenAggregator = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    organization: options.AllAccounts = False,
    role_name: options.RoleName = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
    parameter: options.Parameters = None,
    hours: Hours = None,
    since: Since = None,
    until: Until = None,
    period: Period = None,
    chart: Chart = None,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Show whether a NAT gateway on a flagged path throttles S3 Express traffic, with a chart.

    Symptoms are flat throughput, port allocation errors, dropped packets, and peaks near a NAT gateway's maximum. Exit
    status: 0 none, 1 some, 2 something could not be determined; it is named on standard error, the rest is reported.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, organization, role_name, external_id, workers)
    source, parameters = metered_source(from_dump, aggregator, live), options.rule_parameters(parameter)
    request = _Request(source, parameters, subnet, timing(datetime.now(UTC), hours, since, until, period))
    raise typer.Exit(_diagnose(request, chart, form, quiet=quiet))


def _diagnose(request: _Request, chart: Path | None, form: TextFormat, *, quiet: bool) -> int:
    """Read, diagnose and write, and return the exit status."""
    _check(chart)
    with watching(quiet=quiet) as watch:
        network = request.source.read(request.parameters, watch)
    show_failures_and_notes(network.failures, network.notes, quiet=quiet)
    verdicts = evaluate_all(network.views, request.parameters, Selection())
    nats = nats_to_diagnose(network, verdicts, request.subnet_id, request.source.elsewhere)
    with watching(quiet=quiet) as watch, TaskPool(request.source.live.workers, watch) as task_pool:
        diagnoses = diagnose_all(nats, verdicts, network, request.timing, task_pool)
    show_failures_and_notes(task_pool.failures, quiet=quiet)
    if network.views or not network.failures:
        _draw(diagnoses, chart, quiet=quiet)
        _write(diagnoses, request.timing, form)
    failed = network.failures or task_pool.failures
    return UNDETERMINED if failed else any(diagnosis.has_symptoms for diagnosis in diagnoses)


def _check(chart: Path | None) -> None:
    if chart and chart.suffix.lower() != ".svg":
        raise OptionError(
            f"--chart {chart}: charts are SVG files", "use a name that ends in .svg, which any browser shows"
        )


def _draw(diagnoses: list[NatDiagnosis], chart: Path | None, *, quiet: bool) -> None:
    if chart is None:
        return
    drawn = panels(diagnoses)
    if drawn:
        write_file(chart, [as_svg(drawn)])
    if not (drawn and quiet):
        say(f"wrote {chart}" if drawn else f"{chart} was not written: there are no datapoints to draw")


def _write(diagnoses: list[NatDiagnosis], during: Timing, form: TextFormat) -> None:
    if form is TextFormat.JSON:
        echo(as_diagnosis_json(diagnoses, during), nl=False)
    else:
        print_diagnoses(Terminal(), diagnoses, during)
