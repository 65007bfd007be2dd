"""A measurement as a table for the terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from express_path_instrument.bench.compare import limit_of
from express_path_instrument.bench.repeats import Summary, summaries
from express_path_instrument.bench.results import BenchResult, Kind

_FIRST_COLUMN = {Kind.GET: "Connections", Kind.PUT: "Connections", Kind.OPEN: "Requests/s", Kind.SYNC: "Stage"}
_PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}


def as_bench_table(result: BenchResult) -> RenderableType:
    """Return a line for each step, with the median of all repeats, and what the columns mean."""
    has_errors = any(step.errors for step in result.steps)
    table = Table(title=_title(result), title_justify="left", title_style="bold")
    table.add_column(
        _FIRST_COLUMN[result.kind],
        justify="left" if result.kind is Kind.SYNC else "right",
        min_width=24 if result.kind is Kind.SYNC else None,
    )
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
        yield f"{summary.seconds:,.2f}"
    else:
        yield f"{step.rate_per_second:g}" if step.rate_per_second else str(step.connections)
    yield f"{summary.gbps:,.3f}"
    if with_tp80:
        yield f"{summary.gbps_tp80:,.3f}"
    yield f"{summary.requests_per_second:,.1f}"
    for percentile in _PERCENTILES:
        latency = summary.latency(percentile)
        yield "-" if latency is None else f"{latency:,.1f}"
    yield "-" if summary.cpu_percent is None else f"{summary.cpu_percent:.0f}"
    if with_errors:
        yield ", ".join(f"{count:,} x {status}" for status, count in summary.errors.items()) or "0"


def _footnotes(result: BenchResult) -> Iterator[Text]:
    repeats = "One run" if result.repeats == 1 else f"Median of {result.repeats} repeats; TP80: what 80 % of them reach"
    latency = "from the time at which each request was to be sent" if result.kind is Kind.OPEN else "of whole requests"
    yield Text(f"{repeats}. Latency in ms, {latency}. CPU: of the client itself, or of its busiest process.", "dim")
    if limit := limit_of(result):
        yield Text(limit, "bold")
    if not result.valid:
        yield Text(f"INVALID: {result.invalid_reason}", "bold red")


def _size(number: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number:,} byte"
