"""A measurement, and a comparison, as tables for the terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.classify import share_of_model
from express_path_instrument.bench.compare import MBPS, Comparison, limit_of, verdict
from express_path_instrument.bench.plot import as_text_plot
from express_path_instrument.bench.results import BenchResult, Kind, Summary, summaries

_FIRST_COLUMN = {Kind.GET: "Connections", Kind.PUT: "Connections", Kind.OPEN: "Requests/s", Kind.SYNC: "Stage"}
_PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}


def as_bench_table(result: BenchResult) -> RenderableType:
    """Return a line for each step, with the median of all repeats, and what the columns mean."""
    has_errors = any(step.errors for step in result.steps)
    table = Table(title=_title(result), title_justify="left", title_style="bold", box=None, header_style="bold")
    table.padding = (0, 1, 0, 0)  # the columns need 80 characters together, also with errors
    table.add_column(_FIRST_COLUMN[result.kind], justify="left" if result.kind is Kind.SYNC else "right", no_wrap=True)
    tp80 = ["TP80"] if result.repeats > 1 else []
    columns = ["Gbit/s", *tp80, "req/s", *_PERCENTILES.values(), "CPU %", *(["Failed"] if has_errors else [])]
    if result.kind is Kind.SYNC:
        columns.insert(0, "Seconds")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for summary in summaries(result):
        table.add_row(*_cells(summary, result.kind, with_tp80=bool(tp80), with_errors=has_errors))
    return Group(table, *_footnotes(result))


def _title(result: BenchResult) -> str:
    client = result.client
    parts = (
        f"bench {result.kind}: {result.label}",
        f"{_size(result.object_bytes)} objects",
        result.target.bucket,
        client.instance_type or f"{client.cpus} CPUs",
        f"{client.engine} {client.engine_version}",
    )
    return ", ".join(parts)


def _cells(summary: Summary, kind: Kind, *, with_tp80: bool, with_errors: bool) -> Iterator[str]:
    step = summary.steps[0]
    if kind is Kind.SYNC:
        yield str(step.stage)
        yield _number(summary.seconds)
    else:
        yield f"{step.rate_per_second:g}" if step.rate_per_second else str(step.connections)
    yield _number(summary.gbps)
    if with_tp80:
        yield _number(summary.gbps_tp80)
    yield _number(summary.requests_per_second)
    for percentile in _PERCENTILES:
        latency = summary.latency(percentile)
        yield "-" if latency is None else _number(latency)
    yield "-" if summary.cpu_percent is None else f"{summary.cpu_percent:.0f}"
    if with_errors:
        yield f"{summary.errors.total():,}"


def _footnotes(result: BenchResult) -> Iterator[Text]:
    repeats = "One run" if result.repeats == 1 else f"Median of {result.repeats} repeats; TP80: what 80 % of them reach"
    latency = "from the time at which each request was to be sent" if result.kind is Kind.OPEN else "of whole requests"
    yield Text(f"{repeats}. Latency in ms, {latency}. CPU: of the client itself, or of its busiest process.", "dim")
    failed = sum((summary.errors for summary in summaries(result)), Counter[str]())
    if failed:
        yield Text(f"Failed: {', '.join(f'{count:,} x {status}' for status, count in failed.most_common())}", "yellow")
    if limit := limit_of(result):
        yield Text(limit, "bold")
    if not result.valid:
        yield Text(f"INVALID: {result.invalid_reason}", "bold red")


def _size(number: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number:,} byte"


_WIDEST_PLOT = 100
_LONGEST_NAME = 18
_EXPLANATION = """model: share of concurrency x size / latency, with the smallest load's latency
repeats: lowest and highest p99. CPU: of the client. ratio: to the first row"""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the verdict, what is invalid, the tables, and the plots."""
    console.print(verdict(comparison), style="bold")
    for run in comparison.runs:
        if not run.result.valid:
            console.print(f"{run.name} is invalid: {run.result.invalid_reason}", style="yellow")
    console.print()
    if comparison.kind is Kind.SYNC:
        console.print(_stages(comparison))
    else:
        console.print(loads_table(comparison))
        console.print(_EXPLANATION, style="dim")
    if any(run.cost_per_hour is not None for run in comparison.runs):
        console.print(_costs(comparison))
    for plot in plots_of(comparison):
        console.print()
        width, is_ascii = min(console.width, _WIDEST_PLOT), console.options.ascii_only
        console.print(as_text_plot(plot, width, ascii_only=is_ascii), soft_wrap=True, markup=False, highlight=False)


