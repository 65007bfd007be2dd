"""What the lab must show, and whether its measurements show it on this machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from express_path_cli.nat.saturation import IDLE_CPU_PERCENT, ThroughputLimit
from express_path_instrument.bench.classify import evidence_of
from express_path_instrument.bench.compare import Comparison, Run

FLAT_FROM = 48
"""The NAT's path is at its limit from this number of connections on: 0.45 of 64 is 29, and at 32, noise still decides."""
FLAT_TOLERANCE = 0.15
"""How much the throughput of a flat path differs from its limit at most, as a share of the limit."""
MIN_TAIL_RATIO = 1.5
"""How much the p99 of the NAT's path grows at least. At the limit, latency is connections x size / limit."""
MIN_PATH_RATIO = 2.0
MAX_DEVIATION = 0.1
"""How much throughput differs at most between a NAT without a limit and the endpoint."""


class Outcome(StrEnum):
    """Whether a claim holds. NOT_SHOWN: this machine is too busy to tell, whether the numbers fit or not."""

    SHOWN = "shown"
    REFUTED = "refuted"
    NOT_SHOWN = "not shown"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim, the numbers that were measured, in words, and what they show."""

    text: str
    measured: str
    outcome: Outcome


def claims(comparison: Comparison, bits_per_second: float) -> Iterator[Claim]:
    """Yield the claims about a comparison of the NAT's path, the endpoint's, the NAT's without a limit, and others.

    bits_per_second: the NAT's limit.
    """
    nat, endpoint, control, *_ = comparison.runs
    flat = [point.gbps * 1e9 / bits_per_second for point in nat.points if point.load >= FLAT_FROM]
    yield _claim(
        f"The NAT's path is flat at its limit from {FLAT_FROM} connections on",
        f"{min(flat):.2f} to {max(flat):.2f} of the limit" if flat else "not measured",
        bool(flat) and min(flat) >= 1 - FLAT_TOLERANCE and max(flat) <= 1 + FLAT_TOLERANCE,
        nat,
    )
    largest = nat.points[-1]
    first, last = nat.points[0].latency("p99") or 0.0, largest.latency("p99") or 0.0
    growth = last / first if first else 0.0
    least = largest.load * nat.result.object_bytes * 8e3 / bits_per_second
    yield _claim(
        f"The NAT's p99 at the largest step is at least {MIN_TAIL_RATIO:g} times that at the smallest",
        f"{growth:.1f} times, {first:.0f} to {last:.0f} ms; connections x size / limit is {least:.0f} ms, and the NAT's "
        "queue decides the rest",
        growth >= MIN_TAIL_RATIO,
        nat,
    )
    ratio = comparison.ratio(endpoint, largest.load) or 0.0
    yield _claim(
        f"The endpoint's path has at least {MIN_PATH_RATIO:g} times the NAT's throughput at the largest step",
        f"{ratio:.1f} times",
        ratio >= MIN_PATH_RATIO,
        nat,
        endpoint,
    )
    is_ceiling = nat.cause is ThroughputLimit.PATH_CEILING
    yield _claim("The limit is called a path ceiling", f"{nat.name}: {nat.cause}", is_ceiling, nat, endpoint)
    pairs = [(point, endpoint.at(point.load)) for point in control.points]
    deviations = [abs(point.gbps / other.gbps - 1) for point, other in pairs if other and other.gbps]
    yield _claim(
        f"Without a limit, the NAT's path equals the endpoint's within {MAX_DEVIATION:.0%} at each load",
        f"{median(deviations):.1%} at the median load, at most {max(deviations):.1%}" if deviations else "not measured",
        bool(deviations) and max(deviations) <= MAX_DEVIATION,
        control,
        endpoint,
    )
    yield _claim(
        "No path is called limited that has no limit",
        ", ".join(f"{run.name}: {run.cause}" for run in (endpoint, control)),
        {endpoint.cause, control.cause}.isdisjoint({ThroughputLimit.CEILING, ThroughputLimit.PATH_CEILING}),
        endpoint,
        control,
    )


def _claim(text: str, measured: str, fits: bool, *runs: Run) -> Claim:
    """Return a claim about runs. On a busy machine, neither numbers that fit nor others show anything."""
    if busy := [f"{run.name}: {use}" for run in runs if (use := _busy(run))]:
        return Claim(text, f"{measured} ({', '.join(busy)})", Outcome.NOT_SHOWN)
    return Claim(text, measured, Outcome.SHOWN if fits else Outcome.REFUTED)


def _busy(run: Run) -> str:
    """Return what keeps the processors busy at the highest throughput of a run, or an empty text if they are idle."""
    evidence = evidence_of(run.points)
    if evidence.client_cpu_percent is None:
        return "the client's CPU is unknown"
    if evidence.client_cpu_percent + evidence.other_cpu_percent < IDLE_CPU_PERCENT:
        return ""
    return f"the client uses {evidence.client_cpu_percent:.0f} % and other work {evidence.other_cpu_percent:.0f} % of all CPUs"
