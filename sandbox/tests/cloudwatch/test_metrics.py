"""The corrections of moto's CloudWatch: dimensions, retention, pages, and listed metrics; and when alarms go off."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudwatch.alarms import alarm_state
from config_rule_sandbox.cloudwatch.printed import Datapoint
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
HOUR = timedelta(hours=1)


@pytest.fixture
def cloudwatch(sandbox: Sandbox) -> Client:
    """A client of CloudWatch."""
    return sandbox.client("cloudwatch")


def query(dimensions: dict[str, str], namespace: str = "AWS/NATGateway", period: int = 3600) -> dict[str, Any]:
    """Return a query of the sum of BytesInFromSource."""
    named = [{"Name": name, "Value": value} for name, value in dimensions.items()]
    metric = {"Namespace": namespace, "MetricName": "BytesInFromSource", "Dimensions": named}
    return {"Id": "m0", "MetricStat": {"Metric": metric, "Period": period, "Stat": "Sum"}}


def ask(cloudwatch: Client, asked: dict[str, Any], days: int = 1, **more: object) -> dict[str, Any]:
    """Return the response to one query of the last days."""
    answer: dict[str, Any] = cloudwatch.get_metric_data(
        MetricDataQueries=[asked], StartTime=NOW - timedelta(days=days), EndTime=NOW, **more
    )
    return answer


def test_a_metric_is_its_namespace_name_and_all_its_dimensions(sandbox: Sandbox, cloudwatch: Client) -> None:
    """A metric with fewer dimensions, or in another namespace, is a different metric.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Dimension.
    """
    sandbox.metrics.record("nat-1", "BytesInFromSource", [(NOW - HOUR, 5.0)], zone="us-east-1a")
    whole = {"NatGatewayId": "nat-1", "AvailabilityZone": "us-east-1a"}
    values = [
        ask(cloudwatch, asked)["MetricDataResults"][0]["Values"]
        for asked in (query(whole), query({"NatGatewayId": "nat-1"}), query({}), query(whole, "AWS/Other"))
    ]
    assert values == [[5.0], [], [], []]


def test_a_period_finer_than_what_is_kept_has_no_datapoints(sandbox: Sandbox, cloudwatch: Client) -> None:
    """If the period is too short for the range, the whole range is empty, including its last hour.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricStat.html.
    """
    sandbox.metrics.record("nat-1", "BytesInFromSource", [(NOW - HOUR, 5.0)])
    gateway = {"NatGatewayId": "nat-1"}
    for days, period, expected in [(14, 60, [5.0]), (16, 60, []), (16, 300, [5.0]), (64, 300, []), (64, 3600, [5.0])]:
        found = ask(cloudwatch, query(gateway, period=period), days)["MetricDataResults"][0]
        assert found["Values"] == expected, (days, period)
        assert found["StatusCode"] == "Complete"


def test_datapoints_come_newest_first_and_in_pages(sandbox: Sandbox, cloudwatch: Client) -> None:
    """MaxDatapoints gives pages. A result that continues on the next page is PartialData.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html.
    """
    sandbox.metrics.record("nat-1", "BytesInFromSource", [(NOW - value * HOUR, value) for value in (1, 2, 3)])
    first = ask(cloudwatch, query({"NatGatewayId": "nat-1"}), MaxDatapoints=2)
    second = ask(cloudwatch, query({"NatGatewayId": "nat-1"}), MaxDatapoints=2, NextToken=first["NextToken"])
    found = [page["MetricDataResults"][0] for page in (first, second)]
    assert [(result["Values"], result["StatusCode"]) for result in found] == [
        ([1, 2], "PartialData"),
        ([3], "Complete"),
    ]
    assert "NextToken" not in second


@pytest.mark.parametrize(
    ("queries", "window", "fault"),
    [
        ([query({}) | {"Id": f"m{number}"} for number in range(501)], (NOW - HOUR, NOW), "500"),
        ([query({}), query({})], (NOW - HOUR, NOW), "not unique"),
        ([query({}, period=90)], (NOW - HOUR, NOW), "multiple of 60"),
        ([query({})], (NOW, NOW), "EndTime"),
    ],
)
def test_what_cloudwatch_refuses_is_refused(
    cloudwatch: Client, queries: list[dict[str, Any]], window: tuple[datetime, datetime], fault: str
) -> None:
    """A call accepts at most 500 queries, each with a unique Id and a period of whole minutes.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html.
    """
    with pytest.raises(ClientError, match=fault) as raised:
        cloudwatch.get_metric_data(MetricDataQueries=queries, StartTime=window[0], EndTime=window[1])
    assert raised.value.response["Error"]["Code"] == "ValidationError"


def test_a_listing_has_pages_of_500_metrics_of_one_account_and_region(sandbox: Sandbox, cloudwatch: Client) -> None:
    """The token returns the remaining metrics; each account and Region has its own.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Metric.
    """
    for number in range(501):
        sandbox.metrics.record(f"nat-{number}", "BytesInFromSource", [(NOW - HOUR, 1.0)])
    sandbox.metrics.record("nat-1", "BytesInFromSource", [(NOW - HOUR, 1.0)], place=("222222222222", "eu-west-1"))
    first = cloudwatch.list_metrics()
    assert len(first["Metrics"]) == 500
    assert len(cloudwatch.list_metrics(NextToken=first["NextToken"])["Metrics"]) == 1
    there = sandbox.client("cloudwatch", "eu-west-1", sandbox.credentials("222222222222"))
    assert len(there.list_metrics()["Metrics"]) == 1


@pytest.mark.parametrize(
    ("points", "datapoints", "breaching", "not_breaching"),
    [
        ("0 - X - X", 3, "OK", "OK"),
        ("- - - - 0", 3, "OK", "OK"),
        ("- - - - -", 3, "ALARM", "OK"),
        ("0 X X - X", 3, "ALARM", "ALARM"),
        ("- - X - -", 3, "ALARM", "OK"),
        ("0 - X - X", 2, "ALARM", "ALARM"),
        ("0 0 X 0 X", 2, "ALARM", "ALARM"),
        ("0 - X - -", 2, "ALARM", "OK"),
        ("- - - - 0", 2, "ALARM", "OK"),
        ("- - - X -", 2, "ALARM", "OK"),
    ],
)
def test_missing_data_counts_as_documented(points: str, datapoints: int, breaching: str, not_breaching: str) -> None:
    """These are the examples for three periods, of which five are read.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html.
    """
    alarm = {"EvaluationPeriods": 3, "DatapointsToAlarm": datapoints, "Threshold": 1}
    alarm["ComparisonOperator"] = "GreaterThanOrEqualToThreshold"
    values = [{"0": 0.0, "X": 1.0, "-": None}[point] for point in points.split()]
    states = [alarm_state(alarm | {"TreatMissingData": way}, values, 2) for way in ("breaching", "notBreaching")]
    assert states == [breaching, not_breaching]


def test_the_periods_of_an_alarm_slide_with_time(sandbox: Sandbox, cloudwatch: Client) -> None:
    """An alarm on two hours without data goes off two hours after the last datapoint, at any minute of the hour."""
    of_rule = (("RuleName", "rule"),)
    last = NOW - 5 * HOUR + timedelta(minutes=7)
    sandbox.metrics.add([Datapoint("ExpressPath", "Swept", of_rule, value, last) for value in (0.0, 2.0)])
    sandbox.metrics.add([Datapoint("ExpressPath", "Swept", (), 9.0, NOW - HOUR)])
    cloudwatch.put_metric_alarm(
        AlarmName="missing",
        Namespace="ExpressPath",
        MetricName="Swept",
        Dimensions=[{"Name": "RuleName", "Value": "rule"}],
        Statistic="Maximum",
        Period=3600,
        EvaluationPeriods=2,
        Threshold=2,
        ComparisonOperator="LessThanThreshold",
        TreatMissingData="breaching",
    )
    [alarm] = cloudwatch.describe_alarms()["MetricAlarms"]
    goes_off = NOW - 3 * HOUR + timedelta(minutes=8)
    assert sandbox.metrics.first_alarm(alarm, NOW - 4 * HOUR, NOW) == goes_off
    assert sandbox.metrics.first_alarm(alarm, NOW - 4 * HOUR, goes_off - timedelta(minutes=1)) is None
    assert sandbox.metrics.first_alarm(alarm, NOW - 6 * HOUR, NOW) == NOW - 6 * HOUR
