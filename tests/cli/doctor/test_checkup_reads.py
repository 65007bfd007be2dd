"""Reads of doctor that AWS answers in an unusual way."""

from datetime import UTC, datetime
from typing import Any

import pytest

from config_rule_sandbox.cloudwatch.metric_data import Trouble
from config_rule_sandbox.config.remediation.exceptions import add_exception
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.aws import Aws
from express_path.adapters.heal_reader import read_quota
from express_path.adapters.health import (
    is_throttled,
    read_alarms,
    read_document_status,
    read_event_rule,
    read_function,
    read_topic,
    role_problem,
)
from express_path.adapters.recorder import read_recorder_status
from express_path.adapters.remediation import list_exceptions, read_remediation
from express_path.domain.heal.preflight import ENDPOINT_QUOTA
from express_path.errors import ApiError
from express_path_cli.automation.stack import read_stack
from express_path_cli.aws.sessions import DOCTOR_CONFIG, connect
from express_path_cli.doctor.healing import count_running_automations, read_calendar, read_ledger
from express_path_cli.doctor.permissions import OPTIONAL
from express_path_cli.installation.rule import find_rules, read_activity


@pytest.fixture
def aws(sandbox: Sandbox) -> Aws:
    """Return clients of the sandbox."""
    return connect(sandbox.region, client_config=DOCTOR_CONFIG)


TOPIC = "arn:aws:sns:us-east-1:123456789012:AutomationAbsent"
NOTICE = "notice"
READS: dict[str, Any] = {
    "ssm:DescribeDocument": lambda aws: read_document_status(aws.ssm, "runbook"),
    "dynamodb:DescribeTable": lambda aws: read_ledger(aws.dynamodb, "ledger"),
    "sns:GetTopicAttributes": lambda aws: read_topic(aws.client("sns"), TOPIC),
    "iam:GetRole": lambda aws: role_problem(aws.client("iam"), "role", ""),
    "servicequotas:GetServiceQuota": lambda aws: read_quota(aws, ENDPOINT_QUOTA),
    "ssm:GetCalendarState": lambda aws: read_calendar(aws.ssm, "freeze"),
    "cloudformation:DescribeStacks": lambda aws: read_stack(aws.client("cloudformation"), "stack"),
    "ssm:DescribeAutomationExecutions": lambda aws: count_running_automations(aws.ssm),
    "config:DescribeRemediationExceptions": lambda aws: list_exceptions(aws.config, "rule"),
    "lambda:GetFunctionConfiguration": lambda aws: read_function(aws.functions, "plan"),
    "lambda:GetFunctionConcurrency": lambda aws: is_throttled(aws.functions, "plan"),
    "events:DescribeRule": lambda aws: read_event_rule(aws.events, NOTICE),
    "cloudwatch:DescribeAlarms": lambda aws: read_alarms(aws.cloudwatch, ["health"]),
    "config:DescribeConfigurationRecorderStatus": lambda aws: read_recorder_status(aws.config),
    "config:DescribeRemediationConfigurations": lambda aws: read_remediation(aws.config, "rule"),
}


@pytest.mark.parametrize("operation", READS)
def test_any_other_refusal_is_an_error(sandbox: Sandbox, aws: Aws, operation: str) -> None:
    """A missing resource is a result; any other error is raised with its operation and code."""
    service, _, name = operation.partition(":")
    sandbox.faults.fail(service.replace("servicequotas", "service-quotas"), name, "InternalServerError", 500)
    with pytest.raises(ApiError) as raised:
        READS[operation](aws)
    assert (raised.value.operation, raised.value.code) == (operation, "InternalServerError")


def test_missing_resources_are_none(sandbox: Sandbox, aws: Aws) -> None:
    """A missing runbook, role, calendar, stack, ledger, topic, function, or rule of EventBridge is None."""
    with Automation(sandbox):
        assert read_document_status(aws.ssm, "runbook") is None
        assert read_calendar(aws.ssm, "freeze") is None
    assert "absent does not exist" in role_problem(aws.client("iam"), "absent", "")
    assert read_stack(aws.client("cloudformation"), "absent") is None
    assert read_ledger(aws.dynamodb, "absent") is None
    assert read_topic(aws.client("sns"), TOPIC) is None
    assert read_function(aws.functions, "absent") is None
    assert is_throttled(aws.functions, "absent") is False
    assert read_event_rule(aws.events, NOTICE) is None
    assert read_event_rule(aws.events, NOTICE, "absent-bus") is None


def test_a_partial_metric_is_an_error(sandbox: Sandbox, aws: Aws) -> None:
    """CloudWatch can succeed without having read a metric; then no number is reported."""
    sandbox.metrics.trouble = Trouble(status="InternalError")
    with pytest.raises(ApiError) as raised:
        read_activity(aws.client("cloudwatch"), "evaluate", datetime.now(UTC))
    assert (raised.value.operation, raised.value.code) == ("cloudwatch:GetMetricData", "InternalError")


def test_the_route_table_of_anothers_transit_gateway(sandbox: Sandbox, aws: Aws) -> None:
    """Only its owner can read a transit gateway's route table, so this is not a missing permission."""
    ec2: Any = sandbox.client("ec2")
    gateway = ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    [subnet, *_] = ec2.describe_subnets()["Subnets"]
    attachment = {"TransitGatewayId": gateway, "VpcId": subnet["VpcId"], "SubnetIds": [subnet["SubnetId"]]}
    ec2.create_transit_gateway_vpc_attachment(**attachment)
    [probe] = [read for read in OPTIONAL if read.action == "ec2:SearchTransitGatewayRoutes"]
    assert probe.try_it(aws) == ""
    sandbox.faults.fail("ec2", "SearchTransitGatewayRoutes", "InvalidRouteTableID.NotFound", 400)
    assert "belongs to another account" in probe.try_it(aws)
    sandbox.faults.clear()
    sandbox.faults.deny("ec2", "SearchTransitGatewayRoutes")
    with pytest.raises(ApiError):
        probe.try_it(aws)


def test_exceptions_come_in_pages(sandbox: Sandbox, aws: Aws) -> None:
    """All pages of remediation exceptions are read, although botocore has no paginator for them."""
    memory = remediations_of(sandbox.account_id, sandbox.region)
    for number in range(250):
        add_exception(memory, "rule", ("AWS::EC2::Subnet", f"subnet-{number:08x}"), "failed too often")
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        assert len(list_exceptions(aws.config, "rule")) == 250
        assert len(sandbox.calls.of("config", "DescribeRemediationExceptions")) == 3
        assert list_exceptions(aws.config, "another") == []


def test_rules_with_similar_names_are_not_found(sandbox: Sandbox, aws: Aws) -> None:
    """A rule is found by its own name and the names that conformance packs and organizations give it."""
    config: Any = sandbox.client("config")
    config.put_configuration_recorder(ConfigurationRecorder={"name": "default", "roleARN": "arn:aws:iam::1:role/r"})
    names = [
        "rule",
        "rule-conformance-pack-abc",
        "OrgConfigRule-rule-abc",
        "rule-2",
        "OrgConfigRule-other-rule",
        "Rule",
    ]
    for name in names:
        source = {"Owner": "AWS", "SourceIdentifier": "ENCRYPTED_VOLUMES"}
        config.put_config_rule(ConfigRule={"ConfigRuleName": name, "Source": source})
    found = find_rules(aws.config, "rule")
    assert [rule.name for rule in found] == ["rule", "OrgConfigRule-rule-abc", "rule-conformance-pack-abc"]
    assert {rule.period for rule in found} == {None}
