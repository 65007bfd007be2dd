"""express-path cost: what S3 Express traffic costs at the NAT gateways on flagged paths."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from express_path_cli import options
from express_path_cli.cost.charges import window
from express_path_cli.cost.report import CostOptions, CostReport, report_on
from express_path_cli.crossed_nats import crossed_nats
from express_path_cli.formats.cost_json import as_cost_json
from express_path_cli.formats.cost_table import as_cost_table, as_text_table
from express_path_cli.groups import Made
from express_path_cli.output import STDOUT, tell_about, write_file
from express_path_cli.problems import COULD_NOT_TELL, say
from express_path_cli.progress import watching
from express_path_cli.result import Seen
from express_path_cli.selection import Selection, judge_all
from express_path_cli.task_pool import TaskPool

_WHAT = "What to count"
_LONGEST = 454
EXAMPLES = """
express-path cost  # at most, for the last 30 days
express-path cost --flow-logs vpc-flow-logs --days 7  # also as flow logs measure it
express-path cost --organization --role-name Audit --format json  # every account
"""


class Form(StrEnum):
    """How costs are written."""

    TABLE = "table"
    JSON = "json"


def _counted(
    *,
    days: Annotated[
        int,
        typer.Option(min=1, max=_LONGEST, metavar="NUMBER", help="How many days to look back.", rich_help_panel=_WHAT),
    ] = 30,
    price_per_gb: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1000,
            metavar="USD",
            help="The price of a GB that a NAT gateway processes; else that of the AWS Price List.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    flow_logs: Annotated[
        str | None,
        typer.Option(
            metavar="LOG-GROUP",
            help="Measure S3 Express's share in the flow logs of this log group of CloudWatch Logs, which charges by "
            "the GB scanned.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
) -> CostOptions:
    return CostOptions(window(datetime.now(UTC), days), price_per_gb, flow_logs)


def cost(
    *,
    source: options.WhereMetered,
    parameters: options.Asked,
    counted: Annotated[CostOptions, Made(_counted)],
    form: Annotated[
        Form, typer.Option("--format", "-f", help="How it is written.", rich_help_panel=options.HOW)
    ] = Form.TABLE,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Show the most that S3 Express can cost at the NAT gateways on flagged paths.

    The metrics of NAT gateways do not record destinations, so this is an upper bound; --flow-logs measures the share
    of S3 Express. A gateway endpoint saves these costs, but not the hourly charges. Exit status: 0 done, 2 something
    could not be determined; it is named on standard error, and the rest is still reported.
    """
    with watching(quiet=quiet) as watch, TaskPool(source.live.workers, watch) as task_pool:
        seen = source.look(parameters, watch)
        nats = crossed_nats(seen.views, judge_all(seen.views, parameters, Selection()))
        report = report_on(nats, seen, counted, task_pool)
    tell_about(Seen(failures=report.failures, notes=report.notes), quiet=quiet)
    if seen.views or not seen.failures:
        _write(report, form, output, quiet=quiet)
    raise typer.Exit(COULD_NOT_TELL if report.failures else 0)


def _write(report: CostReport, form: Form, output: Path | None, *, quiet: bool) -> None:
    if output and output != STDOUT:
        write_file(output, [as_cost_json(report) if form is Form.JSON else as_text_table(report)])
        if not quiet:
            say(f"wrote {output}")
    elif form is Form.JSON:
        typer.echo(as_cost_json(report), nl=False)
    else:
        Console(highlight=False).print(as_cost_table(report))
