"""GetMetricData: exact dimensions, retention by age, pages of datapoints, statistics.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

from moto.cloudwatch.exceptions import ValidationError
from moto.core.responses import ActionResult

from config_rule_sandbox.dynamic import Moto

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


def get_metric_data(self: Moto, trouble: Trouble, backend_of: Callable[[str], Moto | None]) -> ActionResult:
    """Answer queries of single metrics; expressions are refused, as nothing here evaluates them.

    A query may have the AccountId of a linked account, whose backend `backend_of` returns; None without a link.
    A page holds at most MaxDatapoints. A series that goes on in the next one is PartialData in this one.
    """
    parameters = self._get_params()
    queries, start, end = parameters["MetricDataQueries"], _utc(parameters["StartTime"]), _utc(parameters["EndTime"])
    _check(queries, start, end)
    own = self.cloudwatch_backend
    backends = {query.get("AccountId", ""): backend_of(query["AccountId"]) for query in queries if "AccountId" in query}
    recorded = {account_id: by_metric(found) if found else {} for account_id, found in ({"": own} | backends).items()}
    descending = parameters.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    series = [
        sorted(_series(query, recorded[query.get("AccountId", "")], start, end), reverse=descending)
        for query in queries
    ]
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


def by_metric(backend: Moto) -> dict[Key, list[Point]]:
    """Return the points of each metric, by namespace, name, and dimensions."""
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
