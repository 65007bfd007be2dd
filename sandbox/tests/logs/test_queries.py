"""Logs Insights as on AWS: moto does not filter records or calculate statistics."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

NOW = datetime.now(UTC).replace(microsecond=0)
PARSE = 'parse @message "* * * *" as interface, source, size, state'
SUM = "stats sum(size) as total by interface, state"


@pytest.fixture
def logs(sandbox: Sandbox) -> Client:
    """A CloudWatch Logs client with a log group that has some records."""
    client = sandbox.client("logs")
    client.create_log_group(logGroupName="group")
    client.create_log_stream(logGroupName="group", logStreamName="stream")
    put(client, "eni-1 10.0.0.1 5 OK", "eni-1 10.0.0.2 7 OK", "eni-2 10.1.0.1 11 OK", "eni-2 - - SKIPDATA")
    return client


def put(client: Client, *messages: str, age: timedelta = timedelta(hours=1)) -> None:
    """Put records of this age."""
    events = [{"timestamp": int((NOW - age).timestamp() * 1000), "message": message} for message in messages]
    client.put_log_events(logGroupName="group", logStreamName="stream", logEvents=events)


def ask(client: Client, *commands: str, start: datetime = NOW - timedelta(days=1), end: datetime = NOW) -> Any:
    """Return the response to a finished query."""
    query_id = client.start_query(
        logGroupName="group",
        startTime=int(start.timestamp()),
        endTime=int(end.timestamp()),
        queryString="\n| ".join([PARSE, *commands]),
    )["queryId"]
    assert client.get_query_results(queryId=query_id)["results"] == []
    return client.get_query_results(queryId=query_id)


def sums(answer: dict[str, Any]) -> dict[tuple[str, str], str | None]:
    """Return the total of each group."""
    rows = [{field["field"]: field["value"] for field in row} for row in answer["results"]]
    return {(row["interface"], row["state"]): row.get("total") for row in rows}


def test_what_passes_all_filters_is_added_up_by_group(logs: Client) -> None:
    """A sum ignores values that are not numbers. If none are left, it has no value.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Stats.html.
    """
    assert sums(ask(logs, SUM)) == {("eni-1", "OK"): "12", ("eni-2", "OK"): "11", ("eni-2", "SKIPDATA"): None}
    assert sums(ask(logs, 'filter interface in ["eni-1", "eni-9"]', 'filter state = "OK"', SUM)) == {
        ("eni-1", "OK"): "12"
    }


@pytest.mark.parametrize(
    ("condition", "total"),
    [
        ('isIpv4InSubnet(source, "10.0.0.0/24")', 12),
        ('isIpv4InSubnet(source, "10.0.0.0/16") and interface = "eni-2"', 0),
        ('interface = "eni-2" and state = "OK" or isIpv4InSubnet(source, "10.0.0.2/32")', 18),
        ('interface = "eni-2" and (state = "SKIPDATA" or isIpv4InSubnet(source, "10.0.0.2/32"))', 0),
        ('missing = "x"', 0),
    ],
)
def test_conditions_are_evaluated(logs: Client, condition: str, total: int) -> None:
    """`and` takes precedence over `or`, and a value that is not an address is in no subnet.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-operations-functions.html.
    """
    found = sums(ask(logs, f"filter {condition}", SUM))
    assert sum(int(value or 0) for value in found.values()) == total


def test_a_record_that_does_not_match_has_no_fields(logs: Client) -> None:
    """Records of another format match no filter, and the last star matches the rest of a line.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Parse.html.
    """
    put(logs, "eni-1 10.0.0.1", "eni-1 10.0.0.1 5 OK and more")
    found = sums(ask(logs, 'filter interface = "eni-1"', SUM))
    assert found == {("eni-1", "OK"): "12", ("eni-1", "OK and more"): "5"}


def test_both_ends_of_the_time_range_are_included(logs: Client) -> None:
    """Seconds count (https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html)."""
    then, second = NOW - timedelta(hours=1), timedelta(seconds=1)
    for first, last, found in ((0, 1, True), (-1, 0, True), (1, 2, False), (-2, -1, False)):
        assert bool(sums(ask(logs, SUM, start=then + first * second, end=then + last * second))) is found


def test_a_query_runs_before_it_completes_and_says_what_it_scanned(logs: Client) -> None:
    """Statistics count all records in the time range, whatever the filter.

    https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_QueryStatistics.html.
    """
    answer = ask(logs, 'filter interface = "eni-1"', SUM)
    assert answer["status"] == "Complete"
    scanned = answer["statistics"]
    assert (scanned["recordsMatched"], scanned["recordsScanned"]) == (2, 4)
    assert scanned["bytesScanned"] == sum(map(len, ["eni-1 10.0.0.1 5 OK"] * 2)) + len("eni-2 10.1.0.1 11 OK") + 18


def test_what_does_not_exist_or_is_no_range_is_refused(logs: Client) -> None:
    """Unknown log groups and queries, a range that ends before it begins, and a query of 10,000 characters are rejected.

    https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html.
    """
    query = {"queryString": f"{PARSE}\n| {SUM}", "startTime": 1, "endTime": 2}
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        logs.start_query(logGroupName="other", **query)
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        logs.get_query_results(queryId="none")
    with pytest.raises(logs.exceptions.InvalidParameterException):
        logs.start_query(logGroupName="group", **query | {"startTime": 3})
    with pytest.raises(ClientError):
        logs.start_query(logGroupName="group", **query | {"queryString": f"{PARSE}\n| {SUM}" + " " * 10_000})
