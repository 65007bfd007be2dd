"""Read when the rule last evaluated all subnets of an account and Region, and what it counted.

The gauges are published at each sweep and at no other time, at every log level. AWS Config's own times are not exact:
LastSuccessfulInvocationTime also counts evaluations after a change, and a sweep posts only results that changed, so
those in an aggregator may be old.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from express_path.adapters.aws import Aws, calling, pages
from express_path.errors import ApiError
from express_path_cli.installation.rule import find_rules, read_function

OVERDUE = timedelta(hours=25)
"""How old the last sweep may be: a sweep runs at least once a day, at an hour that AWS Config chooses."""
_WINDOW = timedelta(days=3)
"""How far back a sweep is searched."""
_NAME = 6
"""Where a function's ARN contains its name."""
_GAUGES = ("NonCompliant", "Compliant", "NotApplicable", "Unresolved")


@dataclass(frozen=True, slots=True)
class Sweep:
    """The last sweep: when it was, None if there was none in the last three days; and the gauges that it published."""

    time: datetime | None
    gauges: Mapping[str, int]

    def is_overdue(self, now: datetime) -> bool:
        """Return whether the next sweep should have run."""
        return self.time is None or now - self.time > OVERDUE


def read_sweep(aws: Aws, now: datetime) -> Sweep:
    """Read the last sweep of an account and Region from CloudWatch, to the minute. Raise ApiError."""
    with calling("cloudwatch:GetMetricData"):
        answer = aws.client("cloudwatch").get_metric_data(
            MetricDataQueries=[_gauge_query(name) for name in _GAUGES],
            StartTime=now - _WINDOW,
            EndTime=now,
            ScanBy="TimestampDescending",
        )
    results = {str(result["Id"]): result for result in answer["MetricDataResults"]}
    for result in results.values():
        if result["StatusCode"] != "Complete":
            raise ApiError("cloudwatch:GetMetricData", result["StatusCode"], f"{result['Label']} of ExpressPath")
    times = [result["Timestamps"][0] for result in results.values() if result["Timestamps"]]
    if not times:
        return Sweep(None, {})
    last = max(times)
    gauges = {
        name: int(result["Values"][0])
        for name in _GAUGES
        for result in [results[name.lower()]]
        if result["Timestamps"] and result["Timestamps"][0] == last
    }
    return Sweep(last, gauges)


def _gauge_query(name: str) -> Mapping[str, Any]:
    metric = {
        "Namespace": "ExpressPath",
        "MetricName": name,
        "Dimensions": [{"Name": "service", "Value": "evaluate"}],
    }
    return {"Id": name.lower(), "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}


def read_exclusions(aws: Aws, rule: str, now: datetime) -> Mapping[str, int]:
    """Read how many subnets each tag, or the parameter vpcIds, excluded in the last sweep, from the function's log.

    The log of a sweep has the level INFO, so there is none if the stack's LogLevel is higher. Raise ApiError.
    """
    arns = [found.function_arn.split(":") for found in find_rules(aws.config, rule)]
    function = read_function(aws.client("lambda"), arns[0][_NAME]) if arns and len(arns[0]) > _NAME else None
    if function is None:
        return {}
    events = pages(
        aws.client("logs"),
        "logs",
        "filter_log_events",
        "events",
        logGroupName=function.log_group,
        startTime=int((now - OVERDUE).timestamp() * 1000),
        filterPattern='"swept"',
    )
    lines = sorted(events, key=lambda event: int(event["timestamp"]))
    swept = [record for record in map(_record, (str(event["message"]) for event in lines)) if record]
    return {str(row["by"]): int(row["subnets"]) for row in swept[-1].get("excluded", ())} if swept else {}


def _record(line: str) -> Mapping[str, Any]:
    """Return a line of the log if it is about a sweep; else an empty mapping."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, Mapping) and record.get("message") == "swept" else {}
