"""express-path doctor on a whole deployment in the sandbox, with each defect and each setting."""

import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config_rule_sandbox.config.recorder_settings import recording_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.rule_statuses import statuses_of
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.service_quotas.quotas import applied_quotas
from config_rule_sandbox.ssm import Automation
from tests.cli.doctor.checks import bad, examine
from tests.cli.doctor.whole_stack import RULE, STACK, WholeStack, topic_with_subscription
from tests.support.ledgers import delete_protected
from tests.support.network import Builder, Private

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)
TABLE, SUBNET = "AWS::EC2::RouteTable", "AWS::EC2::Subnet"
Break = Callable[[WholeStack], object]


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Yield Systems Manager Automation and AWS Config's remediation."""
    with Automation(sandbox) as running, Remediation(sandbox, running):
        yield running


@pytest.fixture
def stack(sandbox: Sandbox, automation: Automation) -> WholeStack:
    """Return a healthy deployment with healing off."""
    assert automation.knobs
    return WholeStack(sandbox)


def ago(span: timedelta) -> float:
    """Return the time this long ago, in epoch seconds."""
    return (datetime.now(UTC) - span).timestamp()


def set_rule_status(stack: WholeStack, **members: object) -> None:
    """Set members of the rule's evaluation status in AWS Config."""
    statuses_of(stack.sandbox.account_id, stack.sandbox.region).told[RULE] = members


def recording_settings(stack: WholeStack) -> Any:
    """Return the sandbox's settings for the recorder's failures."""
    return recording_of(stack.sandbox.account_id, stack.sandbox.region)


Defect = tuple[Break, str, str, str]
"""What breaks a deployment, the check that finds it, its state, and words of its finding or command."""
DEFECTS: dict[str, list[Defect]] = {
    "warnings": [
        (
            lambda it: it.set_recorder({"allSupported": True}, {"recordingFrequency": "DAILY"}),
            "frequency",
            "WARN",
            "a day late",
        ),
        (
            lambda it: recording_settings(it).deliveries.update(configHistoryDeliveryInfo=("NoSuchBucket", "gone")),
            "delivery",
            "WARN",
            "history: NoSuchBucket: gone",
        ),
        (lambda it: it.copy_rule(f"OrgConfigRule-{RULE}-a1b2c3d4"), "rule", "WARN", f"OrgConfigRule-{RULE}-a1b2c3d4"),
        (
            lambda it: [it.count("EvaluateFunction", "AsyncEventsDropped", age, 3) for age in (HOUR, 26 * HOUR)],
            "errors",
            "WARN",
            "3 events dropped: the affected subnets keep their old verdicts until a later run. the log has no error",
        ),
        (lambda it: it.set_stack("UPDATE_ROLLBACK_COMPLETE"), "stack", "WARN", "UPDATE_ROLLBACK_COMPLETE"),
        (
            lambda it: it.dynamodb.put_item(
                TableName=it.named("LedgerTable"),
                Item={"id": {"S": "STOP"}, "by": {"S": "ann"}, "stoppedAt": {"S": "now"}, "reason": {"S": "INC-1234"}},
            ),
            "stop",
            "WARN",
            "ann stopped all heals at now: INC-1234 express-path start",
        ),
        (
            lambda it: it.config.delete_remediation_configuration(ConfigRuleName=RULE),
            "remediation",
            "WARN",
            "no remediation",
        ),
    ],
    "evaluations failed": [
        (
            lambda it: it.fail_evaluations({"subnet-1": "ApiError: throttled", "everything": "SightLostError: denied"}),
            "errors",
            "WARN",
            ". subnet-1: ApiError: throttled; everything: SightLostError: denied aws logs tail /aws/lambda/express-path-Eval",
        ),
    ],
    "things are gone": [
        (
            lambda it: it.config.stop_configuration_recorder(ConfigurationRecorderName="default"),
            "recorder",
            "FAIL",
            "aws configservice start-configuration-recorder --configuration-recorder-name default",
        ),
        (
            lambda it: it.set_recorder({"resourceTypes": [TABLE, SUBNET]}),
            "recorded-types",
            "FAIL",
            "does not record AWS::EC2::NatGateway, AWS::EC2::VPCEndpoint",
        ),
        (
            lambda it: set_rule_status(it, LastSuccessfulInvocationTime=ago(72 * HOUR)),
            "last-run",
            "FAIL",
            "aws configservice start-config-rules-evaluation",
        ),
        (
            lambda it: it.functions.delete_function(FunctionName=it.named("EvaluateFunction")),
            "function",
            "FAIL",
            "does not exist",
        ),
        (
            lambda it: it.ssm.delete_document(Name="RemoveS3ExpressGatewayEndpoint"),
            "undo-runbook",
            "FAIL",
            "does not exist",
        ),
        (lambda it: it.delete_role("AutomationRole"), "role", "FAIL", "does not exist"),
        (
            lambda it: delete_protected(it.dynamodb, it.named("LedgerTable")),
            "ledger",
            "FAIL",
            "does not exist: every heal and undo fails",
        ),
        (
            lambda it: it.functions.delete_function(FunctionName=it.named("PlanFunction")),
            "plan-function",
            "FAIL",
            "does not exist",
        ),
        (
            lambda it: applied_quotas(it.sandbox.account_id, it.sandbox.region).update({"L-1B52E74A": 0}),
            "endpoint-quota",
            "FAIL",
            "0 of 0 gateway endpoints",
        ),
    ],
    "things fail": [
        (
            lambda it: it.functions.delete_function(FunctionName=it.named("HealthFunction")),
            "health",
            "FAIL",
            "does not exist",
        ),
        (
            lambda it: setattr(recording_settings(it), "failure", ("AccessDenied", "the role may not")),
            "last-recording",
            "FAIL",
            "AccessDenied: the role may not",
        ),
        (
            lambda it: it.functions.put_function_concurrency(
                FunctionName=it.named("PlanFunction"), ReservedConcurrentExecutions=0
            ),
            "plan-function",
            "FAIL",
            "never runs, because its reserved concurrency is 0",
        ),
        (
            lambda it: (
                it.events.disable_rule(Name=it.named("HealFailedNotice")),
                it.events.delete_rule(Name=it.named("EndpointLostNotice"), EventBusName=it.bus_name),
            ),
            "notices",
            "FAIL",
            "express-path-HealFailedNotice of EventBridge is disabled",
        ),
        (
            lambda it: direct_client(it.sandbox, "sns").delete_topic(TopicArn=it.template.values["AlarmTopicArn"]),
            "alarm-topic",
            "FAIL",
            "does not exist: nobody is notified",
        ),
        (
            lambda it: it.cloudwatch.disable_alarm_actions(AlarmNames=[it.named("HealthAlarm")]),
            "alarm",
            "FAIL",
            "express-path-HealthAlarm (HealthAlarm) sends nothing",
        ),
        (
            lambda it: set_rule_status(
                it, LastFailedInvocationTime=ago(-HOUR), LastErrorCode="AccessDenied", LastErrorMessage="no"
            ),
            "last-error",
            "FAIL",
            "AccessDenied: no",
        ),
        (lambda it: it.remediate(Automatic=True), "mode", "FAIL", "RemediationMode OFF, but AWS Config is set to ON"),
        (
            lambda it: it.dynamodb.delete_resource_policy(ResourceArn=it.arn("LedgerTable")),
            "ledger",
            "FAIL",
            "principals other than the runbooks can write",
        ),
    ],
    "no recorder and no rule": [
        (
            lambda it: it.config.delete_configuration_recorder(ConfigurationRecorderName="default"),
            "recorder",
            "FAIL",
            "no recorder",
        ),
        (
            lambda it: (it.config.delete_remediation_configuration(ConfigRuleName=RULE), it.delete_rule()),
            "rule",
            "FAIL",
            "is not deployed",
        ),
    ],
    "no delivery channel": [
        (
            lambda it: (
                it.config.stop_configuration_recorder(ConfigurationRecorderName="default"),
                it.config.delete_delivery_channel(DeliveryChannelName="default"),
            ),
            "delivery",
            "FAIL",
            "no delivery channel",
        ),
    ],
}
"""Defects that do not influence each other, by the name of their test."""
ONLY_WARNINGS = ("warnings", "evaluations failed")


