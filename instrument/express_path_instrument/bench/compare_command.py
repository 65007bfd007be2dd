"""express-path bench compare: measurements side by side, and what limits each."""

from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import TextFormat
from express_path_cli.terminal.charts import check_chart
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import say
from express_path_cli.terminal.tables import Terminal
from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.compare import as_comparison_json, compare, verdict
from express_path_instrument.bench.plot import write_plots
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.bench.tables import print_comparison

EXAMPLES = """
express-path bench compare before.json after.json  # before and after a heal
express-path bench compare nat-1.json endpoint-1.json nat-2.json endpoint-2.json  # whether the path is the limit
express-path bench compare cold.json --chart throttling.png --chart throttling.svg  # charts to share
"""


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="The files that express-path bench wrote with --output, of two paths in turns: A B A B."
    ),
]
Charts = Annotated[
    list[Path] | None,
    options.how(
        "--chart",
        metavar="FILE",
        help="Also write the charts to this file, which ends in .svg, .png, or .pdf; repeatable.",
    ),
]


def bench_compare(
    *,
    files: Files,
    chart: Charts = None,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Compare measurements: what limits each, and how they differ.

    The first file is the base of all ratios, so give the measurement before a heal first. Each measurement has the name
    of its file.
    """
    for file in chart or ():
        check_chart(file)
    has_unique_names = len({file.stem for file in files}) == len(files)
    comparison = compare({file.stem if has_unique_names else str(file): read_bench(file) for file in files})
    for file in chart or ():
        names = " and ".join(run.name for run in comparison.runs)
        write_plots(file, plots_of(comparison), f"Throughput and latency: {names}", verdict(comparison))
        if not quiet:
            say(f"wrote {file}")
    if form is TextFormat.JSON:
        echo(as_comparison_json(comparison), nl=False)
    else:
        print_comparison(Terminal(), comparison)
