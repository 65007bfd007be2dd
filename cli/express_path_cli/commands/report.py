"""express-path report: the whole result as one HTML file to read, search and share."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from express_path.adapters.memory import gc_paused
from express_path_cli import options
from express_path_cli.formats.registry import Format
from express_path_cli.history import HistoryPoint, read_history, trend
from express_path_cli.output import show_failures_and_notes, write_result
from express_path_cli.problems import UNDETERMINED, say
from express_path_cli.progress import watching
from express_path_cli.result import Result, is_flagged
from express_path_cli.selection import Selection, evaluate_all
from express_path_cli.sources.live import LiveOptions
from express_path_cli.sources.source import Source

EXAMPLES = """
express-path report  # writes express-path.html about this account, in the Region of your AWS settings
express-path report --all-regions --output paths.html  # every Region
express-path report --organization --role-name Audit  # every account
express-path report --from-dump dump  # without AWS
express-path report --history scans  # with the trend of the scans in this folder
express-path scan --format html --vpc vpc-0a1b2c3d4e5f60718 --output vpc.html  # the same, for some subnets only
"""

OutputFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.", rich_help_panel=options.HOW)
]
History = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder of earlier scans (scan --format json), to show the trend.",
        rich_help_panel=options.HOW,
    ),
]


def report(
    *,
    from_dump: options.FromDump = None,
    aggregator: options.AggregatorName = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    organization: options.AllAccounts = False,
    role_name: options.RoleName = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
    parameter: options.Parameters = None,
    history: History = None,
    output: OutputFile = Path("express-path.html"),
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML file with totals, a table to search and sort, and a drawing of each VPC with its paths.

    The file needs no network and no other file. Exit status: 0 nothing is NON_COMPLIANT, 1 something is, 2 something
    could not be determined. What could not be read is named in the file and on standard error, and the rest is still
    reported.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, organization, role_name, external_id, workers)
    earlier = read_history(history) if history else ()
    raise typer.Exit(_report(Source(from_dump, aggregator, live), parameter, earlier, output, quiet=quiet))


def _report(
    source: Source, parameter: list[str] | None, earlier: Sequence[HistoryPoint], output: Path, *, quiet: bool
) -> int:
    """Write the file, and return the exit status."""
    parameters = options.rule_parameters(parameter)
    with gc_paused(), watching(quiet=quiet) as watch:
        network = source.read(parameters, watch)
        verdicts = evaluate_all(network.views, parameters, Selection())
    show_failures_and_notes(network.failures, network.notes, quiet=quiet)
    if network.views or not network.failures:
        result = Result(verdicts, datetime.now(UTC), network.failures, network.views, network.notes, parameters)
        if earlier:
            result = replace(result, history=(*earlier, result.as_point()))
        write_result(result, Format.HTML, output, quiet=quiet)
        if earlier and not quiet:
            for line in trend(result.history):
                say(line)
    return UNDETERMINED if network.failures else any(map(is_flagged, verdicts))
