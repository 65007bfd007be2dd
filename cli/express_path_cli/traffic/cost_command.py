"""express-path cost: what S3 Express traffic costs at the NAT gateways on flagged paths."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions, TableFormat
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.selection import Selection, evaluate_all
from express_path_cli.nat.crossed_nats import crossed_nats
from express_path_cli.sources.source import Source, metered_source
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.errors import UNDETERMINED, say, show_failures_and_notes
from express_path_cli.terminal.files import STDOUT, write_file
from express_path_cli.terminal.progress import watching
from express_path_cli.traffic.charges import window
from express_path_cli.traffic.cost_rendering import as_cost_json, as_cost_table, as_text_table
from express_path_cli.traffic.costs import CostOptions, CostReport, report_on

_WHAT = "What to count"
_MAX_DAYS = 454
EXAMPLES = """
express-path cost  # the most that it can cost, for the last 30 days
express-path cost --flow-logs vpc-flow-logs --days 7  # also measured from flow logs
express-path cost --organization --role-name Audit --format json  # every account
"""


Days = Annotated[
    int,
    typer.Option(min=1, max=_MAX_DAYS, metavar="NUMBER", help="How many days to look back.", rich_help_panel=_WHAT),
]
PricePerGb = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1000,
        metavar="USD",
        help="The price of a GB that a NAT gateway processes. Default: that of the AWS Price List.",
        rich_help_panel=_WHAT,
    ),
]
FlowLogs = Annotated[
    str | None,
    typer.Option(
        metavar="LOG-GROUP",
        help="Measure the share of S3 Express in the flow logs of this CloudWatch Logs log group. CloudWatch Logs "
        "charges for each GB scanned.",
        rich_help_panel=_WHAT,
    ),
]


@dataclass(frozen=True, slots=True)
class _Request:
    """The accounts and Regions to search for NATs, and what to count."""

    source: Source
    parameters: RuleParameters
    counted: CostOptions


def cost(
    *,
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
    days: Days = 30,
    price_per_gb: PricePerGb = None,
    flow_logs: FlowLogs = None,
    form: options.TableOrJson = TableFormat.TABLE,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Show the most that S3 Express can cost at the NAT gateways on flagged paths.

    The metrics of NAT gateways do not record destinations, so this is an upper bound; --flow-logs measures the share
    of S3 Express. A gateway endpoint saves these costs, but not the hourly charges. Exit status: 0 done, 2 something
    could not be determined; it is named on standard error, and the rest is still reported.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, organization, role_name, external_id, workers)
    source, parameters = metered_source(from_dump, aggregator, live), options.rule_parameters(parameter)
    counted = CostOptions(window(datetime.now(UTC), days), price_per_gb, flow_logs)
    raise typer.Exit(_cost(_Request(source, parameters, counted), form, output, quiet=quiet))


def _cost(request: _Request, form: TableFormat, output: Path | None, *, quiet: bool) -> int:
    """Read, calculate and write, and return the exit status."""
    source, parameters = request.source, request.parameters
    with watching(quiet=quiet) as watch, TaskPool(source.live.workers, watch) as task_pool:
        network = source.read(parameters, watch)
        nats = crossed_nats(network.views, evaluate_all(network.views, parameters, Selection()))
        report = report_on(nats, network, request.counted, task_pool)
    show_failures_and_notes(report.failures, report.notes, quiet=quiet)
    if network.views or not network.failures:
        _write(report, form, output, quiet=quiet)
    return UNDETERMINED if report.failures else 0


def _write(report: CostReport, form: TableFormat, output: Path | None, *, quiet: bool) -> None:
    if output and output != STDOUT:
        write_file(output, [as_cost_json(report) if form is TableFormat.JSON else as_text_table(report)])
        if not quiet:
            say(f"wrote {output}")
    elif form is TableFormat.JSON:
        echo(as_cost_json(report), nl=False)
    else:
        Terminal().print(as_cost_table(report))
