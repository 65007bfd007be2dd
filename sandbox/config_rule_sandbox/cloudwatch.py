"""CloudWatch metrics in AWS's own namespaces, GetMetricData and ListMetrics, metrics that functions print, and alarms."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from operator import ge, gt, lt
from statistics import fmean
from typing import Any

from moto.cloudwatch.exceptions import ValidationError
from moto.cloudwatch.models import MetricDatum, cloudwatch_backends
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patches import Patches

# --- metrics that functions print ----------------------------------------------------------------------------------
#
# Metrics that a function prints: CloudWatch Logs extracts them from log lines in the Embedded Metric Format.
#
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html


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


# --- ListMetrics ---------------------------------------------------------------------------------------------------
#
# ListMetrics: each metric once, filtered by dimension, and only what was heard of lately.
#
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html.


PAGE = 500
LATELY = timedelta(days=14)
"""A metric without a datapoint for so long is not listed."""


def list_metrics(self: Moto) -> ActionResult:
    """List metrics by namespace, name and dimensions; a dimension without a value asks for its name alone."""
    parameters = self._get_params()
    since = datetime.now(UTC).replace(tzinfo=None) - LATELY
    found = {
        (datum.namespace, datum.name, tuple((one.name, one.value) for one in datum.dimensions)): None
        for datum in self.cloudwatch_backend.metric_data
        if datum.timestamp.replace(tzinfo=None) >= since and _matches(datum, parameters)
    }
    skipped = int(parameters.get("NextToken") or 0)
    listed = [
        {
            "Namespace": namespace,
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions],
        }
        for namespace, name, dimensions in list(found)[skipped : skipped + PAGE]
    ]
    more = {"NextToken": str(skipped + PAGE)} if skipped + PAGE < len(found) else {}
    return ActionResult({"Metrics": listed, **more})


def _matches(datum: Moto, parameters: Mapping[str, Any]) -> bool:
    dimensions = {dimension.name: dimension.value for dimension in datum.dimensions}
    return (
        parameters.get("Namespace") in (None, datum.namespace)
        and parameters.get("MetricName") in (None, datum.name)
        and all(
            wanted["Name"] in dimensions and wanted.get("Value") in (None, dimensions[wanted["Name"]])
            for wanted in parameters.get("Dimensions", [])
        )
    )


# --- GetMetricData -------------------------------------------------------------------------------------------------
#
# GetMetricData: exact dimensions, retention by age, pages of datapoints, statistics.
#
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html.


QUERIES = 500
DATAPOINTS = 100_800
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Sum": sum,
    "Minimum": min,
    "Maximum": max,
    "Average": fmean,
    "SampleCount": len,
}
RETENTION = ((timedelta(days=15), 60), (timedelta(days=63), 300), (timedelta(days=455), 3600))
"""How long datapoints of a period of so many seconds are kept."""

Key = tuple[str, str, frozenset[tuple[str, str]]]
Point = tuple[datetime, float]


@dataclass(frozen=True, slots=True)
class Trouble:
    """How CloudWatch fails in an answer that succeeds: the status of every series, and a message on the whole."""

    status: str = ""
    message: str = ""


def get_metric_data(self: Moto, trouble: Trouble) -> ActionResult:
    """Answer queries of single metrics; expressions are refused, as nothing here evaluates them.

    A page holds at most MaxDatapoints. A series that goes on in the next one is PartialData in this one.
    """
    parameters = self._get_params()
    queries, start, end = parameters["MetricDataQueries"], _utc(parameters["StartTime"]), _utc(parameters["EndTime"])
    _check(queries, start, end)
    recorded = _by_metric(self.cloudwatch_backend)
    descending = parameters.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    series = [sorted(_series(query, recorded, start, end), reverse=descending) for query in queries]
    size, skipped = parameters.get("MaxDatapoints", DATAPOINTS), int(parameters.get("NextToken") or 0)
    results = list(_page(queries, series, skipped, size))
    for result in results if trouble.status else ():
        result["StatusCode"] = trouble.status
    messages = [{"Code": "MaxMetricsExceeded", "Value": trouble.message}] if trouble.message else []
    more = {"NextToken": str(skipped + size)} if skipped + size < sum(map(len, series)) else {}
    return ActionResult({"MetricDataResults": results, "Messages": messages, **more})


def _check(queries: Sequence[Mapping[str, Any]], start: datetime, end: datetime) -> None:
    if len(queries) > QUERIES:
        raise ValidationError(f"The collection MetricDataQueries must not have a size greater than {QUERIES}.")
    if start >= end:
        raise ValidationError("The parameter EndTime must be greater than StartTime.")
    if len({query["Id"] for query in queries}) < len(queries):
        raise ValidationError("The values for parameter id in MetricDataQueries are not unique.")
    for query in queries:
        stat = query.get("MetricStat")
        if not stat or "Expression" in query or stat["Stat"] not in STATISTICS:
            raise NotImplementedError(f"the sandbox answers {', '.join(STATISTICS)} of single metrics, not {query}")
        if stat["Period"] % 60:
            raise ValidationError("The parameter Period must be a multiple of 60.")


def _by_metric(backend: Moto) -> dict[Key, list[Point]]:
    found: dict[Key, list[Point]] = defaultdict(list)
    for datum in backend.metric_data:
        dimensions = frozenset((dimension.name, dimension.value) for dimension in datum.dimensions)
        found[datum.namespace, datum.name, dimensions].append((_utc(datum.timestamp), datum.value))
    return found


def _series(
    query: Mapping[str, Any], recorded: Mapping[Key, list[Point]], start: datetime, end: datetime
) -> Iterator[Point]:
    """Yield one point for each period with data, none where data so old is not kept for that period.

    Only a metric with exactly the query's dimensions answers.
    """
    stat = query["MetricStat"]
    metric, period = stat["Metric"], stat["Period"]
    kept = next((least for longest, least in RETENTION if datetime.now(UTC) - start <= longest), None)
    if kept is None or period % kept:
        return
    dimensions = frozenset((dimension["Name"], dimension["Value"]) for dimension in metric.get("Dimensions", []))
    values: dict[int, list[float]] = defaultdict(list)
    first = datetime.fromtimestamp(start.timestamp() // kept * kept, UTC)
    length = timedelta(seconds=period)
    for time, value in recorded.get((metric["Namespace"], metric["MetricName"], dimensions), []):
        if first <= time < end:
            values[(time - first) // length].append(value)
    for number, inside in values.items():
        yield first + number * length, float(STATISTICS[stat["Stat"]](inside))


def _page(
    queries: Sequence[Mapping[str, Any]], series: Sequence[Sequence[Point]], skipped: int, size: int
) -> Iterator[dict[str, Any]]:
    """Yield each query's part of the page after the skipped datapoints."""
    first = 0
    for query, points in zip(queries, series, strict=True):
        shown = points[max(0, skipped - first) : max(0, skipped + size - first)]
        first += len(points)
        yield {
            "Id": query["Id"],
            "Label": query.get("Label") or query["MetricStat"]["Metric"]["MetricName"],
            "Timestamps": [time for time, _ in shown],
            "Values": [value for _, value in shown],
            "StatusCode": "PartialData" if first > skipped + size else "Complete",
        }


