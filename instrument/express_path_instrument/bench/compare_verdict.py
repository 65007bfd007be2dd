"""The one-sentence verdict of a comparison, derived from the measurements only."""

from express_path_cli.nat.saturation import ThroughputLimit
from express_path_cli.terminal.texts import count_text, rate_text, share_text
from express_path_instrument.bench.compare import Comparison, Run, single_run
from express_path_instrument.bench.results import BenchResult, Kind

_NEARLY_EQUAL = 0.1
"""Throughputs that differ by at most this share are called about the same: repeats differ as much."""


def verdict(comparison: Comparison) -> str:
    """Return one sentence: what limits each measurement, and how they differ at the largest load that all measured."""
    if comparison.kind is Kind.SYNC:
        return _stages(comparison)
    limits = [_limit(run) for run in comparison.runs]
    sentence = ", and ".join([", ".join(limits[:-1]), limits[-1]])
    load = comparison.largest_shared_load
    if load is None:
        return f"{sentence}; no load was measured in all of them."
    return f"{sentence}; {_difference(comparison, load)}."


def limit_of(result: BenchResult) -> str:
    """Return one sentence about one measurement: what limits it. Return an empty text if it has no steps of load."""
    run = single_run(result)
    return f"{_limit(run)}." if run.points else ""


def load_name(kind: Kind, load: float) -> str:
    """Return a load in words, such as 64 connections."""
    if kind is Kind.OPEN:
        return f"{load:,g} requests/s"
    return count_text(load, "connection")


def _limit(run: Run) -> str:
    best = run.best
    speed = rate_text(best.gbps * 1e9, "bit/s")
    if run.cause is ThroughputLimit.THROTTLED:
        return f"{run.name} is throttled (503 for {share_text(max(point.throttled_share for point in run.points))} of requests)"
    if run.cause is ThroughputLimit.CLIENT_BOUND:
        return f"{run.name} is client-bound at {speed} ({best.cpu_percent or 0:.0f} % of the client's CPU)"
    if run.cause is ThroughputLimit.PATH_CEILING:
        cpu = max(point.cpu_percent or 0 for point in run.points)
        return f"{run.name} has a path ceiling of {speed} ({_climb(run)}at most {cpu:.0f} % of the client's CPU)"
    if run.cause is ThroughputLimit.UNDETERMINED:
        return f"{run.name} stays flat at {speed}, because of the path or the client ({_climb(run)}CPU unknown)"
    return f"{run.name} is not saturated at {load_name(run.result.kind, run.points[-1].load)} ({speed})"


def _climb(run: Run) -> str:
    first, last = run.points[0].p99_ms, run.points[-1].p99_ms
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


def _stages(comparison: Comparison) -> str:
    """Return the sentence for measurements in stages: how long all stages took together."""
    totals = [(run, total_seconds(run)) for run in comparison.runs]
    base, seconds = totals[0]
    others = [
        f"{run.name} takes {total:.3g} s, {total / seconds:.3g} times as long" for run, total in totals[1:] if seconds
    ]
    return f"{base.name} takes {seconds:.3g} s for all stages, and {', and '.join(others)}."


def total_seconds(run: Run) -> float:
    """Return the seconds that all stages took, on average over the repeats."""
    return sum(step.seconds for step in run.result.steps) / max(run.result.repeats, 1)


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"  # noqa: PLR2004  # three digits are enough
