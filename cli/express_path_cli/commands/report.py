"""express-path report: the whole result as one HTML file to look at, search and share."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from express_path.adapters.memory import gc_paused
from express_path_cli import options
from express_path_cli.formats.registry import Format
from express_path_cli.output import tell_about, write_result
from express_path_cli.problems import COULD_NOT_TELL
from express_path_cli.progress import watching
from express_path_cli.result import Result, is_flagged
from express_path_cli.selection import Selection, judge_all

EXAMPLES = """
express-path report  # writes express-path.html about this account, in the Region of your AWS settings
express-path report --all-regions --output paths.html  # every Region
express-path report --organization --role-name Audit  # every account
express-path report --from-dump dump  # without AWS
express-path scan --format html --vpc vpc-0a1b2c3d4e5f60718 --output vpc.html  # the same of some subnets only
"""


def report(
    *,
    source: options.Where,
    parameters: options.Asked,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write.", rich_help_panel=options.HOW),
    ] = Path("express-path.html"),
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML file with totals, a table to search and sort, and a drawing of each VPC with its paths.

    The file needs no network and no other file. Exit status: 0 nothing is NON_COMPLIANT, 1 something is, 2 something
    could not be determined. What could not be read is named in the file and on standard error, and the rest is still
    reported.
    """
    with gc_paused(), watching(quiet=quiet) as watch:
        seen = source.read(parameters, watch)
        verdicts = judge_all(seen.views, parameters, Selection())
    tell_about(seen, quiet=quiet)
    if seen.views or not seen.failures:
        result = Result(verdicts, datetime.now(UTC), seen.failures, seen.views, seen.notes, parameters)
        write_result(result, Format.HTML, output, quiet=quiet)
    raise typer.Exit(COULD_NOT_TELL if seen.failures else any(map(is_flagged, verdicts)))
