"""A common cause in all accounts makes one message for each Region and one for the organization, not one for each account."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config_rule_sandbox.cloudwatch.alarms import alarm_state
from config_rule_sandbox.cloudwatch.metric_data import Key, Point
from config_rule_sandbox.cloudwatch.metrics_insights import periods_of
from express_path.adapters.silence import FINDINGS_FUNCTION, HEALTH_FUNCTION
from org.dashboard import EVALUATE, FINDINGS, HEALTH
from tests.support.iam import actions
from tests.support.template import INTEGRATIONS, ROOT, Expanded, expanded
from tests.template.test_permissions import PARAMETERS, statements

ACCOUNTS, REGIONS = 300, 4
TOPIC = "arn:aws:sns:{region}:999988887777:express-path-alarms"
MONITORING = expanded("org/monitoring.yaml", **PARAMETERS["org/monitoring.yaml"])
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DROPPED = {"AsyncEventsDropped": {0: 1.0}}
DENIED: Mapping[str, Mapping[int, float]] = {**DROPPED, "Errors": dict.fromkeys((0, 24), 1.0)}
"""What a denied permission does in an account: the sweeps fail, and so do the checks after them; hours ago by metric."""


def alarms(stack: Expanded) -> dict[str, dict[str, Any]]:
    """Return the alarms of a stack by logical ID."""
    kind = "AWS::CloudWatch::Alarm"
    return {name: stack.properties(name) for name, row in stack.resources.items() if row["Type"] == kind}


def sends(alarm: Mapping[str, Any]) -> bool:
    """Return whether an alarm sends a message when it goes off."""
    return bool(alarm.get("AlarmActions") and alarm.get("ActionsEnabled", True))


UNWRITTEN: Mapping[str, Mapping[int, float]] = {
    "ApproximateNumberOfMessagesVisible": {0: 1.0},
    "Invocations": dict.fromkeys((0, 24), 1.0),
}
"""What a denied BatchImportFindings does: the messages about verdicts fail."""


def messages_of_a_member(
    trouble: Mapping[str, Mapping[int, float]], template: str = "template.yaml", **parameters: str
) -> int:
    """Return how many messages the alarms of one account and Region send."""
    number = 0
    for alarm in alarms(expanded(template, AlarmTopicArn=TOPIC, **parameters)).values():
        hours = trouble.get(alarm["MetricName"])
        if hours is not None and sends(alarm):
            values = [hours.get(hour) for hour in reversed(range(alarm["EvaluationPeriods"]))]
            number += alarm_state(alarm, values) == "ALARM"
    return number


def errors_alarm(recorded: list[Mapping[Key, list[Point]]]) -> str:
    """Return the state of the alarm of one Region, with what the accounts recorded there."""
    alarm = alarms(MONITORING)["ErrorsAlarm"]
    [query] = alarm["Metrics"]
    period, number = timedelta(seconds=query["Period"]), alarm["EvaluationPeriods"]
    return alarm_state(alarm, periods_of(query["Expression"], recorded, NOW, period, number))


def dropped(function: str, value: float = 1) -> Mapping[Key, list[Point]]:
    """Return what an account records if events of a function fail all retries."""
    key = ("AWS/Lambda", "AsyncEventsDropped", frozenset({("FunctionName", function)}))
    return {key: [(NOW - timedelta(minutes=1), value)]}


def test_a_common_cause_is_five_messages() -> None:
    """A permission that is denied in 300 accounts and four Regions was 2,400 messages. Now it is one for each Region, and one."""
    before = ACCOUNTS * REGIONS * messages_of_a_member(DENIED, AlarmMessages="true")
    of_members = ACCOUNTS * REGIONS * messages_of_a_member(DENIED, AlarmMessages="false")
    of_regions = REGIONS * (errors_alarm([dropped(EVALUATE)] * ACCOUNTS) == "ALARM")
    of_organization = alarm_state(alarms(MONITORING)["SilenceAlarm"], [1.0]) == "ALARM"
    assert (before, of_members + of_regions + of_organization) == (2400, 5)


def test_findings_that_nobody_can_write_are_one_message() -> None:
    """It was one of each account and Region. Now it is that of the daily check."""
    before, after = (
        ACCOUNTS * REGIONS * messages_of_a_member(UNWRITTEN, INTEGRATIONS, AlarmMessages=value)
        for value in ("true", "false")
    )
    of_organization = alarm_state(alarms(MONITORING)["SilenceAlarm"], [1.0]) == "ALARM"
    assert (before, after + of_organization) == (1200, 1)


@pytest.mark.parametrize(
    ("recorded", "state"),
    [
        ([], "OK"),
        ([dropped(EVALUATE, 0)] * 300, "OK"),
        ([dropped(EVALUATE, 0)] * 299 + [dropped(EVALUATE)], "ALARM"),
        ([dropped("another-EvaluateFunction")] * 300, "OK"),
        ([dropped(f"{EVALUATE}-2")], "OK"),
    ],
)
def test_errors_of_exactly_our_function_count(recorded: list[Mapping[Key, list[Point]]], state: str) -> None:
    """One account is enough, and no other function counts, whatever its name contains."""
    assert errors_alarm(recorded) == state


def test_alarms_on_queries_do_not_look_back_too_far() -> None:
    """CloudWatch reads the last three hours for them."""
    for alarm in alarms(MONITORING).values():
        for query in alarm.get("Metrics", ()):
            assert alarm["EvaluationPeriods"] * query["Period"] <= 3 * 3600


def test_the_daily_check_is_sent_once_a_day_and_a_missing_one_after_25_hours() -> None:
    """The silence alarm ends after its hour. Nothing is on before the check could have run: the other alarm warms up."""
    silence, missing = (alarms(MONITORING)[name] for name in ("SilenceAlarm", "CheckMissingAlarm"))
    assert [alarm_state(silence, [value]) for value in (1.0, None, 0.0)] == ["ALARM", "OK", "OK"]
    assert alarm_state(missing, [None] * 25) == "ALARM"
    assert alarm_state(missing, [None] * 23 + [1.0, None]) == "OK"
    assert missing["WarmUpConfiguration"]["WarmUpPeriodDurationInMinutes"] > 25 * 60
    assert all(sends(alarm) for alarm in alarms(MONITORING).values())


def test_the_role_of_the_daily_check_allows_what_it_calls() -> None:
    """It allows exactly the listed operations, and to write its log."""
    listed = json.loads((ROOT / "functions" / "operations.json").read_bytes())["check_organization"]
    called = {f"{service}:{operation}" for service, names in listed.items() for operation in names}
    allowed = {action for row in statements(MONITORING.properties("CheckRole")["Policies"]) for action in actions(row)}
    assert allowed == called | {"logs:CreateLogStream", "logs:PutLogEvents"}


def test_what_is_watched_are_the_names_of_the_functions() -> None:
    """The alarm, the dashboard, and the daily check name the functions as the stack of a StackSet does."""
    stack = expanded()
    names = [stack.properties(name)["FunctionName"] for name in ("EvaluateFunction", "HealthFunction")]
    assert names == [EVALUATE, HEALTH] == [EVALUATE, HEALTH_FUNCTION]
    other = expanded(RuleName="r" * 42)
    longest = [other.properties(name)["FunctionName"] for name in ("EvaluateFunction", "HealthFunction")]
    assert max(map(len, longest)) == 64
    function = expanded(INTEGRATIONS).properties("SecurityHubFunction")["FunctionName"]
    assert function == FINDINGS == FINDINGS_FUNCTION
    assert len(expanded(INTEGRATIONS, RuleName="r" * 42).properties("SecurityHubFunction")["FunctionName"]) == 64
    [query] = alarms(MONITORING)["ErrorsAlarm"]["Metrics"]
    assert f"FunctionName = '{EVALUATE}'" in query["Expression"]
