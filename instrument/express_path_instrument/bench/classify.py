"""Classify a sweep: what limited throughput while the load grew from step to step."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, log, pi, sqrt
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
    """One load of a sweep, the median of its repeats.

    load: connections, or the requests to be started in each second. throughput: requests that succeeded, per second.
    repeats: that of each. gbps: 10^9 bits per second. p50_ms, p99_ms: None if not measured. p99_range_ms: the
    lowest and highest of the repeats. cpu_percent, other_cpu_percent: as in Step. requests, throttled, timed_out:
    numbers of all requests, of 503 answers, and of timeouts, in all repeats. hangs: a step has a request that hangs.
    """

    load: float
    throughput: float
    repeats: tuple[float, ...]
    gbps: float
    p50_ms: float | None
    p99_ms: float | None
    p99_range_ms: tuple[float, float] | None
    cpu_percent: float | None
    other_cpu_percent: float
    requests: int
    throttled: int
    timed_out: int
    hangs: bool

    @property
    def throttled_share(self) -> float:
        """The share of 503 answers, 0 to 1."""
        return self.throttled / self.requests if self.requests else 0.0

    @property
    def mean(self) -> float:
        """The mean throughput of the repeats, which varies less than the median."""
        return fmean(self.repeats)


def load_points(result: BenchResult) -> list[LoadPoint]:
    """Return the loads of a sweep in ascending order."""
    by_load: dict[float, list[Step]] = defaultdict(list)
    for step in result.steps:
        by_load[step.rate_per_second or step.connections or 0].append(step)
    return [_point(load, steps) for load, steps in sorted(by_load.items())]


def cause_of(points: Sequence[LoadPoint]) -> ThroughputLimit:
    """Return what limits a sweep at its largest loads; points are in ascending order, at least one."""
    return classify(evidence_of(points))


def evidence_of(points: Sequence[LoadPoint]) -> SaturationEvidence:
    """Return what a sweep shows; points are in ascending order, at least one."""
    best = max(point.throughput for point in points)
    fastest = [point for point in points if point.throughput >= best * _NEARLY_BEST]
    known = [point.cpu_percent for point in fastest if point.cpu_percent is not None]
    return SaturationEvidence(
        growth=growth_of(points),
        client_cpu_percent=median(known) if known else None,
        other_cpu_percent=median(point.other_cpu_percent for point in fastest),
        throttled=any(limits(point.throttled, point.requests) for point in points),
        hanging=any(point.hangs or limits(point.timed_out, point.requests) for point in points),
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


def _point(load: float, steps: Sequence[Step]) -> LoadPoint:
    p99 = _known(steps, lambda step: step.latency.p99)
    return LoadPoint(
        load=load,
        throughput=median(step.requests_per_second for step in steps),
        repeats=tuple(step.requests_per_second for step in steps),
        gbps=median(step.gbps for step in steps),
        p50_ms=_median(_known(steps, lambda step: step.latency.p50)),
        p99_ms=_median(p99),
        p99_range_ms=(min(p99), max(p99)) if p99 else None,
        cpu_percent=_median(_known(steps, lambda step: step.cpu_percent)),
        other_cpu_percent=_median(_known(steps, lambda step: step.other_cpu_percent)) or 0.0,
        requests=sum(step.requests + step.failed + step.unfinished for step in steps),
        throttled=sum(_throttled(step) for step in steps),
        timed_out=sum(step.errors.get("timed out", 0) for step in steps),
        hangs=any(step.hangs for step in steps),
    )


def _throttled(step: Step) -> int:
    """Return how many requests were answered with 503 Slow Down, also in an answer to CopyObject with the status 200."""
    return sum(count for error, count in step.errors.items() if error in {"503", "SlowDown"})


def _known(steps: Sequence[Step], read: Callable[[Step], float | None]) -> list[float]:
    return [value for step in steps if (value := read(step)) is not None]


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