def _table(*columns: str, title: str | None = None) -> Table:
    """Return a table whose first two columns are text, and the others numbers."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    for index, name in enumerate(columns):
        if index == 1:  # names are shortened, so that numbers never are
            table.add_column(name, justify="left", overflow="ellipsis", no_wrap=True, max_width=_LONGEST_NAME)
        else:
            table.add_column(name, justify="right", no_wrap=True)
    return table


def loads_table(comparison: Comparison) -> Table:
    """Return a row for each load of each measurement. A column that would be empty in every row is left out."""
    name = "requests/s" if comparison.kind is Kind.OPEN else "connections"
    columns = (name, "measurement", "Gbit/s", "model", "p99 ms", "repeats", "CPU", "503", "ratio")
    rows = [row for load in comparison.loads for row in _rows_of(comparison, load)]
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    table = _table(*(columns[index] for index in used))
    for row in rows:
        table.add_row(*(row[index] for index in used))
    return table


def _rows_of(comparison: Comparison, load: float) -> Iterator[Sequence[str]]:
    for run in comparison.runs:
        if point := run.at(load):
            ratio = comparison.ratio(run, load)
            yield (
                f"{load:g}",
                run.name,
                f"{point.gbps:.3g}",
                _percent(100 * share_of_model(run.points, point)),
                _number(point.p99_ms),
                _range(point.p99_range_ms),
                _percent(point.cpu_percent),
                _percent(point.throttled_share * 100) if point.throttled_share else "",
                f"{ratio:.2f}" if ratio is not None else "",
            )


def _range(values: tuple[float, float] | None) -> str:
    """Return the lowest and the highest p99 of the repeats, or nothing for a single one."""
    return "-".join(map(_number, values)) if values and values[0] != values[1] else ""


def _stages(comparison: Comparison) -> Table:
    """Return the seconds of each stage (sync), as medians of the repeats."""
    table = _table("stage", "measurement", "seconds", "Gbit/s", "ratio of seconds")
    base = comparison.runs[0]
    for stage in dict.fromkeys(step.stage or "" for step in base.result.steps):
        for run in comparison.runs:
            steps = [step for step in run.result.steps if (step.stage or "") == stage]
            if steps:
                seconds = median(step.seconds for step in steps)
                base_seconds = median(step.seconds for step in base.result.steps if (step.stage or "") == stage)
                ratio = f"{seconds / base_seconds:.2f}" if base_seconds else ""
                table.add_row(stage, run.name, f"{seconds:.3g}", f"{median(step.gbps for step in steps):.3g}", ratio)
    return table


def _costs(comparison: Comparison) -> Table:
    """Return throughput and its cost at the best load, in MB (10^6 bytes) per second, and per US cent of an hour."""
    table = _table(
        "cents/hour", "measurement", "MBps", "TP80 MBps", "MBps/cent", "TP80/cent", title="\nThroughput and cost"
    )
    for run in comparison.runs:
        if run.points and run.cost_per_hour is not None:
            rates = [run.best.gbps * MBPS, run.best.gbps_tp80 * MBPS]
            cents = run.cost_per_hour * 100
            per_cent = [f"{rate / cents:.2f}" if cents else "free" for rate in rates]
            table.add_row(f"{cents:.2f}", run.name, *(f"{rate:.1f}" for rate in rates), *per_cent)
    return table


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} %" if value >= 1 or value == 0 else f"{value:.2f} %"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004  # digits
