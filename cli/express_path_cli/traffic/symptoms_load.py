"""What a NAT gateway carried and dropped over time, and its port allocation errors, from its metrics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from express_path_cli.nat.metrics import Series
from express_path_cli.traffic.symptoms_plateau import Points

METRICS: Mapping[str, str] = {
    "BytesOutToDestination": "Sum",
    "BytesOutToSource": "Sum",
    "PacketsInFromSource": "Sum",
    "PacketsInFromDestination": "Sum",
    "PacketsDropCount": "Sum",
    "ErrorPortAllocation": "Sum",
    "PeakBytesPerSecond": "Maximum",
    "PeakPacketsPerSecond": "Maximum",
    "ActiveConnectionCount": "Maximum",
}
"""The metrics that a diagnosis needs, each with the statistic that AWS recommends
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""


@dataclass(frozen=True, slots=True)
class Load:
    """Points of one meter in chronological order; a period has no point if one of its metrics has none.

    carried: bit/s that left the gateway in both directions, as the mean of a period. arrived: packets that reached
    it. passed: packets/s that it did not drop. dropped: packets. port_errors: connections without a source port.
    peak_bits and peak_packets: the highest rate of any ten seconds, per second. connections: the maximum.
    """

    carried: Points = ()
    arrived: Points = ()
    passed: Points = ()
    dropped: Points = ()
    port_errors: Points = ()
    peak_bits: Points = ()
    peak_packets: Points = ()
    connections: Points = ()


def load_of(series: Iterable[Series], period: int) -> Load:
    """Return the load from the series of METRICS of one meter; period is theirs, in seconds."""
    metrics = {one.metric: dict(one.points) for one in series}
    arrived = _sum_of(metrics, "PacketsInFromSource", "PacketsInFromDestination")
    dropped = _sum_of(metrics, "PacketsDropCount")
    lost = dict(dropped)
    return Load(
        carried=_sum_of(metrics, "BytesOutToDestination", "BytesOutToSource", scale=8 / period),
        arrived=arrived,
        passed=tuple((time, (value - lost[time]) / period) for time, value in arrived if time in lost),
        dropped=dropped,
        port_errors=_sum_of(metrics, "ErrorPortAllocation"),
        peak_bits=_sum_of(metrics, "PeakBytesPerSecond", scale=8),
        peak_packets=_sum_of(metrics, "PeakPacketsPerSecond"),
        connections=_sum_of(metrics, "ActiveConnectionCount"),
    )


def _sum_of(metrics: Mapping[str, Mapping[datetime, float]], *names: str, scale: float = 1) -> Points:
    """Return the sum of some metrics in the periods that all of them have, times a scale."""
    values = [metrics.get(name, {}) for name in names]
    times = sorted(set(values[0]).intersection(*values))
    return tuple((time, scale * sum(by_time[time] for by_time in values)) for time in times)


def within(points: Points, start: datetime, end: datetime) -> list[float]:
    """Return the values of the periods that begin from start to before end."""
    return [value for time, value in points if start <= time < end]


def highest(points: Points) -> float:
    """Return the highest value; 0 without points."""
    return max((value for _, value in points), default=0.0)
