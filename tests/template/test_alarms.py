"""The alarms and notices say what happened, where, why, and what to run, and go off when they should."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from moto.events.models import EventPattern

from config_rule_sandbox.cloudwatch.alarms import alarm_state
from config_rule_sandbox.server import Sandbox
from express_path.adapters.health import WATCHES
from express_path.adapters.topic_filters import NOTICE, Message, Subscription, may_take
from tests.cli.doctor.whole_stack import topic_with_subscription
from tests.support.template import INTEGRATIONS, MAIN, expanded, source
from tests.template.models import bounds

TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
NOTICES = sorted(name for name, resource in source()["Resources"].items() if name.endswith("Notice"))
HEALTH = expanded().properties("HealthAlarm")
HOUR = 3600
FIXED = {"account", "region", "time", "document", "status", "call"}
"""What EventBridge sets, and what the patterns allow only certain values of."""
ORIGIN = {"version": "0", "account": "123456789012", "region": "eu-west-1", "time": "2026-11-22T23:14:05Z"}


def automation(document: str, status: str) -> dict[str, Any]:
    """Return an event of a run of a runbook.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/monitoring-systems-manager-event-examples.html
    """
    detail = {
        "ExecutionId": "333ba70b-2333-48db-b17e-a5e69c6f4d1c",
        "Definition": document,
        "DefinitionVersion": 1.0,
        "Status": status,
        "StartTime": "Nov 22, 2026 11:13:05 PM",
        "EndTime": "Nov 22, 2026 11:14:05 PM",
        "Time": 60000.0,
        "ExecutedBy": "arn:aws:iam::123456789012:user/jane",
    }
    return ORIGIN | {
        "source": "aws.ssm",
        "detail-type": "EC2 Automation Execution Status-change Notification",
        "detail": detail,
    }


def api_call(name: str, parameters: Mapping[str, Any], **detail: str) -> dict[str, Any]:
    """Return an event of a call to AWS Config, as CloudTrail records it.

    https://docs.aws.amazon.com/config/latest/developerguide/log-api-calls.html
    """
    call = {
        "eventSource": "config.amazonaws.com",
        "eventName": name,
        "userIdentity": {"type": "IAMUser", "arn": "arn:aws:iam::123456789012:user/jane"},
        "requestParameters": parameters,
    }
    return ORIGIN | {"source": "aws.config", "detail-type": "AWS API Call via CloudTrail", "detail": call | detail}


def compliance_changed(old: str | None, new: str) -> dict[str, Any]:
    """Return AWS Config's event of a subnet whose compliance changed.

    https://docs.aws.amazon.com/config/latest/developerguide/monitor-config-with-cloudwatchevents.html
    """
    detail = {
        "resourceId": "subnet-0123456789abcdef0",
        "resourceType": "AWS::EC2::Subnet",
        "awsRegion": "eu-west-1",
        "awsAccountId": "123456789012",
        "configRuleName": "s3express-no-nat-path",
        "messageType": "ComplianceChangeNotification",
        "newEvaluationResult": {"complianceType": new},
    }
    before = {"oldEvaluationResult": {"complianceType": old}} if old else {}
    kind = {"source": "aws.config", "detail-type": "Config Rules Compliance Change"}
    return ORIGIN | kind | {"detail": detail | before}


EVENTS = {
    "lost endpoint": (compliance_changed("COMPLIANT", "NON_COMPLIANT"), {"EndpointLostNotice"}),
    "healed": (compliance_changed("NON_COMPLIANT", "COMPLIANT"), set()),
    "new subnet": (compliance_changed(None, "NON_COMPLIANT"), set()),
    "failed heal": (automation("AddS3ExpressGatewayEndpoint", "Failed"), {"HealFailedNotice"}),
    "failed approval": (automation("AddS3ExpressGatewayEndpointWithApproval", "TimedOut"), {"HealFailedNotice"}),
    "failed undo": (automation("RemoveS3ExpressGatewayEndpoint", "Failed"), {"HealFailedNotice"}),
    "undo": (automation("RemoveS3ExpressGatewayEndpoint", "Success"), {"HealUndoneNotice"}),
    "heal": (automation("AddS3ExpressGatewayEndpoint", "Success"), set()),
    "cancelled heal": (automation("AddS3ExpressGatewayEndpoint", "Cancelled"), set()),
    "other runbook": (automation("AWS-RestartEC2Instance", "Failed"), set()),
    "stopped recorder": (
        api_call("StopConfigurationRecorder", {"configurationRecorderName": "default"}),
        {"RecorderNotice"},
    ),
    "changed recorder": (api_call("PutConfigurationRecorder", {}), {"RecorderNotice"}),
    "denied stop": (api_call("StopConfigurationRecorder", {}, errorCode="AccessDenied"), set()),
    "started recorder": (api_call("StartConfigurationRecorder", {}), set()),
}


def stack_value(node: Any) -> Any:
    """Return a resolved node in which names of the runbooks replace the placeholders."""
    stack = expanded(AlarmTopicArn=TOPIC)
    text = re.sub(r'"<(\w+Document)>"', lambda match: json.dumps(stack.properties(match[1])["Name"]), json.dumps(node))
    return json.loads(text)


def matches(notice: str, event: dict[str, Any]) -> bool:
    """Return whether EventBridge would pass the event to the notice's target."""
    pattern = stack_value(expanded(AlarmTopicArn=TOPIC).properties(notice)["EventPattern"])
    return EventPattern(None, pattern).matches_event(event)


