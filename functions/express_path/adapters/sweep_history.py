"""What happened since the previous sweep: when that was, and how many heals have failed since."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling, pages

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef
    from mypy_boto3_ssm import SSMClient

REMEMBERED = timedelta(days=14, hours=23)
"""How far back a sweep is looked for. CloudWatch keeps datapoints of one minute for 15 days
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html)."""
FIRST_PERIOD = timedelta(hours=25)
"""The time before the first sweep in which failed heals count: a day, and an hour for a late schedule."""
_LONGEST_RUN = timedelta(days=2)
"""How long a run takes at most: a day for an approval, and the heal. Runs are found by the time of their start."""
_FAILED = ("Failed", "TimedOut")


def previous_sweep(
    cloudwatch: "CloudWatchClient", namespace: str, service: str, gauge: str, now: datetime
) -> datetime | None:
    """Return when the gauge was last emitted, to the minute; None if it was not within 15 days. Raise ApiError."""
    query: MetricDataQueryTypeDef = {
        "Id": "previous",
        "MetricStat": {
            "Metric": {
                "Namespace": namespace,
                "MetricName": gauge,
                "Dimensions": [{"Name": "service", "Value": service}],
            },
            "Period": 60,
            "Stat": "SampleCount",
        },
    }
    with calling("cloudwatch:GetMetricData"):
        answer = cloudwatch.get_metric_data(
            MetricDataQueries=[query], StartTime=now - REMEMBERED, EndTime=now, ScanBy="TimestampDescending"
        )
    times = answer["MetricDataResults"][0]["Timestamps"]
    return max(times).astimezone(UTC) if times else None


def failed_heals(ssm: "SSMClient", documents: Collection[str], since: datetime) -> int:
    """Return how many runs of these runbooks ended since then and failed. Raise ApiError.

    A run that an approval started is counted once, together with the run that asked for the approval.
    """
    failed = set()
    for document in documents:
        rows = pages(
            ssm,
            "ssm",
            "describe_automation_executions",
            "AutomationExecutionMetadataList",
            Filters=[
                {"Key": "DocumentNamePrefix", "Values": [document]},
                {"Key": "ExecutionStatus", "Values": list(_FAILED)},
                {"Key": "StartTimeAfter", "Values": [(since - _LONGEST_RUN).strftime("%Y-%m-%dT%H:%M:%SZ")]},
            ],
        )
        failed |= {
            row.get("ParentAutomationExecutionId") or row["AutomationExecutionId"]
            for row in rows
            if row["DocumentName"] == document and row.get("ExecutionEndTime", since) > since
        }
    return len(failed)
