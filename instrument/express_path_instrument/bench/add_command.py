"""express-path bench add: one result of what several machines measured at the same time."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from hdrh.histogram import HdrHistogram
from msgspec.structs import replace

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench import options as shared
from express_path_instrument.bench.results import BenchResult, Step, latency_of
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.bench.steps import rows_of

EXAMPLES = """
express-path bench add machine-1.json machine-2.json --output both.json  # then compare both.json with others
"""
MOST_LATE = 0.1
"""How much later than the first machine another one may begin a step, as a share of the step."""
_SUMS = ("requests", "bytes", "gbps", "requests_per_second", "connections", "rate_per_second", "unfinished", "unsent")
_HIGHEST = (
    "seconds",
    "cpu_percent",
    "other_cpu_percent",
    "peak_cpu_percent",
    "oldest_unfinished_ms",
    "hangs",
    "lag_p99_ms",
    "server_p99_ms",
)

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="The files that bench get, put, or open wrote with --output, one of each machine."
    ),
]


def bench_add(*, files: Files, output: shared.Output = None) -> None:
    """Add what several machines measured into one result.

    Start the same command on machines of one type at the same time, with long steps. Requests, connections, and rates are
    added. Percentiles are those of all requests together, from the histograms in the files; of CPU, lag, and server
    latency, the highest counts. Steps that began more than a tenth of
    their length apart are refused.
    """
    shared.show([add([read_bench(file) for file in files])], output)


def add(results: Sequence[BenchResult]) -> BenchResult:
    """Return one result for all. Raise OptionError if they did not measure the same at the same time."""
    first = results[0]
    if any(_measured(other) != _measured(first) for other in results):
        raise OptionError(
            "the machines, their paths, their buckets, or their steps are not alike",
            "run the same command on machines of one type in one subnet",
        )
    return replace(
        first,
        client=replace(first.client, machines=len(results)),
        steps=tuple(map(_added, zip(*(result.steps for result in results), strict=True))),
        invalid_reason=next((result.invalid_reason for result in results if not result.valid), ""),
    )


def _measured(result: BenchResult) -> tuple[object, ...]:
    """Return what must be the same on all machines."""
    steps = [(step.repeat, step.connections, step.rate_per_second) for step in result.steps]
    return result.kind, result.path, result.client, result.target, result.object_bytes, steps


def _added(steps: tuple[Step, ...]) -> Step:
    """Return a step for those that several machines measured at the same time."""
    starts = [step.started_at for step in steps if step.started_at]
    if len(starts) < len(steps):
        raise OptionError("a file has no times and histograms, which older versions did not write", "measure again")
    numbers: dict[str, Any] = {name: _joined(sum, steps, name) for name in _SUMS}
    numbers |= {name: _joined(max, steps, name) for name in _HIGHEST}
    first, seconds = min(starts), numbers["seconds"]
    late = (max(starts) - first).total_seconds()
    if late > MOST_LATE * seconds:
        raise OptionError(
            f"the machines began a step of {seconds:g} s up to {late:g} s apart",
            "start all machines at the same time, or measure longer steps",
        )
    total = HdrHistogram.decode(steps[0].latency_histogram)
    statuses = Counter[tuple[int, str]]()
    for step, start in zip(steps, starts, strict=True):
        if step is not steps[0]:
            total.add(HdrHistogram.decode(step.latency_histogram))
        for second, counts in step.answers.items():
            since = second + (start - first).seconds
            statuses.update({(since, status): number for status, number in counts.items()})
    return replace(
        steps[0],
        **numbers,
        started_at=first,
        latency=latency_of(total),
        latency_histogram=total.encode().decode("ascii"),
        errors=sum((Counter(step.errors) for step in steps), Counter()),
        statuses=rows_of(statuses),
    )


def _joined(join: Any, steps: Sequence[Step], name: str) -> Any:  # noqa: ANN401  # any number
    """Return the values of a field as one, or None if no step has it."""
    known = [value for step in steps if (value := getattr(step, name)) is not None]
    return join(known) if known else None