def value_at(path: str, event: Any) -> str:
    """Return what an input path such as $.detail.keys[0].id selects. Raise LookupError if there is nothing."""
    for name, index in re.findall(r"\.([\w-]+)|\[(\d+)\]", path):
        event = event[name] if name else event[int(index)]
    return str(event)


def message(notice: str, event: dict[str, Any]) -> dict[str, Any]:
    """Return the content of the message that EventBridge makes of an event."""
    [target] = expanded(AlarmTopicArn=TOPIC).properties(notice)["Targets"]
    assert target["Arn"] == TOPIC
    values = {name: value_at(path, event) for name, path in target["InputTransformer"]["InputPathsMap"].items()}
    template = target["InputTransformer"]["InputTemplate"]
    assert set(re.findall(r"<(\w+)>", template)) == values.keys()
    sent = json.loads(re.sub(r"<(\w+)>", lambda match: values[match[1]], template))
    assert (sent["version"], sent["source"]) == ("1.0", "custom")
    content: dict[str, Any] = sent["content"]
    return content


@pytest.mark.parametrize("name", EVENTS)
def test_notices_select_the_events_that_matter(name: str) -> None:
    """Failed runs, undone heals, and a recorder that no longer records are reported, and nothing else."""
    event, expected = EVENTS[name]
    assert {notice for notice in NOTICES if matches(notice, event)} == expected


@pytest.mark.parametrize("notice", NOTICES)
def test_notice_says_what_where_why_and_what_to_run(notice: str) -> None:
    """Each message names the resource or run, account, and Region, and each next step is a command."""
    event = next(event for event, notices in EVENTS.values() if notice in notices)
    content = message(notice, event)
    assert {"123456789012", "eu-west-1"} <= set(re.findall(r"[\w-]+", content["description"]))
    assert all(re.search(r": (aws|express-path) .*--region us-east-1$", step) for step in content["nextSteps"])
    assert len(json.dumps(content)) < 2048


@pytest.mark.parametrize("notice", NOTICES)
def test_no_text_of_an_event_is_part_of_a_command(notice: str) -> None:
    """Only AWS can send the events, commands contain nothing of them, and what people choose in them is in quotes."""
    notice_rule = expanded(AlarmTopicArn=TOPIC).properties(notice)
    assert "EventBusName" not in notice_rule
    assert all(name.startswith("aws.") for name in notice_rule["EventPattern"]["source"])
    [target] = notice_rule["Targets"]
    content = json.loads(target["InputTransformer"]["InputTemplate"])["content"]
    assert not re.search(r"<\w+>", " ".join(content["nextSteps"]))
    of_people = set(target["InputTransformer"]["InputPathsMap"]) - FIXED
    assert not [name for name in of_people if f"<{name}>" in content["title"]]
    for name in of_people:
        assert content["description"].count(f"<{name}>") == content["description"].count(f'"<{name}>"'), name