@pytest.mark.parametrize("defects", DEFECTS)
def test_a_defect_is_named_with_its_fix(stack: WholeStack, defects: str) -> None:
    """Each defect appears in its own check with a finding and a fix, and all other checks still run."""
    for spoil, *_ in DEFECTS[defects]:
        spoil(stack)
    checks, status = examine()
    for _, name, state, words in DEFECTS[defects]:
        found = checks[name]
        assert (found["state"], words in f"{found['finding']} {found['command']}") == (state, True), found
    assert status == (0 if defects in ONLY_WARNINGS else 1)
    assert all(check["fix"] for check in checks.values() if check["state"] != "OK")
    assert checks["identity"]["state"] == checks["endpoint-service"]["state"] == "OK"


def test_without_an_alarm_topic_nobody_is_told(sandbox: Sandbox, automation: Automation) -> None:
    """The check-up and the output of the stack say so."""
    assert automation.knobs
    stack = WholeStack(sandbox, AlarmTopicArn="")
    checks, status = examine()
    assert (bad(checks), status) == ({"alarm-topic": "WARN"}, 0)
    assert checks["alarm-topic"]["finding"].startswith("nobody is told anything")
    assert "nobody is told anything" in stack.template.outputs["AlarmTopic"]["Value"]


def test_a_region_without_the_service(sandbox: Sandbox) -> None:
    """If the Region does not offer S3 Express, the checks for scans and for heals fail."""
    assert sandbox.region != "eu-south-2"
    checks, status = examine("--region", "eu-south-2")
    assert (checks["service"]["state"], checks["endpoint-service"]["state"], status) == ("FAIL", "FAIL", 1)
    assert "--region" in checks["service"]["fix"]


