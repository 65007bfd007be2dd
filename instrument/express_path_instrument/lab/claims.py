"""What the lab must show, and whether its measurements show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from express_path_cli.nat.saturation import ThroughputLimit
from express_path_instrument.bench.classify import LoadPoint
from express_path_instrument.bench.compare import Comparison, Run
from express_path_instrument.bench.results import Step

FLAT_FROM = 48
"""The NAT's path is at its limit from this number of connections on: 0.45 of 64 is 29, and at 32, noise still decides."""
FLAT_TOLERANCE = 0.15
"""How much the throughput of a flat path differs from its limit at most, as a share of the limit."""
MIN_TAIL_RATIO = 1.5
"""How much the p99 of the NAT's path grows at least. At the limit, latency is connections x size / limit."""
MIN_PATH_RATIO = 2.0
MAX_DEVIATION = 0.1
"""How much throughput differs at most between repeats, and between a NAT without a limit and the endpoint."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim, the number that was measured, in words, and whether it holds."""

    text: str
    measured: str
    holds: bool


def claims(comparison: Comparison, nat_bits_per_second: float) -> Iterator[Claim]:
    """Yield the claims about a comparison of the NAT's path, the endpoint's, and the NAT's without a limit."""
    nat, endpoint, control = comparison.runs
    flat = [point.gbps * 1e9 / nat_bits_per_second for point in nat.points if point.load >= FLAT_FROM]
    yield Claim(
        f"The NAT's path is flat at its limit from {FLAT_FROM} connections on",
        f"{min(flat):.2f} to {max(flat):.2f} of the limit",
        min(flat) >= 1 - FLAT_TOLERANCE and max(flat) <= 1 + FLAT_TOLERANCE,
    )
    yield _tail(nat.points)
    ratio = comparison.ratio(endpoint, nat.points[-1].load) or 0.0
    yield Claim(
        f"The endpoint's path has at least {MIN_PATH_RATIO:g} times the NAT's throughput at the largest step",
        f"{ratio:.1f} times",
        ratio >= MIN_PATH_RATIO,
    )
    yield _control(control, endpoint)
    yield Claim(
        "Only the limited path is called a path ceiling, unless other work on the machine hides it",
        ", ".join(f"{run.name}: {run.cause}" for run in comparison.runs),
        nat.cause in {ThroughputLimit.PATH_CEILING, ThroughputLimit.UNDETERMINED}
        and ThroughputLimit.PATH_CEILING not in {endpoint.cause, control.cause},
    )
    for run in comparison.runs:
        if run.result.repeats > 1:
            yield _repeats(run)


def _control(control: Run, endpoint: Run) -> Claim:
    """Return whether the NAT itself, without its limit, costs nothing, so that the limit is what is measured."""
    pairs = [(point, endpoint.at(point.load)) for point in control.points]
    deviations = [abs(point.gbps / other.gbps - 1) for point, other in pairs if other and other.gbps]
    return Claim(
        f"Without a limit, the NAT's path equals the endpoint's within {MAX_DEVIATION:.0%}",
        f"{median(deviations):.1%} at the median load, at most {max(deviations):.1%}",
        median(deviations) <= MAX_DEVIATION,
    )


def _tail(points: Sequence[LoadPoint]) -> Claim:
    first, last = points[0].p99_ms or 0.0, points[-1].p99_ms or 0.0
    ratio = last / first if first else 0.0
    return Claim(
        f"The NAT's p99 at the largest step is at least {MIN_TAIL_RATIO:g} times that at the smallest",
        f"{ratio:.1f} times, {first:.0f} to {last:.0f} ms",
        ratio >= MIN_TAIL_RATIO,
    )


def _repeats(run: Run) -> Claim:
    """Return whether repeats agree. The spread of p99 is only reported: rare events decide it."""
    deviations = [_deviation(point, run.result.steps) for point in run.points]
    ranges = [point.p99_range_ms for point in run.points if point.p99_range_ms]
    spread = max((high / low for low, high in ranges if low), default=1.0)
    middle = median(deviations)
    return Claim(
        f"Repeats of the {run.name} path agree within {MAX_DEVIATION:.0%}",
        f"{middle:.1%}, at most {max(deviations):.1%}; p99 differs by a factor of up to {spread:.1f}",
        middle <= MAX_DEVIATION,
    )


def _deviation(point: LoadPoint, steps: Sequence[Step]) -> float:
    """Return how much the repeats of a step differ from their median at most, as a share of the median."""
    repeats = [step.gbps for step in steps if step.connections == point.load]
    return max(abs(gbps - point.gbps) for gbps in repeats) / point.gbps if point.gbps else 0.0
