"""The charts of a comparison: throughput with the model, p99, and CPU against the load, and answers over time."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from express_path_instrument.bench.classify import LoadPoint
from express_path_instrument.bench.compare import Comparison
from express_path_instrument.bench.plot import Plot, PlottedSeries
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
    tail = _by_load(comparison, "p99 latency", "s", lambda point: _seconds(point.latency("p99")))
    cpu = _by_load(comparison, "CPU of the client", "%", lambda point: point.median("cpu_percent"))
    return [_throughput(comparison), *(plot for plot in (tail, cpu) if plot.series)]


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1e3


def _by_load(comparison: Comparison, title: str, unit: str, y_of: Callable[[LoadPoint], float | None]) -> Plot:
    """Return a plot with a line for each measurement, of what is known."""
    lines = (
        PlottedSeries(run.name, tuple((point.load, y) for point in run.points if (y := y_of(point)) is not None))
        for run in comparison.runs
    )
    x_name = "requests to start per second" if comparison.kind is Kind.OPEN else "connections"
    return Plot(title, x_name, tuple(comparison.loads), unit, tuple(line for line in lines if line.points))


def _throughput(comparison: Comparison) -> Plot:
    """Return the plot of throughput, with concurrency x size / latency, as the first path has it at its smallest load."""
    plot = _by_load(comparison, "Throughput", "bit/s", lambda point: point.gbps * 1e9)
    load, bits = plot.series[0].points[0]
    model = PlottedSeries(
        "model: constant latency", tuple((each, bits * each / load) for each in comparison.loads), is_model=True
    )
    return replace(plot, series=(model, *plot.series))


def _statuses(comparison: Comparison) -> Iterator[Plot]:
    """Yield the answers over time of each open measurement, and of each that has failed requests.

    In all of them, each status has the same color, and the axes have the same ends.
    """
    runs = {
        run.name: _over_time(run.result.steps)
        for run in comparison.runs
        if any(step.statuses and (step.failed or run.result.kind is Kind.OPEN) for step in run.result.steps)
    }
    total: Counter[str] = sum((counts for seconds in runs.values() for counts in seconds), Counter())
    statuses = sorted(total, key=lambda status: (status != _OK, -total[status]))
    length = max(map(len, runs.values()), default=0)
    highest = max((counts.total() for seconds in runs.values() for counts in seconds), default=0)
    ticks = tuple(float(second) for second in range(0, length + 1, max(1, length // 10)))
    for name, seconds in runs.items():
        lines = tuple(
            PlottedSeries(
                status, tuple((float(second), float(counts[status])) for second, counts in enumerate(seconds))
            )
            for status in statuses
        )
        title, x_name = f"Answers per second: {name}", "seconds, one step after the other"
        yield Plot(title, x_name, ticks, "/s", lines, is_stacked=True, least_top=highest)


def _over_time(steps: Sequence[Step]) -> list[Counter[str]]:
    """Return the answers in each second of the first repeat; its steps follow each other. Some seconds have none."""
    first = min(step.repeat for step in steps)
    seconds: list[Counter[str]] = []
    for step in (step for step in steps if step.repeat == first):
        answers = step.answers
        length = max([int(step.seconds), *(second + 1 for second in answers)])
        seconds += [answers.get(second, Counter()) for second in range(length)]
    return seconds
