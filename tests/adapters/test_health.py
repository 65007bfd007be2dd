"""What does not work of an installation: what counts as broken, and that a check never raises."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

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
    Topic,
    alarm_problem,
    alarm_topic_problem,
    endpoints_problem,
    failed_checks,
    faults_of,
    policy_parameter_problem,
)
from express_path.adapters.recorder import Recorder, RecorderStatus, Strategy, recorder_problem, types_problem
from express_path.adapters.runbooks import runbooks_of
from express_path.adapters.topic_filters import Subscription, filters_problem, takes_alarms
from express_path.domain.heal.records import MANAGED_TAG
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
    "EvaluateFunction": "evaluate",
    "HealthFunction": "check",
    "EvaluateLogGroup": "log-group",
    **{logical_id: logical_id.lower() for logical_id in NOTICES},
}
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


def found_in(sandbox: Sandbox, names: Mapping[str, str] = NAMES, **parameters: str) -> list[Fault]:
    """Return the faults of a stack with these resources."""
    stack_id = listed_stack(sandbox, "stack", names, **(PARAMETERS | parameters))
    return faults_of(Aws.connect(client_config=LAMBDA_CONFIG), stack_id)


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
        (["not a statement"], False),
        (None, False),
    ],
)
def test_the_policy_of_a_topic_must_admit_cloudwatch(statements: Any, *, allowed: bool) -> None:
    """A statement for everyone or for CloudWatch must allow sns:Publish, and none deny it without a condition."""
    problem = alarm_topic_problem(TOPIC, Topic(1, policy={"Statement": statements}), "telling")
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
    problem = alarm_topic_problem(TOPIC, topic, "")
    assert problem == (
        "" if admitted else f"the policy of topic {TOPIC} does not let EventBridge publish: {NO_NOTICES}"
    )
    assert alarm_topic_problem(TOPIC, topic, "telling") == ""


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
    found = alarm_topic_problem(TOPIC, topic, "")
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
        "AsyncEventsDropped of evaluate",
        NETWORK_ROLE,
        TOPIC,
        "Errors of check",
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
            "DescribeConfigurationRecorderStatus",
            "DescribeConfigurationRecorders",
            "DescribeRemediationConfigurations",
            "DescribeRemediationExceptions",
        ],
        "ssm": ["DescribeDocument", "GetParameter"],
        "dynamodb": ["DescribeTable"],
        "lambda": ["GetFunctionConcurrency"],
        "iam": ["GetRole"],
        "ec2": ["DescribeVpcEndpoints"],
        "logs": ["DescribeLogStreams"],
        "sns": ["GetTopicAttributes", "ListSubscriptionsByTopic"],
        "cloudwatch": ["DescribeAlarmsForMetric"],
        "events": ["DescribeRule"],
    }
    for service, operations in reads.items():
        for operation in operations:
            sandbox.faults.deny(service, operation)
    faults = found_in(sandbox, NetworkRoleArn="")
    log = COMPONENTS.index("log")
    assert [fault.component for fault in faults] == [
        *("recorder", *COMPONENTS[:5], "remediation exceptions"),
        *(*COMPONENTS[5:10], "endpoints", "endpoint policy", "log", "alarm topic", *COMPONENTS[log + 1 :]),
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
    assert [fault.component for fault in faults] == [*COMPONENTS[:4], *COMPONENTS[5:10], "log"]
    assert "earlier" in faults[4].problem


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


def test_an_alarm_must_send_to_the_topic_of_the_stack(sandbox: Sandbox) -> None:
    """An alarm that tells somebody else, or nobody, is a fault."""
    cloudwatch, metric = Aws.connect().cloudwatch, failed_checks("check")

    def put(*actions: str) -> str:
        sandbox.client("cloudwatch").put_metric_alarm(
            AlarmName="health",
            Namespace=metric.namespace,
            MetricName=metric.name,
            Dimensions=[{"Name": "FunctionName", "Value": "check"}],
            AlarmActions=actions,
            Statistic="Minimum",
            Period=3600,
            EvaluationPeriods=25,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
        )
        return alarm_problem(cloudwatch, metric, TOPIC)

    assert put(f"{TOPIC}-of-others", TOPIC) == ""
    assert f"does not send to the alarm topic {TOPIC}" in put(f"{TOPIC}-of-others")
    assert "sends nothing" in put()


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
        ({"AlarmName": [{"prefix": "express-path-"}]}, "MessageBody", True),
        ({"AlarmName": [{"exists": False}]}, "MessageBody", False),
        ({"Trigger": {"Namespace": ["AWS/Lambda"]}}, "MessageBody", True),
        ({"detail": {"severity": ["high"]}}, "MessageBody", False),
        ({"detail": {"severity": [{"exists": False}]}}, "MessageBody", True),
    ],
)
def test_a_subscription_must_take_the_message_of_an_alarm(policy: dict[str, Any], scope: str, *, takes: bool) -> None:
    """Alarms send JSON without message attributes. What is not known may match, so that no fault is reported wrongly."""
    assert takes_alarms(Subscription(f"{TOPIC}:1", policy, scope)) is takes


def test_a_topic_is_useless_only_if_all_its_filters_drop_every_alarm() -> None:
    """A subscription of others may take something else."""
    drops, takes = (Subscription(f"{TOPIC}:{name}", policy, "") for name, policy in (("1", {"x": ["y"]}), ("2", {})))
    assert filters_problem(TOPIC, []) == filters_problem(TOPIC, [drops, takes]) == ""
    assert "(1) drop every alarm" in filters_problem(TOPIC, [drops])


@pytest.mark.usefixtures("sandbox")
def test_a_function_that_is_not_told_its_stack_is_a_fault() -> None:
    """Whoever removes the setting silences nothing."""
    faults = faults_of(Aws.connect(client_config=LAMBDA_CONFIG), "")
    assert [fault.component for fault in faults] == ["recorder", "stack"]
    assert "STACK_ID" in faults[-1].problem
