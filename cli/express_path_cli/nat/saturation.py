"""What limits throughput: the one classification that `diagnose` (metrics over time) and `bench` (load steps) share."""

from dataclasses import dataclass
from enum import StrEnum

IDLE_CPU_PERCENT, BUSY_CPU_PERCENT = 60.0, 85.0
"""Below the first use of its processors, a client does not set the limit; from the second on, it does. Between them,
nobody can tell. On a path at its limit, clients are idle: the published measurements saw at most 17 %."""
LIMITING_SHARE, LIMITING_NUMBER = 0.001, 5
"""From this share and this number of 503 answers (Slow Down), or of requests without an answer, they set the limit.
Fewer are single events."""


class ThroughputLimit(StrEnum):
    """What limits throughput.

    HANGING: requests get no answer. CEILING: something that one measurement cannot tell: the path, the network of the
    instance, the server, or a quota. PATH_CEILING: the path, because another path carried more in each turn, or because
    the path says so. FLATTENING: throughput starts to flatten at the largest load. UNDETERMINED: the data does not show what.
    """

    HANGING = "HANGING"
    THROTTLED = "THROTTLED"
    CLIENT_BOUND = "CLIENT_BOUND"
    PATH_CEILING = "PATH_CEILING"
    CEILING = "CEILING"
    FLATTENING = "FLATTENING"
    UNDETERMINED = "UNDETERMINED"
    NOT_SATURATED = "NOT_SATURATED"


class Growth(StrEnum):
    """How throughput grows with the load at its largest values, or over time: not at all, less than the load, as it.

    NOISY: repeats differ too much to tell whether it is less than the load.
    """

    FLAT = "FLAT"
    BENDING = "BENDING"
    LINEAR = "LINEAR"
    NOISY = "NOISY"


@dataclass(frozen=True, slots=True)
class SaturationEvidence:
    """What a measurement shows.

    growth: None if one load, or loads that are too alike, do not show it. path_reports_limit: the path itself reports
    dropped packets, failed connections, or throughput near its highest limit. client_cpu_percent: the client's own use
    of the processors that it may use, or of its busiest one, at the highest throughput; None if unknown.
    other_cpu_percent: what other work uses of all processors. throttled: many requests were answered with 503.
    hanging: requests were open for too long at the end of a step, or many timed out.
    """

    growth: Growth | None
    path_reports_limit: bool = False
    client_cpu_percent: float | None = None
    other_cpu_percent: float = 0.0
    throttled: bool = False
    hanging: bool = False


def limits(number: int, requests: int) -> bool:
    """Return whether so many of the requests failed in one way that this sets the limit."""
    return number >= LIMITING_NUMBER and number >= LIMITING_SHARE * requests


def classify(evidence: SaturationEvidence) -> ThroughputLimit:
    """Return what limits throughput.

    Missing answers and throttling come first, because they are unambiguous, then a busy client, because nothing that it
    measures can be blamed on the path. Only the path itself, or a comparison, shows that a ceiling is the path's.
    """
    if evidence.hanging:
        return ThroughputLimit.HANGING
    if evidence.throttled:
        return ThroughputLimit.THROTTLED
    cpu = evidence.client_cpu_percent
    if cpu is not None and cpu >= BUSY_CPU_PERCENT:
        return ThroughputLimit.CLIENT_BOUND
    if evidence.growth is Growth.LINEAR:
        return ThroughputLimit.NOT_SATURATED
    if evidence.path_reports_limit:
        return ThroughputLimit.PATH_CEILING
    if evidence.growth in (None, Growth.NOISY) or (cpu or 0.0) + evidence.other_cpu_percent >= IDLE_CPU_PERCENT:
        return ThroughputLimit.UNDETERMINED
    if evidence.growth is Growth.BENDING:
        return ThroughputLimit.FLATTENING
    return ThroughputLimit.UNDETERMINED if cpu is None else ThroughputLimit.CEILING
