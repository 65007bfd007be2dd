"""What happened before a sweep: the gauges of earlier ones, and how many heals have failed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.adapters.runs import runs_since

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import DimensionTypeDef, MetricDataQueryTypeDef
    from mypy_boto3_ssm import SSMClient

NAMESPACE, DIMENSION = "ExpressPath", "RuleName"
"""Where the metrics of a rule are."""
REMEMBERED = timedelta(days=14, hours=23)
"""How far back a sweep is looked for. CloudWatch keeps datapoints of one minute for 15 days
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html)."""
_FAILED = ("Failed", "TimedOut")


@dataclass(frozen=True, slots=True)
class Gauge:
    """The last value of a gauge, and its time, to the minute."""

    time: datetime
    value: float


def last_gauges(
    cloudwatch: "CloudWatchClient", rule_name: str, names: Collection[str], now: datetime
) -> Mapping[str, Gauge]:
    """Return the last values of a rule's gauges, without those that have none within 15 days. Raise ApiError."""
    of: list[DimensionTypeDef] = [{"Name": DIMENSION, "Value": rule_name}]
    queries: list[MetricDataQueryTypeDef] = [
        {
            "Id": name.lower(),
            "MetricStat": {
                "Metric": {"Namespace": NAMESPACE, "MetricName": name, "Dimensions": of},
                "Period": 60,
                "Stat": "Maximum",
            },
        }
        for name in names
    ]
    with calling("cloudwatch:GetMetricData"):
        answer = cloudwatch.get_metric_data(
            MetricDataQueries=queries, StartTime=now - REMEMBERED, EndTime=now, ScanBy="TimestampDescending"
        )
    results = {result["Id"]: result for result in answer["MetricDataResults"]}
    return {
        name: Gauge(result["Timestamps"][0].astimezone(UTC), result["Values"][0])
        for name in names
        for result in [results[name.lower()]]
        if result["Timestamps"]
    }


def failed_heals(ssm: "SSMClient", documents: Collection[str], since: datetime) -> int:
    """Return how many runs of these runbooks ended since then and failed. Raise ApiError.

    A run that an approval started is counted once, together with the run that asked for the approval.
    """
    failed = {
        row.get("ParentAutomationExecutionId") or row["AutomationExecutionId"]
        for document in documents
        for row in runs_since(ssm, document, since, _FAILED)
    }
    return len(failed)
