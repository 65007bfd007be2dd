"""express-path report: the whole result as one HTML file to read, search and share."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.baseline import parameter_words
from express_path_cli.findings.costs import read_costs
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.output import Format, check_suffix, write_result
from express_path_cli.findings.reading import read_earlier, read_now
from express_path_cli.findings.settings import read_settings, this_day
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes

EXAMPLES = """
express-path report  # writes express-path.html about this account, in the Region of your AWS settings
express-path report --all-regions --output paths.html  # every Region
express-path report --organization --role-name Audit  # every account
express-path report --from-dump dump  # without AWS
express-path report --from scan.json  # the scan that --format json wrote, without reading the network again
express-path report --tags owner --cost cost.json  # filters by owner, and what each NAT costs
express-path scan --format html --vpc vpc-0a1b2c3d4e5f60718 --output vpc.html  # the same, for some subnets only
"""

OutputFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.", rich_help_panel=options.HOW)
]
CostFile = Annotated[
    Path | None,
    typer.Option(
        "--cost",
        metavar="FILE",
        help="Show what S3 Express costs at each NAT: the file that `express-path cost --format json` wrote.",
        rich_help_panel=options.HOW,
    ),
]
ConsoleLinks = Annotated[
    bool,
    typer.Option(
        "--console-links",
        help="Link resources to the AWS console. Without this option, the file contains no links.",
        rich_help_panel=options.HOW,
    ),
]


def report(
    *,
    from_scan: options.FromScan = None,
    from_dump: options.FromDump = None,
    example: options.Example = False,
    aggregator: options.AggregatorName = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    organization: options.AllAccounts = False,
    role_name: options.RoleName = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
    parameter: options.Parameters = None,
    config: options.Config = None,
    tags: options.TagKeys = None,
    cost: CostFile = None,
    console_links: ConsoleLinks = False,
    output: OutputFile = Path("express-path.html"),
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML file with totals, what to fix, a drawing of each VPC with its paths, and a table to search.

    The file opens without a network connection and needs no other file. Exit status: 0 no subnet is NON_COMPLIANT, 1 at
    least one is, 2 something could not be read. The file and standard error name what could not be read, and the rest is
    still reported.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, organization, role_name, external_id, workers)
    settings = read_settings(config)
    parameters = settings.rule_parameters(parameter)
    judged_by = options.rule_parameters(parameter) if from_scan else parameters.default
    source, tag_keys = Source(from_dump, aggregator, live, example), options.tag_keys(tags or settings.tags)
    given = ScanOptions(source, parameter_words(judged_by), tag_keys=tag_keys)
    check_suffix(output, (".html", ".htm"))
    costs = read_costs(cost) if cost else None
    if from_scan:
        scan = read_earlier(from_scan, given, (), quiet=quiet)
    else:
        scan = read_now(given, parameters, given.tag_keys, quiet=quiet)
    rendering = RenderOptions(scan=scan.options, costs=costs, console_links=console_links)
    applied = settings.applied(scan.result.rows, this_day())
    show_failures_and_notes((), applied.notes, quiet=quiet)
    result = replace(scan.result, rows=applied.counting, notes=[*scan.result.notes, *applied.notes])
    if not scan.is_empty:
        write_result(result, Format.HTML, output, rendering, quiet=quiet)
    raise typer.Exit(UNDETERMINED if result.failures else int(any(row.is_flagged for row in result.rows)))