def test_an_account_where_nothing_is_deployed(sandbox: Sandbox, automation: Automation) -> None:
    """Only the missing parts are named, and checks of their details are skipped."""
    assert automation.knobs
    checks, status = examine()
    assert bad(checks) == {"recorder": "FAIL", "rule": "FAIL"}
    assert checks["rule"]["finding"].startswith("nothing is deployed here")
    assert status == 1
    assert not {"last-run", "function", "role", "exceptions", "delivery"} & checks.keys()
    assert sandbox.calls.of("config", "DescribeConfigRules")


def test_a_rule_of_a_conformance_pack_is_found(stack: WholeStack) -> None:
    """Without a stack, the rule is found by the names that conformance packs and organizations give it."""
    stack.delete_stack()
    name = f"{RULE}-conformance-pack-abcdefghi"
    stack.copy_rule(name)
    stack.config.delete_remediation_configuration(ConfigRuleName=RULE)
    stack.delete_rule()
    checks, status = examine()
    assert (checks["rule"]["finding"], status) == (f"rule {name} is active", 0)
    assert bad(checks) == {"stack": "WARN"}


def test_an_organizations_function_is_elsewhere(stack: WholeStack, sandbox: Sandbox) -> None:
    """The function of an organization's rule is in the account that deployed it, so it must be checked there."""
    stack.move_function("210987654321")
    checks, status = examine()
    assert "is in account 210987654321" in checks["function"]["finding"]
    assert "errors" not in checks
    assert status == 0
    assert not [call for call in sandbox.calls.of("lambda") if "Evaluate" in str(call.parameters)]


@pytest.mark.parametrize("mode", ["ON", "APPROVAL"])
def test_a_stack_that_heals(sandbox: Sandbox, automation: Automation, mode: str) -> None:
    """The mode is reported if healing is automatic or needs approval; a closed calendar is a warning."""
    arn = topic_with_subscription(sandbox, "AutomationApprovals")
    anywhere = arn.replace(sandbox.region, "{region}").replace(sandbox.account_id, "{account}")
    asked = {
        "RemediationMode": mode,
        "ChangeCalendarName": "freeze",
        "Approvers": "ann",
        "ApprovalTopicArn": arn if mode == "ON" else anywhere,
    }
    automation.knobs.open_calendars.add("freeze")
    stack = WholeStack(sandbox, **asked)
    checks, status = examine()
    assert (bad(checks), status) == ({}, 0)
    assert ("needs an approval" in checks["mode"]["finding"]) is (mode == "APPROVAL")
    automation.knobs.closed_calendars.add("freeze")
    assert examine()[0]["calendar"]["state"] == "WARN"
    automation.knobs.open_calendars.clear()
    automation.knobs.closed_calendars.clear()
    direct_client(sandbox, "sns").delete_topic(TopicArn=arn)
    checks, status = examine()
    assert (checks["calendar"]["state"], checks["approval"]["state"], status) == ("FAIL", "FAIL", 1)
    assert stack.rule


def test_flagged_and_excepted_subnets_are_counted(stack: WholeStack, builder: Builder) -> None:
    """Noncompliant subnets are counted, which is no defect; a remediation exception is named with its deletion."""
    private = Private(builder)
    stack.rule.sweep()
    checks, status = examine()
    assert (checks["verdicts"]["finding"], status) == ("1 subnet NON_COMPLIANT", 0)
    stack.config.put_remediation_exceptions(
        ConfigRuleName=RULE, ResourceKeys=[{"ResourceType": SUBNET, "ResourceId": private.subnet}]
    )
    checks, status = examine()
    assert (checks["exceptions"]["state"], status) == ("WARN", 0)
    assert private.subnet in checks["exceptions"]["finding"]
    command = shlex.split(checks["exceptions"]["command"])
    key = dict(member.split("=") for member in command[-1].split(","))
    stack.config.delete_remediation_exceptions(ConfigRuleName=command[4], ResourceKeys=[key])
    assert examine()[0]["exceptions"]["state"] == "OK"


def test_a_network_role_is_tried(sandbox: Sandbox, automation: Automation) -> None:
    """If you cannot assume the stack's network role, that affects only your own scans."""
    assert automation.knobs
    role = "arn:aws:iam::210987654321:role/network-reader"
    assert WholeStack(sandbox, NetworkRoleArn=role).rule
    checks, status = examine()
    assert (checks["network-role"]["state"], status) == ("OK", 0)
    sandbox.faults.deny("sts", "AssumeRole")
    checks, status = examine()
    assert (checks["network-role"]["state"], status) == ("WARN", 0)
    assert role in checks["network-role"]["finding"]
    sandbox.faults.clear()
    sandbox.faults.throttle("sts", "AssumeRole")
    checks, status = examine()
    assert (checks["network-role"]["state"], status) == ("UNKNOWN", 0)


def test_another_stack_is_named(stack: WholeStack) -> None:
    """--stack checks another stack; without it, a stack with another name is reported as missing."""
    stack.delete_stack()
    checks, _ = examine()
    assert (checks["stack"]["state"], STACK in checks["stack"]["finding"]) == ("WARN", True)
    assert "--stack" in checks["stack"]["fix"]
    stack.describe({}, name="network")
    assert examine("--stack", "network")[0]["stack"]["state"] == "OK"
