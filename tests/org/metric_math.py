"""The expressions of the dashboard, evaluated over the datapoints of several accounts and Regions.

Search expressions: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
Metrics Insights: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-metrics-insights-querylanguage.html
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from sandbox.cloudwatch import Datapoint
from tests.org.places import Printed

DAY = 86400
Series = dict[int, float]
"""Values by the start of their period, in epoch seconds."""
SEARCH = re.compile(
    r"SEARCH\('\{(?P<namespace>[\w/]+),(?P<dimension>\w+)\} MetricName=\"(?P<metric>\w+)\"(?: (?P<part>\w+))?', "
    r"'(?P<statistic>\w+)', (?P<period>\d+)\)"
)
QUERY = re.compile(
    r"SELECT (?P<statistic>AVG|COUNT|MAX|MIN|SUM)\((?P<metric>\w+)\) "
    r'FROM (?:SCHEMA\()?"(?P<namespace>[\w/]+)"(?:, (?P<ours>service)\))? '
    r"GROUP BY AWS\.AccountId(?:, (?P<dimension>\w+))? "
    r"ORDER BY (?P=statistic)\(\) DESC LIMIT 10"
)
STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "SampleCount": len,
    "Maximum": max,
    "Sum": sum,
    "COUNT": len,
    "MAX": max,
    "SUM": sum,
}


def evaluate(expression: str, region: str, period: int, places: Sequence[Printed]) -> dict[str, Series]:
    """Return the series of an expression by their labels: the account, and the resource if it is not the rule."""
    match = QUERY.fullmatch(expression) or SEARCH.search(expression)
    if not match:
        raise ValueError(expression)
    found = {
        label: series
        for place in places
        if place.region == region
        for label, series in _series(place, match, int(match.groupdict().get("period") or period))
    }
    if expression.startswith("SUM("):
        known = {time for series in found.values() for time in series}
        length = int(match["period"])
        times = range(min(known), max(known) + length, length) if known else ()
        filled = [_repeated(series, times) for series in found.values()]
        return {"": {time: sum(series.get(time, 0) for series in filled) for time in times}} if found else {}
    if "SampleCount" in expression:
        days = {_start(point.time, DAY) for place in places for point in place.datapoints}
        found = {label: {day: series.get(day, 0) for day in sorted(days)} for label, series in found.items()}
        return dict(sorted(found.items(), key=lambda row: min(row[1].values()))[:10])
    ranked = sorted(found, key=lambda label: max(found[label].values()), reverse=True)
    return {label: found[label] for label in ranked[:10]}


def _series(place: Printed, match: re.Match[str], period: int) -> Iterable[tuple[str, Series]]:
    dimension = match["dimension"] or match["ours"]
    part = match.groupdict().get("part") or ""
    by_resource: dict[str, list[Datapoint]] = {}
    for point in place.datapoints:
        resource = dict(point.dimensions).get(dimension)
        if (point.namespace, point.name) == (match["namespace"], match["metric"]) and resource and part in resource:
            by_resource.setdefault(resource, []).append(point)
    for resource, points in by_resource.items():
        values: dict[int, list[float]] = {}
        for point in points:
            values.setdefault(_start(point.time, period), []).append(point.value)
        label = f"{place.account} {resource}" if dimension == "NatGatewayId" else place.account
        yield label, {time: STATISTICS[match["statistic"]](found) for time, found in sorted(values.items())}


def _repeated(series: Series, times: Sequence[int]) -> Series:
    """Return a series in which the last value stands for each missing one, as FILL(..., REPEAT) does."""
    filled: Series = {}
    for time in times:
        if time in series or filled:
            filled[time] = series.get(time, next(reversed(filled.values()), 0))
    return filled


def _start(time: datetime, period: int) -> int:
    return int(time.timestamp()) // period * period
