"""What limits throughput: the one classification that `diagnose` (metrics over time) and `bench` (load steps) share."""

from dataclasses import dataclass
from enum import StrEnum

BUSY_CPU_PERCENT = 80.0
"""From this use of all of its processors on, the client itself may set the limit. On a path at its limit, clients are
idle: the published measurements saw at most 17 %."""
THROTTLED_SHARE = 0.001
"""From this share of 503 (Slow Down) answers on, requests are throttled. Fewer are single events."""


class ThroughputLimit(StrEnum):
    """What limits throughput. UNDETERMINED: throughput is limited, but the data does not show by what."""

    THROTTLED = "THROTTLED"
    CLIENT_BOUND = "CLIENT_BOUND"
    PATH_CEILING = "PATH_CEILING"
    UNDETERMINED = "UNDETERMINED"
    NOT_SATURATED = "NOT_SATURATED"


@dataclass(frozen=True, slots=True)
class SaturationEvidence:
    """What a measurement shows.

    plateau: throughput stays flat at its maximum, over time or while the load grows. latency_climbs: requests wait
    longer the more of them there are. path_reports_limit: the path itself reports dropped packets, failed connections,
    or throughput near its highest limit. client_cpu_percent: the client's use of all of its processors at the maximum,
    None if unknown. throttled_share: the share of 503 answers, 0 to 1.
    """

    plateau: bool
    latency_climbs: bool = False
    path_reports_limit: bool = False
    client_cpu_percent: float | None = None
    throttled_share: float = 0.0


def classify(evidence: SaturationEvidence) -> ThroughputLimit:
    """Return what limits throughput.

    Throttling comes first, because its answers are unambiguous, then a busy client, because nothing that it measures
    can be blamed on the path. A plateau is the path's limit if the path says so, or if the client is known to be idle
    while its requests wait.
    """
    if evidence.throttled_share >= THROTTLED_SHARE:
        return ThroughputLimit.THROTTLED
    cpu = evidence.client_cpu_percent
    if cpu is not None and cpu >= BUSY_CPU_PERCENT:
        return ThroughputLimit.CLIENT_BOUND
    if not evidence.plateau:
        return ThroughputLimit.NOT_SATURATED
    if evidence.path_reports_limit or (evidence.latency_climbs and cpu is not None):
        return ThroughputLimit.PATH_CEILING
    return ThroughputLimit.UNDETERMINED
