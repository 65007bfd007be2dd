"""The charts of a comparison: throughput with the model, p99, and CPU against the load, and answers over time."""

from collections import Counter
from collections.abc import Iterator, Sequence

from express_path_instrument.bench.compare import Comparison, Run
from express_path_instrument.bench.plot import Plot, Series
from express_path_instrument.bench.results import Kind, Step

_OK = "200"


def plots_of(comparison: Comparison) -> list[Plot]:
    """Return the plots of a comparison in a file: by load, unless there is only one, and over time."""
    over_time = list(_statuses(comparison))
    return [*load_plots(comparison), *over_time] or [_throughput(comparison)]


def load_plots(comparison: Comparison) -> list[Plot]:
    """Return the plots by load. A single load has none, because its numbers are in the table."""
    if len(comparison.loads) == 1:
        return []
    return [_throughput(comparison), _tail(comparison), *_processors(comparison)]


def _throughput(comparison: Comparison) -> Plot:
    measured = [
        Series(run.name, tuple((point.load, point.gbps * 1e9) for point in run.points)) for run in comparison.runs
    ]
    models = [_model(run, line) for run, line in zip(comparison.runs, measured, strict=True)]
    # Models of paths that are equally fast at the smallest load would cover each other.
    shown = models[:1] if _are_close(models) else models
    return Plot("Throughput", _x_name(comparison.kind), tuple(comparison.loads), "bit/s", (*shown, *measured))


def _model(run: Run, measured: Series) -> Series:
    """Return concurrency x size / latency, with the latency of the smallest load: what no queue would allow."""
    load, bits = measured.points[0]
    return Series(
        "model: constant latency",
        tuple((point.load, bits * point.load / load) for point in run.points),
        is_model=True,
    )


def _are_close(models: Sequence[Series]) -> bool:
    ends = [line.points[-1][1] / line.points[-1][0] for line in models]
    return max(ends) <= 1.1 * min(ends)


def _tail(comparison: Comparison) -> Plot:
    lines = (
        Series(run.name, tuple((point.load, point.p99_ms / 1e3) for point in run.points if point.p99_ms is not None))
        for run in comparison.runs
    )
    return Plot("p99 latency", _x_name(comparison.kind), tuple(comparison.loads), "s", tuple(lines))


def _processors(comparison: Comparison) -> Iterator[Plot]:
    """Yield the client's use of its processors, if it is known for any measurement."""
    lines = [
        Series(
            run.name, tuple((point.load, point.cpu_percent) for point in run.points if point.cpu_percent is not None)
        )
        for run in comparison.runs
    ]
    shown = tuple(line for line in lines if line.points)
    if shown:
        yield Plot("CPU of the client", _x_name(comparison.kind), tuple(comparison.loads), "%", shown)


def _x_name(kind: Kind) -> str:
    return "requests to start per second" if kind is Kind.OPEN else "connections"


def _statuses(comparison: Comparison) -> Iterator[Plot]:
    """Yield the answers over time of each open measurement, and of each that has failed requests."""
    for run in comparison.runs:
        seconds = _over_time(run.result.steps)
        if seconds and (run.result.kind is Kind.OPEN or any(step.failed for step in run.result.steps)):
            yield _status_plot(run, seconds)


def _status_plot(run: Run, seconds: Sequence[Counter[str]]) -> Plot:
    statuses = sorted({status for counts in seconds for status in counts}, key=lambda status: (status != _OK, status))
    total: Counter[str] = sum(seconds, Counter())
    shown = [
        *[status for status in statuses if status == _OK],
        *[status for status, _ in total.most_common() if status != _OK],
    ]
    lines = tuple(
        Series(status, tuple((float(second), float(counts[status])) for second, counts in enumerate(seconds)))
        for status in shown
    )
    ticks = tuple(float(second) for second in range(0, len(seconds) + 1, max(1, len(seconds) // 10)))
    title = f"Answers per second: {run.name}"
    return Plot(title, "seconds, one step after the other", ticks, "/s", lines, is_stacked=True)


def _over_time(steps: Sequence[Step]) -> list[Counter[str]]:
    """Return the answers in each second of the first repeat; its steps follow each other."""
    first = min((step.repeat for step in steps), default=0)
    seconds: list[Counter[str]] = []
    for step in (step for step in steps if step.repeat == first):
        start = len(seconds)
        length = max((row["second"] for row in step.statuses), default=-1) + 1
        seconds += [Counter() for _ in range(length)]
        for row in step.statuses:
            seconds[start + row["second"]].update(
                {status: number for status, number in row.items() if status != "second"}
            )
    return seconds