def test_notices_have_targets_only_with_a_topic() -> None:
    """Without a topic, there are no rules. EventBridge has a role, which may publish to that topic only, in other accounts."""
    needed = {*NOTICES, "UnsentNotices", "UnsentNoticesPolicy", "UnsentNoticesAlarm"}
    assert not expanded().resources.keys() & {*needed, "NoticeRole"}
    for topic in (TOPIC, TOPIC.replace("123456789012", "{account}")):
        assert expanded(AlarmTopicArn=topic).resources.keys() & {*needed, "NoticeRole"} == needed
        assert not [notice for notice in NOTICES if "RoleArn" in target_of(notice, topic)]
    foreign = TOPIC.replace("123456789012", "210987654321")
    assert {target_of(notice, foreign)["RoleArn"] for notice in NOTICES} == {"<NoticeRole.Arn>"}
    [policy] = expanded(AlarmTopicArn=foreign).properties("NoticeRole")["Policies"]
    notify, encrypt = policy["PolicyDocument"]["Statement"]
    assert (notify["Action"], notify["Resource"]) == ("sns:Publish", foreign)
    assert encrypt["Condition"]["StringEquals"] == {
        "kms:ViaService": "sns.us-east-1.amazonaws.com",
        "kms:EncryptionContext:aws:sns:topicArn": foreign,
    }


def target_of(notice: str, topic: str) -> dict[str, Any]:
    """Return the target of a notice in a stack with a topic."""
    [target] = expanded(AlarmTopicArn=topic).properties(notice)["Targets"]
    return dict(target)


def test_notice_is_published_or_kept(sandbox: Sandbox) -> None:
    """A topic with the policy of the page takes it. What a topic with the default policy refuses is in the queue."""
    stack, events, sqs, sns = expanded(AlarmTopicArn=TOPIC), *map(sandbox.client, ("events", "sqs", "sns"))
    policy = json.dumps(stack.deployed(stack.properties("UnsentNoticesPolicy")["PolicyDocument"]))
    queue = sqs.create_queue(QueueName=stack.deployed("<UnsentNotices>"), Attributes={"Policy": policy})["QueueUrl"]
    rule, target = stack.deployed("<HealFailedNotice>"), target_of("HealFailedNotice", TOPIC)
    del target["InputTransformer"]
    events.put_rule(Name=rule, EventPattern=json.dumps({"source": ["aws.ssm"]}))
    events.put_targets(Rule=rule, Targets=[stack.deployed(target)])
    topic_with_subscription(sandbox, "alarms")
    for kept in (False, True):
        events.put_events(Entries=[{"Source": "aws.ssm", "DetailType": "any", "Detail": "{}"}])
        assert ("Messages" in sqs.receive_message(QueueUrl=queue)) is kept
        sns.delete_topic(TopicArn=TOPIC)
        sns.create_topic(Name="alarms")


def test_alarms_name_the_account_and_a_command() -> None:
    """Every alarm names the rule, account, Region, and at least one command, within CloudWatch's limit."""
    for resource in expanded().resources.values():
        if resource["Type"] == "AWS::CloudWatch::Alarm":
            description = resource["Properties"]["AlarmDescription"]
            assert "123456789012, us-east-1" in description
            assert re.search(r'"(aws|express-path) [^"]*"', description)
            assert len(description) in bounds("cloudwatch", "AlarmDescription")


def test_the_alarm_watches_what_only_aws_writes() -> None:
    """Its metric is Lambda's own of the health function. No metric that somebody can put, or a log filter makes, is watched."""
    dimensions = [{"Name": "FunctionName", "Value": "<HealthFunction>"}]
    assert (HEALTH["Namespace"], HEALTH["MetricName"], HEALTH["Dimensions"]) == ("AWS/Lambda", "Errors", dimensions)
    alarms = [row["Properties"] for row in expanded(AlarmTopicArn=TOPIC).resources.values() if "Alarm" in row["Type"]]
    assert {alarm["Namespace"].partition("/")[0] for alarm in alarms} == {"AWS"}
    assert not [row for row in expanded().resources.values() if row["Type"] == "AWS::Logs::MetricFilter"]


