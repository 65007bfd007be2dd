"""A measurement, and a comparison, as tables for the terminal."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from express_path_instrument.bench.charts import load_plots
from express_path_instrument.bench.classify import LoadPoint, load_points, share_of_model
from express_path_instrument.bench.compare import Comparison, compare, verdict
from express_path_instrument.bench.plan import UNITS
from express_path_instrument.bench.plot import as_text_plot
from express_path_instrument.bench.results import BenchResult, Kind, tp80

_FIRST_COLUMN = {Kind.GET: "Connections", Kind.PUT: "Connections", Kind.OPEN: "Requests/s"}
_PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}


def as_bench_table(result: BenchResult) -> RenderableType:
    """Return a line for each step, with the median of all repeats, and what the columns mean."""
    columns = (_FIRST_COLUMN[result.kind], "Gbit/s", "TP80", "req/s", *_PERCENTILES.values(), "CPU %", "Peak", "Failed")
    # The columns need 80 characters together.
    return Group(_table(columns, map(_cells, load_points(result)), _title(result)), *_footnotes(result))


def _title(result: BenchResult) -> str:
    client = result.client
    parts = (
        f"bench {result.kind}: {result.path.reason if result.path else 'unknown path'}",
        f"{_size(result.object_bytes)} objects",
        result.target.bucket,
        f"{client.machines} x {client.instance_type or f'{client.cpus} CPUs'}",
        f"{client.engine} {client.engine_version}",
    )
    return ", ".join(parts)


def _cells(point: LoadPoint) -> Sequence[str]:
    return (
        f"{point.load:g}",
        _number(point.gbps),
        _number(tp80([step.gbps for step in point.steps])) if len(point.steps) > 1 else "",
        _number(point.throughput),
        *(_number(point.latency(percentile)) for percentile in _PERCENTILES),
        _number(point.median("cpu_percent")),
        _number(point.median("peak_cpu_percent")),
        f"{point.errors.total():,}" if point.errors else "",
    )


def _footnotes(result: BenchResult) -> Iterator[Text]:
    repeats = f"Median of {result.repeats} repeats; TP80: what 80 % of them reach" if result.repeats > 1 else "One run"
    latency = "from the time at which each was to be sent" if result.kind is Kind.OPEN else "of whole requests"
    yield Text(f"{repeats}. Latency in ms, {latency}. CPU: of the client itself, or of its busiest process.", "dim")
    yield Text("Peak: how busy the machine was in the busiest second of a step, whoever used it.", "dim")
    failed = sum((point.errors for point in load_points(result)), Counter[str]())
    if failed:
        yield Text(f"Failed: {', '.join(f'{count:,} x {status}' for status, count in failed.most_common())}", "yellow")
    yield Text(verdict(compare({"this path": result})), "bold")
    if not result.valid:
        yield Text(f"INVALID: {result.invalid_reason}", "bold red")


def _size(number: int) -> str:
    """Return a size in the largest unit of which it is a multiple: 32 MB are 32,000,000 bytes, 32 MiB are more."""
    sizes = sorted(((size, unit) for unit, size in UNITS.items() if number % size == 0), reverse=True)
    return f"{number // sizes[0][0]:,} {sizes[0][1]}"


_WIDEST_PLOT = 100
_LONGEST_NAME = 18
_EXPLANATION = """model: share of concurrency x size / latency, with the smallest load's latency
CPU: of the client; peak: of the machine, in its busiest second. ratio: to the first row"""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the verdict, what is invalid, the tables, and the plots."""
    console.print(verdict(comparison), style="bold")
    for run in comparison.runs:
        if not run.result.valid:
            console.print(f"{run.name} is invalid: {run.result.invalid_reason}", style="yellow")
    console.print()
    console.print(loads_table(comparison))
    console.print(_EXPLANATION, style="dim")
    for plot in load_plots(comparison):
        console.print()
        width, is_ascii = min(console.width, _WIDEST_PLOT), console.options.ascii_only
        console.print(as_text_plot(plot, width, ascii_only=is_ascii), soft_wrap=True, markup=False, highlight=False)


def _table(columns: Sequence[str], cells: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """Return a table of numbers; the column `measurement` is text. Columns that are empty in every row are left out."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, header_style="bold")
    table.padding = (0, 1, 0, 0)
    rows = list(cells)
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    for name in (columns[index] for index in used):
        if name == "measurement":  # names are shortened, so that numbers never are
            table.add_column(name, justify="left", overflow="ellipsis", no_wrap=True, max_width=_LONGEST_NAME)
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[index] for index in used))
    return table


def loads_table(comparison: Comparison) -> Table:
    """Return a row for each load of each measurement."""
    name = "rate" if comparison.kind is Kind.OPEN else "conn."
    columns = (name, "measurement", "Gbit/s", "model", "p50 ms", "p99 ms", "CPU", "peak", "503", "ratio")
    return _table(columns, (row for load in comparison.loads for row in _rows_of(comparison, load)))


def _rows_of(comparison: Comparison, load: float) -> Iterator[Sequence[str]]:
    for run in comparison.runs:
        if point := run.at(load):
            ratio = comparison.ratio(run, load)
            yield (
                f"{load:g}",
                run.name,
                f"{point.gbps:.3g}",
                _percent(100 * share_of_model(run.points, point)),
                _number(point.latency("p50")),
                _number(point.latency("p99")),
                _percent(point.median("cpu_percent")),
                _percent(point.median("peak_cpu_percent")),
                _percent(point.throttled_share * 100) if point.throttled_share else "",
                f"{ratio:.2f}" if ratio is not None else "",
            )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} %" if value >= 1 or value == 0 else f"{value:.2f} %"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004  # digits
