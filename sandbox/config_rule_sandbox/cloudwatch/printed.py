"""Metrics that a function prints: CloudWatch Logs extracts them from log lines in the Embedded Metric Format.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Datapoint:
    """One value of a metric. dimensions are pairs of name and value."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    value: float
    time: datetime


def extracted(lines: Iterable[str]) -> Iterator[Datapoint]:
    """Yield the datapoints of log lines, one for each set of dimensions; lines without metrics have none."""
    for line in lines:
        if '"_aws"' in line:
            yield from _datapoints(json.loads(line))


def _datapoints(root: dict[str, Any]) -> Iterator[Datapoint]:
    time = datetime.fromtimestamp(root["_aws"]["Timestamp"] / 1000, UTC)
    for directive in root["_aws"]["CloudWatchMetrics"]:
        for keys in directive["Dimensions"]:
            dimensions = tuple((key, str(root[key])) for key in keys)
            for metric in directive["Metrics"]:
                name = metric["Name"]
                values = root[name] if isinstance(root[name], list) else [root[name]]
                for value in values:
                    yield Datapoint(directive["Namespace"], name, dimensions, value, time)


def earlier(datapoints: Iterable[Datapoint], span: timedelta) -> Iterator[Datapoint]:
    """Yield the datapoints as if they had been printed earlier."""
    return (replace(point, time=point.time - span) for point in datapoints)
