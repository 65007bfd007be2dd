"""Reading how the deployed functions are, and what waits in the queue of failed events."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.errors import ApiError
from express_path_cli.doctor.rule_checks import Activity, FunctionState

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

_HOUR = 3600
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


def read_function(functions: "LambdaClient", name: str) -> FunctionState | None:
    """The state of a function of this account and Region, None where there is no such function. Raises ApiError."""
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
    """What CloudWatch counted of a function in the last day, and the hour of its last invocation within a week.

    https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html. Raises ApiError.
    """
    with calling("cloudwatch:GetMetricData"):
        answer = cloudwatch.get_metric_data(
            MetricDataQueries=[_query(each, function_name) for each in ("Invocations", "Errors")],
            StartTime=now - _WEEK,
            EndTime=now,
        )
    for each in answer["MetricDataResults"]:
        if each["StatusCode"] != "Complete":
            raise ApiError("cloudwatch:GetMetricData", each["StatusCode"], f"{each['Label']} of {function_name}")
    counted = {
        each["Id"]: dict(zip(each["Timestamps"], each["Values"], strict=True)) for each in answer["MetricDataResults"]
    }
    lately = {name: sum(n for at, n in values.items() if now - at <= _DAY) for name, values in counted.items()}
    invoked = [at for at, number in counted["invocations"].items() if number]
    return Activity(int(lately["invocations"]), int(lately["errors"]), max(invoked, default=None))


def _query(metric: str, function_name: str) -> Any:  # noqa: ANN401  # a literal of the stubs
    named = [{"Name": "FunctionName", "Value": function_name}]
    return {
        "Id": metric.lower(),
        "MetricStat": {
            "Metric": {"Namespace": "AWS/Lambda", "MetricName": metric, "Dimensions": named},
            "Period": _HOUR,
            "Stat": "Sum",
        },
    }


def count_messages(sqs: "SQSClient", url: str) -> int:
    """How many messages are in a queue, about. Raises ApiError."""
    with calling("sqs:GetQueueAttributes"):
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(found["Attributes"]["ApproximateNumberOfMessages"])
