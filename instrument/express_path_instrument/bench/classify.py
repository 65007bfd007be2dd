"""Classify a sweep: what limited throughput while the load grew from step to step."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from statistics import median

from express_path_cli.nat.saturation import SaturationEvidence, ThroughputLimit, classify
from express_path_instrument.bench.repeats import tp80
from express_path_instrument.bench.results import BenchResult, Step

MAX_PLATEAU_SHARE = 0.58
"""On a plateau, the largest load gets at most this share of what it would get if every request were as fast as at the
smallest load. The published NAT gateway reaches 0.39 at 64 connections, its gateway endpoint 0.87."""
MAX_PLATEAU_GROWTH = 0.65
"""On a plateau, throughput grows at most with this power of the load over its last doubling: 1 is linear, 0 is flat."""
MIN_LATENCY_CLIMB = 2.5
"""Latency climbs if p99 or the median grows by at least this factor from the smallest load to the largest."""
MIN_LOAD_RATIO = 2.0
"""If the largest load is less than this many times the smallest, a plateau cannot be distinguished from noise."""


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One load of a sweep, the median of its repeats, and the TP80 of their throughput (the 80th percentile).

    load: connections, or the requests to be started in each second. throughput: requests that succeeded, per second.
    gbps, gbps_tp80: 10^9 bits per second. p50_ms, p99_ms: None if not measured. p99_range_ms: the lowest and highest
    of the repeats. cpu_percent: None if not measured. throttled_share: of all requests of all repeats, 0 to 1.
    """

    load: float
    throughput: float
    gbps: float
    gbps_tp80: float
    p50_ms: float | None
    p99_ms: float | None
    p99_range_ms: tuple[float, float] | None
    cpu_percent: float | None
    throttled_share: float


def load_points(result: BenchResult) -> list[LoadPoint]:
    """Return the loads of a sweep in ascending order. Steps without a load (sync) have no point."""
    by_load: dict[float, list[Step]] = defaultdict(list)
    for step in result.steps:
        load = step.connections if step.rate_per_second is None else step.rate_per_second
        if load:
            by_load[load].append(step)
    return [_point(load, steps) for load, steps in sorted(by_load.items())]


def cause_of(points: Sequence[LoadPoint]) -> ThroughputLimit:
    """Return what limits a sweep at its largest loads; points are in ascending order, at least one."""
    return classify(evidence_of(points))


def evidence_of(points: Sequence[LoadPoint]) -> SaturationEvidence:
    """Return what a sweep shows; points are in ascending order, at least one."""
    best = max(point.throughput for point in points)
    busiest = [
        point.cpu_percent for point in points if point.throughput >= best * 0.9 and point.cpu_percent is not None
    ]
    return SaturationEvidence(
        plateau=_has_plateau(points),
        latency_climbs=_climbs([point.p99_ms for point in points]) or _climbs([point.p50_ms for point in points]),
        client_cpu_percent=median(busiest) if busiest else None,
        throttled_share=max(point.throttled_share for point in points),
    )


def share_of_model(points: Sequence[LoadPoint], point: LoadPoint) -> float:
    """Return the throughput at one of the points as a share of the model: latency stays as it is at the smallest load.

    By Little's law, throughput = concurrency / latency, so with constant latency it grows in proportion to the load.
    """
    modeled = points[0].throughput * point.load / points[0].load
    return point.throughput / modeled if modeled else 0.0


def _has_plateau(points: Sequence[LoadPoint]) -> bool:
    largest = points[-1].load
    if largest < MIN_LOAD_RATIO * points[0].load:
        return False
    return share_of_model(points, points[-1]) <= MAX_PLATEAU_SHARE and _growth(points) <= MAX_PLATEAU_GROWTH


def _growth(points: Sequence[LoadPoint]) -> float:
    """Return the power of the load with which throughput grew over the last doubling of the load, or a bit more."""
    last = points[-1]
    half = max((point for point in points if point.load <= last.load / 2), key=lambda point: point.load)
    if not (last.throughput and half.throughput):
        return 0.0
    return log(last.throughput / half.throughput) / log(last.load / half.load)


def _climbs(latencies: Sequence[float | None]) -> bool:
    known = [latency for latency in latencies if latency is not None]
    return len(known) > 1 and known[-1] >= MIN_LATENCY_CLIMB * known[0] > 0


def _point(load: float, steps: Sequence[Step]) -> LoadPoint:
    p99 = _known(steps, lambda step: step.latency.p99)
    sent = sum(step.requests + step.failed for step in steps)
    return LoadPoint(
        load=load,
        throughput=median(step.requests_per_second for step in steps),
        gbps=median(step.gbps for step in steps),
        gbps_tp80=tp80([step.gbps for step in steps]),
        p50_ms=_median(_known(steps, lambda step: step.latency.p50)),
        p99_ms=_median(p99),
        p99_range_ms=(min(p99), max(p99)) if p99 else None,
        cpu_percent=_median(_known(steps, lambda step: step.cpu_peak_percent)),
        throttled_share=sum(_throttled(step) for step in steps) / sent if sent else 0.0,
    )


def _throttled(step: Step) -> int:
    """Return how many requests were answered with 503 Slow Down, however the engine names that error."""
    return sum(count for error, count in step.errors.items() if error.startswith("503") or error == "SlowDown")


def _known(steps: Sequence[Step], read: Callable[[Step], float | None]) -> list[float]:
    return [value for step in steps if (value := read(step)) is not None]


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
