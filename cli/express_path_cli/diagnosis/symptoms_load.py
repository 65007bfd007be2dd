"""What a NAT gateway carried, dropped and refused over time, out of its metrics."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from express_path_cli.diagnosis.symptoms_plateau import Points
from express_path_cli.metrics.series import Series

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
"""The metrics that a diagnosis needs, each with the statistic that AWS calls the most useful one
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""


class Load(NamedTuple):
    """Points of one meter, in the order of time; where a metric that one is made of lacks a point, there is none.

    carried: bit/s that left the gateway, both directions together, as the mean of a period. arrived: packets that
    reached it. passed: packets/s that it did not drop. dropped and refused: packets, and connections for which it had
    no source port. peak_bits and peak_packets: the highest rate of any ten seconds, per second. connections: the most
    at once.
    """

    carried: Points = ()
    arrived: Points = ()
    passed: Points = ()
    dropped: Points = ()
    refused: Points = ()
    peak_bits: Points = ()
    peak_packets: Points = ()
    connections: Points = ()


def load_of(series: Iterable[Series], period: int) -> Load:
    """The load out of the series of METRICS of one meter; period is theirs, in seconds."""
    by_metric = {each.metric: dict(each.points) for each in series}

    def summed(*metrics: str, scale: float = 1) -> Points:
        values = [by_metric.get(metric, {}) for metric in metrics]
        times = sorted(set(values[0]).intersection(*values))
        return tuple((time, scale * sum(each[time] for each in values)) for time in times)

    arrived = summed("PacketsInFromSource", "PacketsInFromDestination")
    dropped = summed("PacketsDropCount")
    lost = dict(dropped)
    return Load(
        carried=summed("BytesOutToDestination", "BytesOutToSource", scale=8 / period),
        arrived=arrived,
        passed=tuple((time, (value - lost[time]) / period) for time, value in arrived if time in lost),
        dropped=dropped,
        refused=summed("ErrorPortAllocation"),
        peak_bits=summed("PeakBytesPerSecond", scale=8),
        peak_packets=summed("PeakPacketsPerSecond"),
        connections=summed("ActiveConnectionCount"),
    )


def within(points: Points, start: datetime, end: datetime) -> list[float]:
    """The values of the periods that begin from start to before end."""
    return [value for time, value in points if start <= time < end]


def highest(points: Points) -> float:
    """The highest value; 0 where there is none."""
    return max((value for _, value in points), default=0.0)
