"""express-path diagnose: whether a NAT on the path throttles S3 Express traffic."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from express_path_cli import options
from express_path_cli.diagnosis.diagnosing import NatDiagnosis, diagnose_all, nats_to_diagnose
from express_path_cli.diagnosis.timing import HOURS, Timing, timing
from express_path_cli.formats.chart_svg import as_svg
from express_path_cli.formats.diagnosis_json import as_diagnosis_json
from express_path_cli.formats.diagnosis_text import panels, print_diagnoses
from express_path_cli.groups import Made
from express_path_cli.output import tell_about, write_file
from express_path_cli.problems import COULD_NOT_TELL, OptionError, say
from express_path_cli.progress import watching
from express_path_cli.result import Seen
from express_path_cli.selection import Selection, judge_all
from express_path_cli.task_pool import TaskPool

_WHEN = "When to look at"
EXAMPLES = """
express-path diagnose  # every NAT on a flagged path, the last 24 hours
express-path diagnose subnet-0a1b2c3d4e5f60718 --hours 3 --chart nat.svg  # what this subnet crosses
express-path diagnose --from 2026-03-01T09:00 --to 2026-03-01T15:00 --format json  # an incident, in UTC
"""


class Form(StrEnum):
    """How diagnoses are written."""

    TEXT = "text"
    JSON = "json"


Subnet = Annotated[
    str | None,
    typer.Argument(
        metavar="SUBNET", help="Only the NATs that this subnet crosses; those on all flagged paths unless given."
    ),
]
Hours = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=455 * 24,
        metavar="NUMBER",
        help=f"How many hours to look back, from --to or from now; {HOURS} unless given.",
        rich_help_panel=_WHEN,
    ),
]
Since = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Begin then: ISO 8601, UTC unless it says.", rich_help_panel=_WHEN),
]
Until = Annotated[str | None, typer.Option("--to", metavar="TIME", help="End then; else now.", rich_help_panel=_WHEN)]
Period = Annotated[
    int | None,
    typer.Option(
        min=60,
        metavar="SECONDS",
        help="Length of a period; else the finest that CloudWatch has, for at most 720 of them.",
        rich_help_panel=_WHEN,
    ),
]


Chart = Annotated[
    Path | None,
    typer.Option(metavar="FILE.svg", help="Write the charts there, too, as SVG.", rich_help_panel=options.HOW),
]

Written = Annotated[Form, typer.Option("--format", "-f", help="How it is written.", rich_help_panel=options.HOW)]


def _timing(*, hours: Hours = None, since: Since = None, until: Until = None, period: Period = None) -> Timing:
    return timing(datetime.now(UTC), hours, since, until, period)


def diagnose(
    *,
    subnet: Subnet = None,
    source: options.WhereMetered,
    parameters: options.Asked,
    during: Annotated[Timing, Made(_timing)],
    chart: Chart = None,
    form: Written = Form.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Show whether a NAT gateway on a flagged path throttles S3 Express traffic, with a chart.

    Looks in CloudWatch for throughput that runs flat at a ceiling, refused connections, dropped packets, and peaks
    near the most that a NAT gateway carries. Exit status: 0 no symptom, 1 some, 2 something could not be determined;
    it is named on standard error, and the rest is still reported.
    """
    _check(chart)
    with watching(quiet=quiet) as watch:
        seen = source.read(parameters, watch)
    tell_about(seen, quiet=quiet)
    verdicts = judge_all(seen.views, parameters, Selection())
    nats = nats_to_diagnose(seen, verdicts, subnet, source.elsewhere)
    with watching(quiet=quiet) as watch, TaskPool(source.live.workers, watch) as task_pool:
        told = diagnose_all(nats, verdicts, seen, during, task_pool)
    tell_about(Seen(failures=task_pool.failures), quiet=quiet)
    if seen.views or not seen.failures:
        _draw(told, chart, quiet=quiet)
        _write(told, during, form)
    failed = seen.failures or task_pool.failures
    raise typer.Exit(COULD_NOT_TELL if failed else any(each.has_symptoms for each in told))


def _check(chart: Path | None) -> None:
    if chart and chart.suffix.lower() != ".svg":
        raise OptionError(f"--chart {chart}: charts are written as SVG", "end the name in .svg; any browser shows it")


def _draw(told: list[NatDiagnosis], chart: Path | None, *, quiet: bool) -> None:
    if chart is None:
        return
    drawn = panels(told)
    if drawn:
        write_file(chart, [as_svg(drawn)])
    if not (drawn and quiet):
        say(f"wrote {chart}" if drawn else f"{chart} was not written: there are no datapoints to draw")


def _write(told: list[NatDiagnosis], during: Timing, form: Form) -> None:
    if form is Form.JSON:
        typer.echo(as_diagnosis_json(told, during), nl=False)
    else:
        print_diagnoses(Console(highlight=False), told, during)