def _utc(time: datetime) -> datetime:
    """Return a time in UTC; moto's parser omits the zone of some times, which are in UTC."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


# --- alarms --------------------------------------------------------------------------------------------------------
#
# When an alarm on one metric goes off. moto keeps the state that a test sets.


COMPARISONS = {
    "GreaterThanOrEqualToThreshold": ge,
    "GreaterThanThreshold": gt,
    "LessThanThreshold": lt,
}
MINUTE, INSTANT = timedelta(minutes=1), timedelta(microseconds=1)


def alarm_state(alarm: Mapping[str, Any], values: Sequence[float | None], extra: int = 0) -> str:
    """Return the state that CloudWatch gives an alarm after these periods. None means that a period has no data.

    CloudWatch reads a few periods more than it evaluates, `extra`, and does not document how many. If there are enough
    data points among them, the most recent ones decide. Otherwise, missing ones are filled in:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
    """
    periods, threshold = int(alarm["EvaluationPeriods"]), float(alarm["Threshold"])
    compared = COMPARISONS[alarm["ComparisonOperator"]]
    found = [value for value in values[-(periods + extra) :] if value is not None][-periods:]
    missing = {"breaching": True, "notBreaching": False}[alarm["TreatMissingData"]]
    breaching = [compared(value, threshold) for value in found] + [missing] * (periods - len(found))
    return "ALARM" if sum(breaching) >= int(alarm.get("DatapointsToAlarm", periods)) else "OK"


def _minute_after(time: datetime) -> datetime:
    return time.replace(second=0, microsecond=0) + MINUTE


class Metrics:
    """Records the metrics of AWS's services. PutMetricData is refused for namespaces in AWS/, so tests use this."""

    def __init__(self, account_id: str, region: str) -> None:
        """Record for this account and Region by default."""
        self._account_id, self._region = account_id, region
        self.trouble = Trouble()

    def apply(self, patches: Patches) -> None:
        """Answer GetMetricData and ListMetrics as CloudWatch does."""

        def answer(moto_response: Moto) -> ActionResult:
            return get_metric_data(moto_response, self.trouble)

        patches.set(CloudWatchResponse, "get_metric_data", answer)
        patches.set(CloudWatchResponse, "list_metrics", list_metrics)

    def reset(self) -> None:
        """Remove the trouble; moto forgets what was recorded."""
        self.trouble = Trouble()

    def add(self, datapoints: Iterable[Datapoint], place: tuple[str, str] | None = None) -> None:
        """Record datapoints of any namespace; place is (account id, Region)."""
        account_id, region = place or (self._account_id, self._region)
        cloudwatch_backends[account_id][region].metric_data += [
            MetricDatum(
                point.namespace,
                point.name,
                point.value,
                [{"Name": name, "Value": value} for name, value in point.dimensions],
                point.time,
            )
            for point in datapoints
        ]

    def first_alarm(self, alarm: Mapping[str, Any], start: datetime, end: datetime) -> datetime | None:
        """Return when an alarm is first in ALARM between two times, None if it never is. `start` is a whole minute.

        `alarm` is as DescribeAlarms describes it. CloudWatch evaluates it each minute, and its last period ends then:
        https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation-window.html
        """
        dimensions = frozenset((row["Name"], row["Value"]) for row in alarm["Dimensions"])
        recorded = _by_metric(cloudwatch_backends[self._account_id][self._region])
        points = recorded.get((alarm["Namespace"], alarm["MetricName"], dimensions), [])
        length, count = timedelta(seconds=alarm["Period"]), alarm["EvaluationPeriods"]
        # The state can change only when a datapoint gets into the last period, or from one period to the one before.
        moved = {_minute_after(time) + number * length for time, _ in points for number in range(count + 1)}
        for moment in sorted({start} | {time for time in moved if start < time <= end}):
            values: dict[int, list[float]] = defaultdict(list)
            for time, value in points:
                values[(moment - time - INSTANT) // length].append(value)
            periods = [values.get(number) for number in reversed(range(count))]
            statistic = STATISTICS[alarm["Statistic"]]
            if alarm_state(alarm, [statistic(found) if found else None for found in periods]) == "ALARM":
                return moment
        return None

    def record(
        self,
        nat_gateway_id: str,
        metric: str,
        points: Iterable[tuple[datetime, float]],
        zone: str | None = None,
        place: tuple[str, str] | None = None,
    ) -> None:
        """Record a metric of a NAT gateway, or of one zone of a regional one; place is (account id, Region).

        https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html.
        """
        dimensions = (("NatGatewayId", nat_gateway_id), *([("AvailabilityZone", zone)] if zone else []))
        self.add((Datapoint("AWS/NATGateway", metric, dimensions, value, time) for time, value in points), place)
