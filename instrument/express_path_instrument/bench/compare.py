"""Compare measurements: which of them is limited by what, and how much more the others carry, in words and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import sqrt
from operator import itemgetter
from statistics import fmean, stdev
from typing import Any

from express_path_cli.nat.saturation import Growth, ThroughputLimit
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.texts import count_text, rate_text, share_text
from express_path_instrument.bench.classify import (
    CERTAINTY,
    LEAST_NOISE,
    MIN_LOAD_RATIO,
    LoadPoint,
    cause_of,
    evidence_of,
    load_points,
    share_of_model,
)
from express_path_instrument.bench.results import SCHEMA_VERSION, BenchResult, Client, Kind, Target

LEAST_TURNS = 3
"""How often the path must change between measurements: A B A B."""
DISAGREEMENT = 1.5
"""From this ratio on, repeats of one load disagree."""
OTHER_PATH_RATIO = 1.25
"""From this ratio of throughputs on, a path carries more than another one, beyond what repeats differ."""
_NEARLY_EQUAL = 0.1
"""Throughputs that differ by at most this share are called about the same: repeats differ as much."""
_KEEPS_UP = 0.95
"""From this share of its rate on, an open loop keeps up."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: its name, its loads in ascending order, and what limits it."""

    name: str
    result: BenchResult
    points: tuple[LoadPoint, ...]
    cause: ThroughputLimit

    @property
    def source(self) -> tuple[Client, Target]:
        """What sent the requests, and where to."""
        return self.result.client, self.result.target

    @property
    def way(self) -> tuple[str, tuple[str, ...]] | None:
        """What tells its path from others, or None if it is unknown."""
        path = self.result.path
        return (path.verdict, path.hops) if path else None

    @property
    def best(self) -> LoadPoint:
        """The load with the highest median throughput."""
        return max(self.points, key=lambda point: point.throughput)

    def at(self, load: float) -> LoadPoint | None:
        """Return the point of a load, or None."""
        return next((point for point in self.points if point.load == load), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One or more measurements, the first of which is the base of all ratios."""

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


def compare(results: Mapping[str, BenchResult]) -> Comparison:
    """Return the comparison of measurements by their names. Raise OptionError if they did not measure the same."""
    _check_alike(results)
    points = {name: tuple(load_points(result)) for name, result in results.items()}
    runs = tuple(Run(name, result, points[name], cause_of(points[name])) for name, result in results.items())
    return Comparison(tuple(replace(run, cause=_cause_beside(run, runs)) for run in runs))


def _cause_beside(run: Run, runs: Sequence[Run]) -> ThroughputLimit:
    """Return what limits a run, if the others are known.

    It is its path if another path carried more in each turn of A B A B: whatever else changes meanwhile, such as a busy
    server, a service that scales, or credits of the instance that are spent, does not change in these turns.
    """
    if run.cause is not ThroughputLimit.CEILING or not run.way:
        return run.cause
    alike = sorted((other for other in runs if other.source == run.source), key=lambda other: other.result.made_at)
    for way in {other.way for other in alike} - {run.way, None}:
        turns = [other for other in alike if other.way in (run.way, way)]
        slow = [other for other in turns if other.way == run.way]
        is_ceiling = all(other.cause is ThroughputLimit.CEILING for other in slow)
        changes = sum(before.way != after.way for before, after in pairwise(turns))
        if (
            is_ceiling
            and changes >= LEAST_TURNS
            and all(_carries_more(other, one) for other in turns if other.way == way for one in slow)
        ):
            return ThroughputLimit.PATH_CEILING
    return run.cause


def _carries_more(other: Run, run: Run) -> bool:
    """Return whether a run certainly got more than another one, at the loads at which the other one is flat."""
    flat = [point for point in run.points if point.load * MIN_LOAD_RATIO >= run.points[-1].load]
    pairs = [(point, more) for point in flat if (more := other.at(point.load))]
    repeats = [value for point, _ in pairs for value in point.repeats]
    if not (other.result.valid and any(repeats) and len(repeats) > 1):
        return False
    error = max(LEAST_NOISE, stdev(repeats) / fmean(repeats)) * sqrt(2 / len(repeats))
    ratio = fmean(more.mean for _, more in pairs) / fmean(point.mean for point, _ in pairs)
    return ratio * (1 - CERTAINTY * error) >= OTHER_PATH_RATIO


def _check_alike(results: Mapping[str, BenchResult]) -> None:
    measured = sorted({f"{result.kind} of {result.object_bytes} bytes" for result in results.values()})
    if len(measured) > 1:
        raise OptionError(
            f"the measurements are of different kinds or sizes: {', '.join(measured)}",
            "compare files of one subcommand with the same --size",
        )


def verdict(comparison: Comparison) -> str:
    """Return one sentence: what limits each measurement, and how they differ at the largest load that all measured."""
    runs = comparison.runs
    *limits, last = [_limit(run) for run in runs]
    if not limits:
        return f"{last}."
    sentence = f"{', '.join(limits)}, and {last}"
    for one, other in combinations(runs, 2):
        is_same = one.way and (one.way, one.source) == (other.way, other.source)
        if is_same and (_carries_more(one, other) or _carries_more(other, one)):
            sentence += f"; {one.name} and {other.name} disagree about one path, so something else changed meanwhile"
    load = comparison.largest_shared_load
    if load is None:
        return f"{sentence}; no load was measured in all of them."
    return f"{sentence}; {_difference(comparison, load)}."


def load_name(kind: Kind, load: float) -> str:
    """Return a load in words, such as 64 connections."""
    if kind is Kind.OPEN:
        return f"{load:,g} requests/s"
    return count_text(load, "connection")


_OTHER_CAUSES = (
    "the path, the network of the instance, the server, or a quota: measure a second path to the same bucket with the "
    "same client in turns, such as A B A B, and compare"
)


def _limit(run: Run) -> str:
    """Return what limits a run: first what an open loop did not achieve, last the timeouts, if there are any."""
    text = f"{run.name} {_behind(run)}{_LIMITS[run.cause](run)}"
    timed_out = sum(point.timed_out for point in run.points)
    if timed_out and run.cause is not ThroughputLimit.HANGING:
        text += f", with {count_text(timed_out, 'timeout')}"
    spread, point = max(
        ((max(point.repeats) / (min(point.repeats) or 1), point) for point in run.points), key=itemgetter(0)
    )
    if spread >= DISAGREEMENT:
        text += f", although repeats at {load_name(run.result.kind, point.load)} differ by a factor of {spread:.1f}"
    return text


def _behind(run: Run) -> str:
    """Return which rate an open loop did not achieve, if there is one."""
    if run.result.kind is not Kind.OPEN:
        return ""
    late = next((point for point in run.points if point.throughput < _KEEPS_UP * point.load), None)
    if late is None:
        return ""
    steps = [step for step in run.result.steps if step.rate_per_second == late.load]
    lags = [step.lag_p99_ms for step in steps if step.lag_p99_ms is not None]
    served = [step.server_p99_ms for step in steps if step.server_p99_ms is not None]
    parts = f" (p99: sent {_ms(max(lags))} late, answered in {_ms(max(served))})" if lags and served else ""
    if unsent := sum(step.unsent for step in steps):
        parts += f", never sent {count_text(unsent, 'request')},"
    return f"achieves {late.throughput:,.0f} of {late.load:,g} requests/s{parts} and "


def _unanswered(run: Run) -> str:
    steps = run.result.steps
    hanging = sum(step.unfinished for step in steps if step.hangs)
    oldest = max((step.oldest_unfinished_ms or 0 for step in steps), default=0)
    parts = [f"{count_text(hanging, 'request')} open for up to {_ms(oldest)}"] if hanging else []
    timed_out = sum(point.timed_out for point in run.points)
    parts += [count_text(timed_out, "timeout")] if timed_out else []
    return f"has requests without an answer ({' and '.join(parts)}), so nothing else is known"


def _undetermined(run: Run) -> str:
    """Return why nothing is known about the limit."""
    if len(run.points) == 1:
        return f"reaches {_speed(run)} at {load_name(run.result.kind, run.best.load)}; one load shows no limit"
    evidence = evidence_of(run.points)
    if evidence.growth is None:
        return f"reaches {_speed(run)}; the loads are too alike to show a limit"
    if evidence.growth is Growth.NOISY:
        return f"reaches {_speed(run)}; noise hides whether it starts to flatten: measure with more repeats"
    shape = "stays flat" if evidence.growth is Growth.FLAT else "starts to flatten"
    cpu, other = evidence.client_cpu_percent, evidence.other_cpu_percent
    if cpu is None:
        return f"{shape} at {_speed(run)}, because of the path or the client ({_climb(run)}CPU unknown)"
    noise = f", and other work {other:.0f} % of all CPUs" if other >= 1 else ""
    return f"{shape} at {_speed(run)}, but the client uses {cpu:.0f} % of its CPU{noise}, so it may be the limit"


_LIMITS: Mapping[ThroughputLimit, Callable[[Run], str]] = {
    ThroughputLimit.HANGING: _unanswered,
    ThroughputLimit.THROTTLED: lambda run: (
        f"is throttled (503 for {share_text(max(point.throttled_share for point in run.points))} of requests)"
    ),
    ThroughputLimit.CLIENT_BOUND: lambda run: f"is client-bound at {_speed(run)} ({_cpu(run)})",
    ThroughputLimit.PATH_CEILING: lambda run: f"has a path ceiling of {_speed(run)} ({_climb(run)}{_cpu(run)})",
    ThroughputLimit.CEILING: lambda run: (
        f"has a ceiling of {_speed(run)} ({_climb(run)}{_cpu(run)}), because of {_OTHER_CAUSES}"
    ),
    ThroughputLimit.FLATTENING: lambda run: (
        f"starts to flatten at {load_name(run.result.kind, run.points[-1].load)} ({_speed(run)}): measure with more"
    ),
    ThroughputLimit.UNDETERMINED: _undetermined,
    ThroughputLimit.NOT_SATURATED: lambda run: (
        f"is not saturated at {load_name(run.result.kind, run.points[-1].load)} ({_speed(run)})"
    ),
}
"""What limits a run, in words that follow its name."""


def _speed(run: Run) -> str:
    return rate_text(run.best.gbps * 1e9, "bit/s")


def _cpu(run: Run) -> str:
    known = [cpu for point in run.points if (cpu := point.median("cpu_percent")) is not None]
    return f"at most {max(known):.0f} % of the client's CPU" if known else "CPU unknown"


def _climb(run: Run) -> str:
    first, last = run.points[0].latency("p99"), run.points[-1].latency("p99")
    return f"p99 goes from {_ms(first)} to {_ms(last)}, " if first is not None and last is not None else ""


def _difference(comparison: Comparison, load: float) -> str:
    base = comparison.runs[0]
    ratios = [(run, comparison.ratio(run, load)) for run in comparison.runs[1:]]
    parts = [f"{run.name} has {_times(ratio)} {base.name}" for run, ratio in ratios if ratio is not None]
    return f"at {load_name(comparison.kind, load)}, {' and '.join(parts) or f'{base.name} has no throughput'}"


def _times(ratio: float) -> str:
    if abs(ratio - 1) <= _NEARLY_EQUAL:
        return "about the same throughput as"
    return f"{ratio:.3g} times the throughput of"


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"  # noqa: PLR2004  # three digits are enough


def as_comparison_json(comparison: Comparison) -> str:
    """Return the verdict, and for each measurement its cause and points; ratios are to the first one."""
    document = {
        "kind": comparison.kind,
        "verdict": verdict(comparison),
        "runs": [_run_json(comparison, run) for run in comparison.runs],
    }
    return json_document(SCHEMA_VERSION, document)


def _run_json(comparison: Comparison, run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "cause": run.cause,
        "valid": run.result.valid,
        "points": [_point_json(comparison, run, point) for point in run.points],
    }


def _point_json(comparison: Comparison, run: Run, point: LoadPoint) -> dict[str, Any]:
    return {
        "load": point.load,
        "gbps": point.gbps,
        "requestsPerSecond": point.throughput,
        "shareOfModel": round(share_of_model(run.points, point), 3),
        "p50Ms": point.latency("p50"),
        "p99Ms": point.latency("p99"),
        "cpuPercent": point.median("cpu_percent"),
        "peakCpuPercent": point.median("peak_cpu_percent"),
        "throttledShare": point.throttled_share,
        "ratio": comparison.ratio(run, point.load),
    }
