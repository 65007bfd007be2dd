"""What does not work of an installation: what counts as broken, and that a check never raises."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config_rule_sandbox.cloudwatch.printed import Datapoint
from config_rule_sandbox.config.remediation.exceptions import add_exception
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.aws import LAMBDA_CONFIG, Aws
from express_path.adapters.health import (
    NO_NOTICES,
    NOTICES,
    Fault,
    Installation,
    Topic,
    alarm_problem,
    alarm_topic_problem,
    config_rule_problem,
    endpoints_problem,
    faults_of,
    invocation_problem,
    policy_parameter_problem,
    silence_problem,
)
from express_path.adapters.recorder import Recorder, RecorderStatus, Strategy, recorder_problem, types_problem
from express_path.adapters.runbooks import runbooks_of
from express_path.adapters.topic_filters import NOTICE, Message, Subscription, alarm_body, filters_problem, may_take
from express_path.domain.heal.records import MANAGED_TAG
from express_path.errors import RecordError
from tests.support.network import Builder, Private
from tests.support.stack import listed_stack

TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
EVERYONE_OF_THE_ACCOUNT = {
    "Effect": "Allow",
    "Principal": {"AWS": "*"},
    "Action": ["SNS:GetTopicAttributes", "SNS:Publish"],
    "Resource": TOPIC,
    "Condition": {"StringEquals": {"AWS:SourceOwner": "123456789012"}},
}
"""The statement of a topic that nobody gave a policy."""
CLOUDWATCH = {"Effect": "Allow", "Principal": {"Service": "cloudwatch.amazonaws.com"}, "Action": "sns:Publish"}
EVENTS = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sns:Publish"}
ROLE = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "sns:*"}
DENY = {"Effect": "Deny", "Principal": "*", "Action": "sns:*", "Resource": "*"}
INSECURE = {**DENY, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
NAMES = {
    "LedgerTable": "ledger",
    "PlanFunction": "plan",
    "AutomationRole": "automation",
    "PlanRole": "planning",
    "StopRole": "stop-role",
    "NoticeRole": "telling",
    "ConfigRule": "rule",
    "EvaluateFunction": "evaluate",
    "EventBus": "bus",
    "HealthFunction": "check",
    "HealthRule": "bus|ends",
    "HealthAlarm": "stack-HealthAlarm",
    "ErrorsAlarm": "stack-ErrorsAlarm",
    "EvaluateLogGroup": "log-group",
    **{logical_id: logical_id.lower() for logical_id in NOTICES},
}
ALARMS = "arn:aws:cloudwatch:us-east-1"
NETWORK_ROLE = "arn:aws:iam::210987654321:role/network"
PARAMETERS = {
    "RuleName": "rule",
    "RemediationMode": "ON",
    "AlarmTopicArn": "arn:aws:sns:{region}:{account}:alarms",
    "NetworkRoleArn": NETWORK_ROLE,
    "EndpointPolicyParameter": "/network/policy",
}
COMPONENTS = [
    "recorder",
    "rule",
    *["evaluate function"] * 2,
    "health rule",
    *["runbook"] * 3,
    "remediation",
    "ledger",
    "plan function",
    "role of the runbooks",
    "role of the plan function",
    "role that stops heals",
    "network role",
    "endpoint policy",
    "log",
    "alarm topic",
    *["alarm"] * 2,
    *["notice"] * 4,
    "role of the notices",
]


STACK = Installation(
    "arn:aws:cloudformation:us-east-1:123456789012:stack/stack/1",
    NAMES,
    PARAMETERS,
    TOPIC,
    "",
    ("HealthAlarm", "ErrorsAlarm"),
    datetime(2026, 11, 1, tzinfo=UTC),
)
WITH_ROLE = replace(STACK, notice_role="telling")
OTHERS = "arn:aws:sns:us-east-1:123456789012:others"


def found_in(sandbox: Sandbox, names: Mapping[str, str] = NAMES, **parameters: str) -> list[Fault]:
    """Return the faults of a stack with these resources."""
    stack_id = listed_stack(sandbox, "stack", names, **(PARAMETERS | parameters))
    return faults_of(Aws.connect(client_config=LAMBDA_CONFIG), stack_id)


def without(statement: dict[str, Any], element: str) -> dict[str, Any]:
    """Return a statement without an element."""
    return {name: value for name, value in statement.items() if name != element}


@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        ([EVERYONE_OF_THE_ACCOUNT], True),
        ([CLOUDWATCH], True),
        (CLOUDWATCH, True),
        ([{**CLOUDWATCH, "Action": ["sns:Pub*"]}], True),
        ([{**CLOUDWATCH, "Principal": {"Service": ["events.amazonaws.com", "cloudwatch.amazonaws.com"]}}], True),
        ([{**CLOUDWATCH, "Principal": "*"}], True),
        ([CLOUDWATCH, INSECURE], True),
        ([CLOUDWATCH, {**EVENTS, "Effect": "Deny"}], True),
        ([CLOUDWATCH, DENY], False),
        ([{**CLOUDWATCH, "Action": "sns:Subscribe"}], False),
        ([EVENTS, ROLE], False),
        ([{**ROLE, "Principal": {"AWS": "*"}, "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}], False),
        ([{**CLOUDWATCH, "Resource": OTHERS}], False),
        ([{**CLOUDWATCH, "Resource": f"{TOPIC}*"}], True),
        ([CLOUDWATCH, {**DENY, "Condition": {"DateGreaterThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}}}], False),
        ([CLOUDWATCH, {**DENY, "Condition": {"DateGreaterThan": {"aws:CurrentTime": "2999-01-01T00:00:00Z"}}}], True),
        ([CLOUDWATCH, {**DENY, "Condition": {"Null": {"aws:PrincipalOrgID": "true"}}}], False),
        ([CLOUDWATCH, {**DENY, "Condition": {"StringNotEquals": {"aws:SourceAccount": "123456789012"}}}], True),
        ([CLOUDWATCH, {**DENY, "Condition": {"StringNotEquals": {"aws:SourceOrgID": "o-1"}}}], True),
        ([CLOUDWATCH, without(DENY, "Action") | {"NotAction": "sns:GetTopicAttributes"}], False),
        ([CLOUDWATCH, without(DENY, "Action") | {"NotAction": "sns:Publish"}], True),
        ([CLOUDWATCH, without(DENY, "Resource") | {"NotResource": OTHERS}], False),
        ([CLOUDWATCH, without(DENY, "Principal") | {"NotPrincipal": ROLE["Principal"]}], False),
        ([CLOUDWATCH, without(DENY, "Principal") | {"NotPrincipal": CLOUDWATCH["Principal"]}], True),
        ([{**CLOUDWATCH, "Condition": {"StringEquals": {"aws:SourceAccount": "999999999999"}}}], False),
        ([{**CLOUDWATCH, "Condition": {"StringEquals": {"aws:SourceOwner": "999999999999"}}}], False),
        ([{**CLOUDWATCH, "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}}}], True),
        ([{**CLOUDWATCH, "Condition": {"ArnLike": {"aws:SourceArn": f"{ALARMS}:999999999999:alarm:*"}}}], False),
        ([{**CLOUDWATCH, "Condition": {"ArnLike": {"aws:SourceArn": f"{ALARMS}:123456789012:alarm:*"}}}], True),
        ([{**CLOUDWATCH, "Condition": {"StringEquals": {"aws:SourceOrgID": "o-1"}}}], True),
    ],
)
def test_the_policy_of_a_topic_must_admit_cloudwatch(statements: Any, *, allowed: bool) -> None:
    """A statement must allow the request as CloudWatch makes it, and none deny it. What is not known may be as needed."""
    problem = alarm_topic_problem(WITH_ROLE, Topic(1, policy={"Statement": statements}))
    assert ("" if allowed else "does not let CloudWatch publish") in problem
    assert bool(problem) is not allowed


@pytest.mark.parametrize(
    ("statements", "admitted"),
    [
        ([CLOUDWATCH, EVENTS], True),
        ([EVERYONE_OF_THE_ACCOUNT], False),
        ([CLOUDWATCH], False),
    ],
)
def test_without_a_role_the_policy_of_a_topic_must_admit_eventbridge(statements: Any, *, admitted: bool) -> None:
    """The default policy does not. A stack whose topic belongs to another account has a role."""
    topic = Topic(1, policy={"Statement": statements})
    problem = alarm_topic_problem(STACK, topic)
    assert problem == (
        "" if admitted else f"the policy of topic {TOPIC} does not let EventBridge publish: {NO_NOTICES}"
    )
    assert alarm_topic_problem(WITH_ROLE, topic) == ""


def test_a_policy_that_admits_only_some_alarms_or_notices_names_the_others() -> None:
    """An alarm or a notice that was added later may be missing."""
    of_alarm = {
        **CLOUDWATCH,
        "Condition": {"ArnEquals": {"aws:SourceArn": f"{ALARMS}:123456789012:alarm:stack-HealthAlarm"}},
    }
    assert alarm_topic_problem(WITH_ROLE, Topic(1, policy={"Statement": of_alarm})) == (
        f"the policy of topic {TOPIC} does not let CloudWatch publish what these send: ErrorsAlarm"
    )
    rule = "arn:aws:events:us-east-1:123456789012:rule/recordernotice"
    refused = {
        **DENY,
        "Condition": {"ArnNotEqualsIfExists": {"aws:SourceArn": rule}, "Null": {"aws:SourceArn": "false"}},
    }
    assert alarm_topic_problem(STACK, Topic(1, policy={"Statement": [CLOUDWATCH, EVENTS, refused]})) == (
        f"the policy of topic {TOPIC} does not let CloudWatch publish: nobody is notified"
    )


@pytest.mark.parametrize("statements", [["not a statement"], None])
def test_a_policy_that_cannot_be_read_is_an_error(statements: Any) -> None:
    """It is a fault of the check, and not the same as a policy that admits CloudWatch."""
    with pytest.raises(RecordError):
        alarm_topic_problem(STACK, Topic(1, policy={"Statement": statements}))


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        (Topic(1), ""),
        (Topic(1, "alias/alarms"), ""),
        (None, "does not exist"),
        (Topic(0), "no confirmed subscription"),
        (Topic(1, "alias/aws/sns"), "which CloudWatch cannot use"),
    ],
)
def test_a_topic_must_reach_somebody(topic: Topic | None, problem: str) -> None:
    """Nobody is notified without a topic, without a subscription, or if CloudWatch cannot encrypt."""
    found = alarm_topic_problem(STACK, topic)
    assert problem in found
    assert bool(found) is bool(problem)


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (RecorderStatus("default", recording=True, last_status="SUCCESS"), ""),
        (None, "no recorder"),
        (RecorderStatus("default", recording=False), "is stopped"),
        (RecorderStatus("default", recording=True, last_status="FAILURE", error="denied"), "failed: denied"),
    ],
)
def test_a_recorder_must_record(status: RecorderStatus | None, problem: str) -> None:
    """A recorder is on, and its last recording event succeeded."""
    found = recorder_problem(status)
    assert problem in found
    assert bool(found) is bool(problem)


def test_a_recorder_must_record_what_can_change_a_path() -> None:
    """Directory buckets may be missing, because they matter with one scope only. No recorder is another problem."""
    kinds = frozenset(f"AWS::EC2::{name}" for name in ("NatGateway", "RouteTable", "Subnet", "VPCEndpoint"))
    assert types_problem(None) == types_problem(Recorder("default", Strategy.INCLUSION, kinds)) == ""
    table = frozenset({"AWS::EC2::RouteTable"})
    assert "does not record AWS::EC2::RouteTable:" in types_problem(Recorder("default", Strategy.EXCLUSION, table))


def test_everything_that_is_missing_is_a_fault(sandbox: Sandbox) -> None:
    """In an account without any of it, each component is named once, and the sentence names the resource."""
    sandbox.faults.deny("sts", "AssumeRole")
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        faults = found_in(sandbox)
    assert [fault.component for fault in faults] == COMPONENTS
    problems = [fault.problem for fault in faults]
    assert not [problem for problem in problems if "could not be checked" in problem]
    for name in (
        *(f"runbook {name} " for name in runbooks_of("rule")),
        "ON",
        "ledger",
        "plan",
        "automation",
        "planning",
        "stop-role",
        "telling",
        "stack-ErrorsAlarm (ErrorsAlarm)",
        NETWORK_ROLE,
        TOPIC,
        "stack-HealthAlarm (HealthAlarm)",
        "rule ends of EventBridge",
        "rule rule of AWS Config",
        "function evaluate does not exist",
        "the policy of function evaluate does not let AWS Config invoke it",
        "/network/policy",
        "log-group",
        *(name.lower() for name in NOTICES),
    ):
        assert any(name in problem for problem in problems)


def test_remediation_exceptions_are_a_fault_while_config_heals_by_itself(sandbox: Sandbox) -> None:
    """AWS Config adds one after failed heals, without an event. The fault says how to list and clear them."""
    memory = remediations_of(sandbox.account_id, sandbox.region)
    add_exception(memory, "rule", ("AWS::EC2::Subnet", "subnet-1"), "failed too often")
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        for mode in ("ON", "APPROVAL", "OFF"):
            faults = found_in(sandbox, RemediationMode=mode)
            found = [fault for fault in faults if "1 of them; express-path doctor lists them" in fault.problem]
            assert len(found) == (mode != "OFF")


def test_a_check_that_is_denied_is_a_fault(sandbox: Sandbox) -> None:
    """Whatever cannot be read is named with the call that failed, and nothing is raised."""
    reads = {
        "config": [
            "DescribeConfigRules",
            "DescribeConfigurationRecorderStatus",
            "DescribeConfigurationRecorders",
            "DescribeRemediationConfigurations",
            "DescribeRemediationExceptions",
        ],
        "ssm": ["DescribeDocument", "GetParameter"],
        "dynamodb": ["DescribeTable"],
        "lambda": ["GetFunctionConcurrency", "GetPolicy"],
        "iam": ["GetRole"],
        "ec2": ["DescribeVpcEndpoints"],
        "logs": ["DescribeLogStreams"],
        "sns": ["GetTopicAttributes", "ListSubscriptionsByTopic"],
        "cloudwatch": ["DescribeAlarms"],
        "events": ["DescribeRule"],
    }
    for service, operations in reads.items():
        for operation in operations:
            sandbox.faults.deny(service, operation)
    faults = found_in(sandbox, NetworkRoleArn="")
    log = COMPONENTS.index("log")
    ledger = COMPONENTS.index("ledger")
    assert [fault.component for fault in faults] == [
        *("recorder", *COMPONENTS[:ledger], "remediation exceptions"),
        *(*COMPONENTS[ledger : log - 2], "endpoints", "endpoint policy", "log", "alarm topic", *COMPONENTS[log + 1 :]),
    ]
    assert all(fault.problem.startswith("it could not be checked: ") for fault in faults)


def test_what_a_stack_has_by_choice_is_not_checked_without_it(sandbox: Sandbox) -> None:
    """Without an alarm topic, nobody misses alarms and notices. The ledger may be an earlier one."""
    chosen = {
        "RemediationMode": "OFF",
        "AlarmTopicArn": "",
        "LedgerTableName": "earlier",
        "NetworkRoleArn": "",
        "EndpointPolicyParameter": "",
    }
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        faults = found_in(sandbox, {**NAMES, "NoticeRole": ""}, **chosen)
    assert [fault.component for fault in faults] == [
        *(name for name in COMPONENTS[: COMPONENTS.index("network role")] if name != "remediation"),
        "log",
    ]
    assert "earlier" in next(fault.problem for fault in faults if fault.component == "ledger")


@pytest.mark.parametrize("logical_id", ["AutomationRole", "EvaluateFunction", "LedgerTable", "RecorderNotice"])
def test_what_every_stack_has_is_missed(sandbox: Sandbox, logical_id: str) -> None:
    """A stack that CloudFormation no longer lists with one of its parts, such as a deleted stack, is a fault."""
    names = {name: physical_id for name, physical_id in NAMES.items() if name != logical_id}
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        [fault] = [fault for fault in found_in(sandbox, names) if fault.component == "stack"]
    assert logical_id in fault.problem


CLOSED = json.dumps({"Version": "2012-10-17", "Statement": [{**DENY, "Action": "*"}]})
OPEN = json.dumps({"Version": "2012-10-17", "Statement": [{**DENY, "Effect": "Allow", "Action": "s3express:*"}]})


def test_an_endpoint_that_lets_nothing_through_is_a_fault(sandbox: Sandbox, builder: Builder) -> None:
    """The policy that heals give, and those of the endpoints that they created, must allow CreateSession."""
    vpc, ec2 = Private(builder), builder.ec2
    endpoint_id = builder.endpoint(vpc.vpc, vpc.table)
    sandbox.client("ssm").put_parameter(Name="/network/policy", Value=CLOSED, Type="String")
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, PolicyDocument=CLOSED)
    aws = Aws.connect()
    assert endpoints_problem(aws) == ""  # somebody else's
    ec2.create_tags(Resources=[endpoint_id], Tags=[{"Key": MANAGED_TAG, "Value": "true"}])
    assert endpoint_id in endpoints_problem(aws)
    assert "/network/policy allows no s3express:CreateSession" in policy_parameter_problem(aws, "/network/policy")
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, PolicyDocument=OPEN)
    sandbox.client("ssm").put_parameter(Name="/network/policy", Value=OPEN, Type="String", Overwrite=True)
    assert (endpoints_problem(aws), policy_parameter_problem(aws, "/network/policy")) == ("", "")


def test_an_endpoint_whose_policy_cannot_be_read_hides_no_other(sandbox: Sandbox, builder: Builder) -> None:
    """Such a policy, and one that denies from a day in the past, or allows only another partition, are faults."""
    vpc, ec2 = Private(builder), builder.ec2
    past = {**DENY, "Action": "*", "Condition": {"DateGreaterThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}}}
    anyone = {**DENY, "Action": "*", "Condition": {"ArnLike": {"aws:PrincipalArn": "*"}}}
    allow = {**DENY, "Effect": "Allow", "Action": "s3express:*"}
    china = {**allow, "Resource": "arn:aws-cn:s3express:*:*:*"}
    found = {}
    for name, statements in (("past", [allow, past]), ("any", [allow, anyone]), ("china", [china]), ("empty", [])):
        made = ec2.create_vpc_endpoint(
            VpcId=vpc.vpc,
            ServiceName=f"com.amazonaws.{sandbox.region}.s3express",
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements}),
            TagSpecifications=[{"ResourceType": "vpc-endpoint", "Tags": [{"Key": MANAGED_TAG, "Value": "true"}]}],
        )
        found[name] = made["VpcEndpoint"]["VpcEndpointId"]
    closed, *unknown = endpoints_problem(Aws.connect()).split("; ")
    assert closed.startswith(f"the policy of {', '.join(sorted((found['past'], found['china'])))} allows no ")
    for name, cause in (("any", "ArnLike aws:PrincipalArn cannot be compared with '*'"), ("empty", "Statement")):
        assert [text for text in unknown if found[name] in text and cause in text and "could not be evaluated" in text]


def test_an_alarm_must_send_to_the_topic_of_the_stack(sandbox: Sandbox) -> None:
    """An alarm that is gone, tells somebody else or nobody, or watches something else is a fault."""
    cloudwatch = Aws.connect().cloudwatch

    def put(*actions: str, metric: str = "Errors", function: str = "check") -> str:
        sandbox.client("cloudwatch").put_metric_alarm(
            AlarmName="stack-HealthAlarm",
            Namespace="AWS/Lambda",
            MetricName=metric,
            Dimensions=[{"Name": "FunctionName", "Value": function}],
            AlarmActions=actions,
            Statistic="Minimum",
            Period=3600,
            EvaluationPeriods=25,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
        )
        return alarm_problem(cloudwatch, STACK, "HealthAlarm")

    assert "does not exist" in alarm_problem(cloudwatch, STACK, "HealthAlarm")
    assert put(f"{TOPIC}-of-others", TOPIC) == ""
    assert f"does not send to the alarm topic {TOPIC}" in put(f"{TOPIC}-of-others")
    assert "sends nothing" in put()
    assert "watches Duration of check, not Errors of the stack" in put(TOPIC, metric="Duration")
    assert "watches Errors of another, not Errors of the stack" in put(TOPIC, function="another")


FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:evaluate"
STARTS = (
    "ConfigurationItemChangeNotification",
    "OversizedConfigurationItemChangeNotification",
    "ScheduledNotification",
)


@pytest.mark.parametrize(
    ("state", "function", "starts", "problem"),
    [
        ("ACTIVE", FUNCTION, STARTS, ""),
        ("EVALUATING", FUNCTION, STARTS, ""),
        ("DELETING", FUNCTION, STARTS, "is DELETING"),
        ("ACTIVE", f"{FUNCTION}-of-others", STARTS, f"invokes {FUNCTION}-of-others, not the stack's {FUNCTION}"),
        ("ACTIVE", FUNCTION, STARTS[:-1], "is not invoked by ScheduledNotification"),
        ("ACTIVE", FUNCTION, STARTS[2:], f"is not invoked by {STARTS[0]}, {STARTS[1]}"),
    ],
)
def test_the_config_rule_must_invoke_the_function(
    state: str, function: str, starts: tuple[str, ...], problem: str
) -> None:
    """It is active, and changes and its schedule invoke the function of the stack."""
    details = [{"EventSource": "aws.config", "MessageType": start} for start in starts]
    source = {"Owner": "CUSTOM_LAMBDA", "SourceIdentifier": function, "SourceDetails": details}
    found = config_rule_problem(STACK, {"ConfigRuleName": "rule", "ConfigRuleState": state, "Source": source})
    assert found == (problem and f"rule rule of AWS Config {problem}")


CONFIG = {"Effect": "Allow", "Principal": {"Service": "config.amazonaws.com"}, "Action": "lambda:InvokeFunction"}


@pytest.mark.parametrize(
    ("statements", "may"),
    [
        ([CONFIG], True),
        (
            [{**CONFIG, "Resource": FUNCTION, "Condition": {"StringEquals": {"AWS:SourceAccount": "123456789012"}}}],
            True,
        ),
        ([{**CONFIG, "Condition": {"StringEquals": {"AWS:SourceAccount": "999999999999"}}}], False),
        ([{**CONFIG, "Principal": {"Service": "events.amazonaws.com"}}], False),
        ([CONFIG, {**DENY, "Action": "lambda:*"}], False),
    ],
)
def test_config_must_be_allowed_to_invoke_the_function(statements: Any, *, may: bool) -> None:
    """The resource policy of the function decides; without one, nobody may."""
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    assert (invocation_problem(STACK, policy) == "") is may
    assert "does not let AWS Config invoke it" in invocation_problem(STACK, "")


def test_a_function_that_has_not_succeeded_for_a_day_is_a_fault(sandbox: Sandbox) -> None:
    """What AWS counts decides, unless the stack is so young that no sweep before this one could be counted."""
    cloudwatch, now = Aws.connect().cloudwatch, datetime.now(UTC)
    old = replace(STACK, created=now - timedelta(days=30))

    def count(metric: str, hours: int, value: float) -> None:
        dimensions = (("FunctionName", "evaluate"),)
        sandbox.metrics.add([Datapoint("AWS/Lambda", metric, dimensions, value, now - timedelta(hours=hours))])

    assert "evaluate has not succeeded for 26 hours" in silence_problem(old, cloudwatch, now)
    assert silence_problem(replace(STACK, created=now - timedelta(hours=25)), cloudwatch, now) == ""
    count("Invocations", 30, 1)
    assert silence_problem(old, cloudwatch, now)
    for metric in ("Invocations", "Errors"):
        count(metric, 3, 2)
    assert silence_problem(old, cloudwatch, now)
    count("Invocations", 24, 1)
    assert silence_problem(old, cloudwatch, now) == ""


ALARM = {
    "AlarmName": "stack-HealthAlarm",
    "AlarmArn": f"{ALARMS}:123456789012:alarm:stack-HealthAlarm",
    "AlarmActions": [TOPIC],
    "Namespace": "AWS/Lambda",
    "MetricName": "Errors",
    "Threshold": 0.0,
    "Period": 3600,
    "Dimensions": [{"Name": "FunctionName", "Value": "check"}],
}
HEALTH = Message("alarm", "HealthAlarm", alarm_body(ALARM, "123456789012", "us-east-1"))
LOST = Message("notice", "EndpointLostNotice", NOTICE)


@pytest.mark.parametrize(
    ("policy", "scope", "takes"),
    [
        ({}, "MessageAttributes", True),
        ({"team": ["network"]}, "MessageAttributes", False),
        ({"team": [{"exists": False}]}, "MessageAttributes", True),
        ({"team": [{"exists": False}], "stage": ["prod"]}, "MessageAttributes", False),
        ({"$or": [{"team": ["network"]}, {"stage": [{"exists": False}]}]}, "MessageAttributes", True),
        ({"$or": [{"team": ["network"]}, {"stage": ["prod"]}]}, "MessageAttributes", False),
        ({"NewStateValue": ["ALARM"]}, "MessageBody", True),
        ({"NewStateValue": ["OK"]}, "MessageBody", False),
        ({"NewStateValue": [{"anything-but": ["ALARM"]}]}, "MessageBody", False),
        ({"NewStateValue": [{"anything-but": "ALARM"}]}, "MessageBody", False),
        ({"NewStateValue": [{"prefix": "AL"}, "OK"]}, "MessageBody", True),
        ({"NewStateValue": [{"suffix": "OK"}]}, "MessageBody", False),
        ({"NewStateValue": [{"equals-ignore-case": "alarm"}]}, "MessageBody", True),
        ({"NewStateValue": [{"an-operator-of-the-future": 1}]}, "MessageBody", True),
        ({"AlarmName": [{"prefix": "stack-"}]}, "MessageBody", True),
        ({"AlarmName": [{"prefix": "express-path-"}]}, "MessageBody", False),
        ({"AlarmName": [{"wildcard": "*Health*"}, "other"]}, "MessageBody", True),
        ({"AlarmName": [{"wildcard": "other*"}]}, "MessageBody", False),
        ({"AlarmName": [{"anything-but": {"prefix": "stack-"}}]}, "MessageBody", False),
        ({"AlarmName": [{"anything-but": {"suffix": "-ErrorsAlarm"}}]}, "MessageBody", True),
        ({"AlarmName": [{"numeric": ["=", 1]}]}, "MessageBody", False),
        ({"AlarmDescription": ["anything"]}, "MessageBody", True),
        ({"AlarmActions": [TOPIC]}, "MessageBody", True),
        ({"AlarmActions": [f"{TOPIC}-of-others"]}, "MessageBody", False),
        ({"AWSAccountId": ["123456789012"]}, "MessageBody", True),
        ({"AWSAccountId": ["999999999999"]}, "MessageBody", False),
        ({"Region": ["US East (N. Virginia)"]}, "MessageBody", True),
        ({"Region": [{"prefix": "US"}]}, "MessageBody", True),
        ({"Region": ["us-east-1"]}, "MessageBody", False),
        ({"Region": ["EU (Ireland)"]}, "MessageBody", False),
        ({"NewStateReason": [{"prefix": "Threshold Crossed: no datapoints"}]}, "MessageBody", True),
        ({"NewStateReason": [{"anything-but": {"prefix": "Threshold"}}]}, "MessageBody", False),
        ({"NewStateReason": ["other"]}, "MessageBody", False),
        ({"Trigger": {"MetricName": ["Errors"], "Threshold": [{"numeric": [">=", 0]}]}}, "MessageBody", True),
        ({"Trigger": {"MetricName": ["Nope"]}}, "MessageBody", False),
        ({"Trigger": {"Threshold": [{"numeric": [">", 0, "<", 5]}]}}, "MessageBody", False),
        ({"Trigger": {"Dimensions": {"value": ["check"]}}}, "MessageBody", True),
        ({"Trigger": {"Dimensions": {"value": ["other"]}}}, "MessageBody", False),
        ({"AlarmName": [{"exists": False}]}, "MessageBody", False),
        ({"Trigger": {"Namespace": ["AWS/Lambda"]}}, "MessageBody", True),
        ({"detail": {"severity": ["high"]}}, "MessageBody", False),
        ({"detail": {"severity": [{"exists": False}]}}, "MessageBody", True),
    ],
)
def test_a_subscription_must_take_the_message_of_an_alarm(policy: dict[str, Any], scope: str, *, takes: bool) -> None:
    """Alarms send JSON without message attributes. What is not known may match, so that no fault is reported wrongly."""
    assert may_take(Subscription(f"{TOPIC}:1", policy, scope), HEALTH) is takes


@pytest.mark.parametrize(
    ("policies", "dropped"),
    [
        ([], ""),
        ([{}], ""),
        ([{"Subject": ["x"]}, {}], ""),
        ([{"NewStateValue": ["ALARM"]}, {"source": ["custom"]}], ""),
        ([{"Subject": ["x"]}], "drop every alarm and every notice: nobody is notified"),
        ([{"source": ["custom"]}], "drop every alarm: nobody gets these"),
        ([{"NewStateValue": ["ALARM"]}], "drop every notice: nobody gets these"),
        ([{"Trigger": {"MetricName": ["Errors"]}}], "drop the alarm ErrorsAlarm and every notice: nobody gets these"),
    ],
)
def test_messages_that_no_subscription_takes_are_named(policies: list[dict[str, Any]], dropped: str) -> None:
    """A subscription of others may take something else."""
    events = alarm_body({**ALARM, "MetricName": "AsyncEventsDropped"}, "123456789012", "us-east-1")
    messages = [HEALTH, Message("alarm", "ErrorsAlarm", events), LOST]
    subscriptions = [Subscription(f"{TOPIC}:{number}", policy, "MessageBody") for number, policy in enumerate(policies)]
    problem = filters_problem(TOPIC, subscriptions, messages)
    assert problem.partition(") ")[2] == dropped


@pytest.mark.usefixtures("sandbox")
def test_a_function_that_is_not_told_its_stack_is_a_fault() -> None:
    """Whoever removes the setting silences nothing."""
    faults = faults_of(Aws.connect(client_config=LAMBDA_CONFIG), "")
    assert [fault.component for fault in faults] == ["recorder", "stack"]
    assert "STACK_ID" in faults[-1].problem
