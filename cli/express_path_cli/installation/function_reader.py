"""Read the state of the deployed functions, and the queue of failed events."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient


_HOUR = 3600
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Activity:
    """A function's invocations and errors of the last day in CloudWatch, and the hour of its last invocation."""

    invocations: int
    errors: int
    last: datetime | None


@dataclass(frozen=True, slots=True)
class FunctionState:
    """A function's state, that of its last update, the reason if either is not good, and its log group."""

    state: str
    update: str
    reason: str
    log_group: str


def read_function(functions: "LambdaClient", name: str) -> FunctionState | None:
    """Read the state of a function of this account and Region, or return None if it does not exist. Raise ApiError."""
    try:
        with calling("lambda:GetFunctionConfiguration"):
            found = functions.get_function_configuration(FunctionName=name)
    except ApiError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    return FunctionState(
        found.get("State", "Active"),
        found.get("LastUpdateStatus", "Successful"),
        found.get("StateReason") or found.get("LastUpdateStatusReason") or "",
        found.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{found['FunctionName']}",
    )


def read_activity(cloudwatch: "CloudWatchClient", function_name: str, now: datetime) -> Activity:
    """Read what CloudWatch counted for a function in the last day, and the hour of its last invocation within a week.

    https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html. Raise ApiError.
    """
    with calling("cloudwatch:GetMetricData"):
        answer = cloudwatch.get_metric_data(
            MetricDataQueries=[_query(metric, function_name) for metric in ("Invocations", "Errors")],
            StartTime=now - _WEEK,
            EndTime=now,
        )
    results = answer["MetricDataResults"]
    for result in results:
        if result["StatusCode"] != "Complete":
            raise ApiError("cloudwatch:GetMetricData", result["StatusCode"], f"{result['Label']} of {function_name}")
    by_time = {result["Id"]: dict(zip(result["Timestamps"], result["Values"], strict=True)) for result in results}
    last_day = {
        metric: sum(count for time, count in counts.items() if now - time <= _DAY) for metric, counts in by_time.items()
    }
    invoked = [time for time, count in by_time["invocations"].items() if count]
    return Activity(int(last_day["invocations"]), int(last_day["errors"]), max(invoked, default=None))


def _query(metric: str, function_name: str) -> Any:  # noqa: ANN401  # a literal of the stubs
    dimensions = [{"Name": "FunctionName", "Value": function_name}]
    return {
        "Id": metric.lower(),
        "MetricStat": {
            "Metric": {"Namespace": "AWS/Lambda", "MetricName": metric, "Dimensions": dimensions},
            "Period": _HOUR,
            "Stat": "Sum",
        },
    }


def count_messages(sqs: "SQSClient", url: str) -> int:
    """Read the approximate number of messages in a queue. Raise ApiError."""
    with calling("sqs:GetQueueAttributes"):
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(found["Attributes"]["ApproximateNumberOfMessages"])
