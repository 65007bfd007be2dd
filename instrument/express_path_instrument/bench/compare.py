"""Compare measurements: which of them is limited by what, and how much more the others carry."""

from collections.abc import Sequence
from dataclasses import dataclass

from express_path_cli.nat.saturation import ThroughputLimit
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.classify import LoadPoint, cause_of, load_points
from express_path_instrument.bench.plot import PENS
from express_path_instrument.bench.results import BenchResult, Kind

FEWEST = 2
"""How many measurements a comparison needs. It has a pen for at most len(PENS)."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: what charts call it, its loads in ascending order, and what limits it.

    cause is None for a measurement without loads (sync). cost_per_hour: of what the path costs, in US dollars, or None.
    """

    name: str
    result: BenchResult
    points: tuple[LoadPoint, ...]
    cause: ThroughputLimit | None
    cost_per_hour: float | None = None

    @property
    def best(self) -> LoadPoint:
        """The load with the highest median throughput."""
        return max(self.points, key=lambda point: point.throughput)

    def at(self, load: float) -> LoadPoint | None:
        """Return the point of a load, or None."""
        return next((point for point in self.points if point.load == load), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Measurements to compare, the first of which is the base of all ratios."""

    runs: tuple[Run, ...]

    @property
    def kind(self) -> Kind:
        """What all of them measured."""
        return self.runs[0].result.kind

    @property
    def loads(self) -> list[float]:
        """All loads that were measured in any of them, in ascending order."""
        return sorted({point.load for run in self.runs for point in run.points})

    @property
    def largest_shared_load(self) -> float | None:
        """The largest load that all of them measured, or None."""
        shared = set.intersection(*({point.load for point in run.points} for run in self.runs))
        return max(shared, default=None)

    def ratio(self, run: Run, load: float) -> float | None:
        """Return a run's throughput at a load as a multiple of the first run's; None if either is missing."""
        base, point = self.runs[0].at(load), run.at(load)
        return point.throughput / base.throughput if base and point and base.throughput else None


def single_run(result: BenchResult) -> Run:
    """Return one measurement, with what limits it."""
    return _run(result.label or "this path", result, None)


def compare(results: Sequence[BenchResult], costs: Sequence[float] = ()) -> Comparison:
    """Return the comparison of two to four measurements; costs are in their order, or empty.

    Raise OptionError if they did not measure the same.
    """
    if not FEWEST <= len(results) <= len(PENS):
        raise OptionError(
            f"{len(results)} measurements were given",
            f"give {FEWEST} to {len(PENS)} files that express-path bench wrote",
        )
    if costs and len(costs) != len(results):
        raise OptionError(
            f"--cost-per-hour was given {len(costs)} times for {len(results)} measurements",
            "give it once for each file, in the order of the files",
        )
    _check_alike(results)
    cost_of_each: Sequence[float | None] = costs or [None] * len(results)
    return Comparison(tuple(map(_run, _names(results), results, cost_of_each)))


def _run(name: str, result: BenchResult, cost: float | None) -> Run:
    points = tuple(load_points(result))
    return Run(name, result, points, cause_of(points) if points else None, cost)


def _check_alike(results: Sequence[BenchResult]) -> None:
    for result in results:
        if not result.steps:
            reason = f" ({result.invalid_reason})" if result.invalid_reason else ""
            raise OptionError(f"the measurement {result.label!r} has no steps{reason}", "measure again")
    kinds = {str(result.kind) for result in results}
    if len(kinds) > 1:
        raise OptionError(
            f"the measurements are of different kinds: {', '.join(sorted(kinds))}", "compare files of one subcommand"
        )
    sizes = {result.object_bytes for result in results}
    if len(sizes) > 1:
        raise OptionError(
            f"the measurements used objects of different sizes: {', '.join(map(str, sorted(sizes)))} bytes",
            "measure again with the same --size",
        )


def _names(results: Sequence[BenchResult]) -> list[str]:
    """Return the labels, each with its position if a label is empty or occurs twice."""
    labels = [result.label or "run" for result in results]
    return [
        label if labels.count(label) == 1 and result.label else f"{label} {position}"
        for position, (label, result) in enumerate(zip(labels, results, strict=True), start=1)
    ]
