"""Classify a sweep: what limited throughput while the load grew from step to step."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, log, pi, sqrt
from operator import attrgetter
from statistics import fmean, median

from express_path_cli.nat.saturation import Growth, SaturationEvidence, ThroughputLimit, classify, limits
from express_path_instrument.bench.results import BenchResult, Step

FLAT_GROWTH = 0.3
"""Flat throughput grows at most with this power of the load over its last doubling: 1 is linear, 0 is flat."""
LINEAR_SHARE = 0.94
"""Throughput is called linear only if a request at the largest load gets at least this share of what it gets at loads up
to half of it: a limit at 60 of 64 connections leaves 0.9375."""
MOST_NOISE = 0.25
"""Throughput is called linear only if noise could hide at most this share of it."""
CERTAINTY = 3.5
"""How many standard errors make it certain."""
LEAST_NOISE = 0.015
"""How much throughput differs by chance at least, as a share."""
_NEARLY_BEST = 0.9
"""Loads with at least this share of the best throughput show how busy the processors are at the limit."""
MIN_LOAD_RATIO = 2.0
"""If the largest load is less than this many times the smallest, growth cannot be distinguished from noise."""


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One load of a sweep, and its steps, of which there is one in each repeat: what they have in common are medians.

    load: connections, or the requests to be started in each second.
    """

    load: float
    steps: tuple[Step, ...]

    def median(self, name: str) -> float | None:
        """Return the median of a field, such as cpu_percent, or None if no repeat has it."""
        return _median(self.steps, attrgetter(name))

    def latency(self, percentile: str) -> float | None:
        """Return the median of a percentile of the latency, such as p99, in ms."""
        return self.median(f"latency.{percentile}")

    @property
    def repeats(self) -> list[float]:
        """The throughput of each repeat: requests that succeeded, per second."""
        return [step.requests_per_second for step in self.steps]

    @property
    def throughput(self) -> float:
        """Their median."""
        return median(self.repeats)

    @property
    def mean(self) -> float:
        """Their mean, which varies less than the median."""
        return fmean(self.repeats)

    @property
    def gbps(self) -> float:
        """The median of the throughput in Gbit/s."""
        return median(step.gbps for step in self.steps)

    @property
    def requests(self) -> int:
        """All requests that were sent, in all repeats."""
        return sum(step.requests + step.failed + step.unfinished for step in self.steps)

    @property
    def errors(self) -> Counter[str]:
        """Failed requests of all repeats by status."""
        return sum((Counter(step.errors) for step in self.steps), Counter())

    @property
    def throttled(self) -> int:
        """How many requests were answered with 503 Slow Down."""
        return self.errors["503"]

    @property
    def throttled_share(self) -> float:
        """The share of 503 answers, 0 to 1."""
        return self.throttled / self.requests if self.requests else 0.0

    @property
    def timed_out(self) -> int:
        """How many requests timed out."""
        return self.errors["timed out"]


def load_points(result: BenchResult) -> list[LoadPoint]:
    """Return the loads of a sweep in ascending order."""
    by_load: dict[float, list[Step]] = defaultdict(list)
    for step in result.steps:
        by_load[step.rate_per_second or step.connections or 0].append(step)
    return [LoadPoint(load, tuple(steps)) for load, steps in sorted(by_load.items())]


def cause_of(points: Sequence[LoadPoint]) -> ThroughputLimit:
    """Return what limits a sweep at its largest loads; points are in ascending order, at least one."""
    return classify(evidence_of(points))


def evidence_of(points: Sequence[LoadPoint]) -> SaturationEvidence:
    """Return what a sweep shows; points are in ascending order, at least one."""
    best = max(point.throughput for point in points)
    fastest = [point for point in points if point.throughput >= best * _NEARLY_BEST]
    steps = [step for point in fastest for step in point.steps]
    return SaturationEvidence(
        growth=growth_of(points),
        client_cpu_percent=_median(steps, attrgetter("cpu_percent")),
        other_cpu_percent=_median(steps, attrgetter("other_cpu_percent")) or 0.0,
        throttled=any(limits(point.throttled, point.requests) for point in points),
        hanging=any(
            any(step.hangs for step in point.steps) or limits(point.timed_out, point.requests) for point in points
        ),
    )


def share_of_model(points: Sequence[LoadPoint], point: LoadPoint) -> float:
    """Return the throughput at one of the points as a share of the model: latency stays as it is at the smallest load.

    By Little's law, throughput = concurrency / latency, so with constant latency it grows in proportion to the load.
    """
    modeled = points[0].throughput * point.load / points[0].load
    return point.throughput / modeled if modeled else 0.0


def growth_of(points: Sequence[LoadPoint]) -> Growth | None:
    """Return how throughput grows up to the largest load; None if the loads are too few or too alike to show it."""
    last = points[-1]
    lower = [point for point in points if point.load * MIN_LOAD_RATIO <= last.load]
    if not lower:
        return None
    half = lower[-1]
    best = max(last.repeats)  # one slow repeat is no limit
    if not (best and half.mean) or log(best / half.mean) <= FLAT_GROWTH * log(last.load / half.load):
        return Growth.FLAT
    each = [point.mean / point.load for point in lower]  # what one request gets
    # The error of a median is sqrt(pi / 2) times that of a mean.
    parts = 1 / len(last.repeats) + pi / 2 / sum(len(point.repeats) for point in lower)
    repeats = [point.repeats for point in points if len(point.repeats) > 1]
    hidden = CERTAINTY * _noise(repeats or [each]) * sqrt(parts)
    share = last.mean / last.load / median(each)
    if share + hidden < 1:
        return Growth.BENDING
    return Growth.LINEAR if share >= LINEAR_SHARE and hidden <= MOST_NOISE else Growth.NOISY


def _noise(groups: Iterable[Sequence[float]]) -> float:
    """Return the standard deviation of numbers that would be equal in each group without noise, as a share of them.

    It is raised if there are few numbers, which may be alike by chance, and infinite for two of them.
    """
    several = [(group, fmean(group)) for group in groups if len(group) > 1 and any(group)]
    squares = sum((value / mean - 1) ** 2 for group, mean in several for value in group)
    freedom = sum(len(group) - 1 for group, _ in several)
    return max(LEAST_NOISE, sqrt(squares / freedom) * freedom / (freedom - 1)) if freedom > 1 else inf


def _median(steps: Iterable[Step], read: Callable[[Step], float | None]) -> float | None:
    known = [value for step in steps if (value := read(step)) is not None]
    return median(known) if known else None
