"""Metrics Insights: the queries of one aggregated time series, over the metrics of several accounts.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-metrics-insights-querylanguage.html
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from config_rule_sandbox.cloudwatch.metric_data import STATISTICS, Key, Point

QUERY = re.compile(
    r"SELECT (?P<function>MAX|MIN|SUM)\((?P<metric>\w+)\) "
    r'FROM SCHEMA\("(?P<namespace>[\w/]+)", (?P<dimension>\w+)\) '
    r"WHERE (?P<label>\w+) = '(?P<value>[\w-]+)'"
)
FUNCTIONS = {"MAX": "Maximum", "MIN": "Minimum", "SUM": "Sum"}
LOOKS_BACK = timedelta(hours=3)
"""https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-limits.html."""


def periods_of(
    expression: str, accounts: Iterable[Mapping[Key, Sequence[Point]]], end: datetime, period: timedelta, number: int
) -> list[float | None]:
    """Return the values of the last periods, the oldest first; None for a period without data.

    Raise NotImplementedError for another form of query, and ValueError if an alarm cannot look back so far.
    """
    query = QUERY.fullmatch(expression)
    if query is None or query["label"] != query["dimension"]:
        raise NotImplementedError(f"the sandbox does not answer the query {expression}")
    if number * period > LOOKS_BACK:
        raise ValueError(f"an alarm on a query looks back {LOOKS_BACK} at most, not {number * period}")
    key = (query["namespace"], query["metric"], frozenset({(query["dimension"], query["value"])}))
    points = [point for recorded in accounts for point in recorded.get(key, ())]
    statistic = STATISTICS[FUNCTIONS[query["function"]]]
    first = end - number * period
    values = [
        [value for time, value in points if first + index * period <= time < first + (index + 1) * period]
        for index in range(number)
    ]
    return [float(statistic(found)) if found else None for found in values]