def test_the_check_knows_what_each_alarm_watches() -> None:
    """An alarm that somebody lets watch another metric is a fault, so the check has the metric of each template."""
    alarms = {
        name: resource["Properties"]["MetricName"]
        for template in (MAIN, INTEGRATIONS)
        for name, resource in source(template)["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    }
    assert alarms == WATCHES


@pytest.mark.parametrize("notice", NOTICES)
def test_the_check_knows_the_form_of_each_notice(notice: str) -> None:
    """A filter policy that wants what the template says may take it, one that wants anything else does not."""
    [target] = expanded(AlarmTopicArn=TOPIC).properties(notice)["Targets"]
    body = json.loads(target["InputTransformer"]["InputTemplate"])
    assert (body.keys(), body["content"].keys()) == (NOTICE.keys(), NOTICE["content"].keys())
    message = Message("notice", notice, NOTICE)
    for name in ("textType", "title"):
        for text, takes in ((body["content"][name], True), ("other", False)):
            assert may_take(Subscription("", {"content": {name: [text]}}, "MessageBody"), message) is takes
    for name in ("version", "source"):
        assert body[name] == NOTICE[name]


def test_what_the_alarm_evaluates_is_allowed() -> None:
    """With periods of an hour, seven days may be evaluated; else, one day. https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html."""
    assert HEALTH["Period"] >= HOUR
    assert HEALTH["Period"] * HEALTH["EvaluationPeriods"] <= 7 * 24 * HOUR
    assert (HEALTH["DatapointsToAlarm"], HEALTH["TreatMissingData"]) == (HEALTH["EvaluationPeriods"], "breaching")


def test_the_alarm_pages_nobody_before_the_sweep_of_the_second_day() -> None:
    """Until then it is not evaluated, whatever the first check finds, which may run before the stack is complete."""
    warm_up = HEALTH["WarmUpConfiguration"]
    assert warm_up["OnlyStartEvaluatingAfterWarmUpPeriodEnds"]
    assert warm_up["WarmUpPeriodDurationInMinutes"] in bounds("cloudwatch", "WarmUpPeriodDurationInMinutes")
    evaluated = HEALTH["Period"] * HEALTH["EvaluationPeriods"]
    assert evaluated < warm_up["WarmUpPeriodDurationInMinutes"] * 60 <= evaluated + HOUR
    first_day = [1.0, *[None] * 23, 0.0, None]
    assert alarm_state(HEALTH, first_day) == "OK"
    assert alarm_state(HEALTH, [1.0, *[None] * 25]) == alarm_state(HEALTH, [None] * 26) == "ALARM"


def sweeps(starts: Sequence[int], hours: int, failed: int = 0) -> list[float | None]:
    """Return the fewest errors of each hour, None without a check, for sweeps that start at these seconds."""
    values: list[float | None] = [None] * hours
    for start in starts:
        values[start // HOUR] = failed
    return values


def states(values: Sequence[float | None], extra: int) -> list[str]:
    """Return the state of the alarm at the end of each hour, from the third day on."""
    return [alarm_state(HEALTH, values[: hour + 1], extra) for hour in range(48, len(values))]


@pytest.mark.parametrize("extra", [0, 3, 10])
def test_daily_sweeps_never_raise_the_alarm_and_silence_always_does(extra: int) -> None:
    """Sweeps up to an hour late are no silence. After the last one, the alarm goes off, and a sweep turns it off."""
    source_of_delays = random.Random(25)
    starts = [day * 24 * HOUR + source_of_delays.randrange(HOUR) for day in range(1, 15)]
    hours = sweeps(starts, 20 * 24)
    last = max(starts) // HOUR
    found = states(hours, extra)
    first_alarm = 48 + found.index("ALARM")
    assert last + 25 <= first_alarm <= last + 25 + extra
    assert set(found[found.index("ALARM") :]) == {"ALARM"}
    assert alarm_state(HEALTH, [*hours, 0], extra) == "OK"


@pytest.mark.parametrize("extra", [0, 3, 10])
def test_a_sweep_that_finds_a_fault_raises_the_alarm_within_hours(extra: int) -> None:
    """It goes off when the last sweep that found nothing is too old to count, and the next healthy one turns it off."""
    days = [day * 24 * HOUR for day in range(1, 6)]
    broken = [day * 24 * HOUR for day in range(6, 10)]
    values = [*sweeps(days, 6 * 24), *sweeps(broken, 11 * 24, failed=1)[6 * 24 :]]
    found = states(values, extra)
    first_alarm = 48 + found.index("ALARM")
    assert broken[0] // HOUR < first_alarm <= broken[0] // HOUR + 1 + extra
    assert set(found[found.index("ALARM") :]) == {"ALARM"}
    assert alarm_state(HEALTH, [*values, 0], extra) == "OK"
