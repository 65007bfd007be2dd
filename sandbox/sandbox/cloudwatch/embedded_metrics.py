"""Metrics that a function prints: CloudWatch Logs extracts them from log lines in the Embedded Metric Format.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sandbox.dynamic import Client


@dataclass(frozen=True, slots=True)
class Datapoint:
    """One value of a metric. dimensions are pairs of name and value."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    unit: str
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
                    yield Datapoint(directive["Namespace"], name, dimensions, metric.get("Unit", "None"), value, time)


def put(cloudwatch: Client, datapoints: Iterable[Datapoint]) -> None:
    """Store datapoints, so that later reads find them."""
    for point in datapoints:
        dimensions = [{"Name": name, "Value": value} for name, value in point.dimensions]
        datum = {"MetricName": point.name, "Dimensions": dimensions, "Unit": point.unit, "Value": point.value}
        cloudwatch.put_metric_data(Namespace=point.namespace, MetricData=[{**datum, "Timestamp": point.time}])
