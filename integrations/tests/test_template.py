"""integrations/template.yaml: a function with a queue, alarms, and few permissions, and the administrator's template."""

import json
from typing import Any

import pytest
from botocore.model import StructureShape
from moto.events.models import EventPattern

from config_rule_sandbox.cloudformation.text import read
from tests.support.iam import actions
from tests.support.template import INTEGRATIONS, ROOT, Expanded, expanded, source
from tests.template.models import bounds, enum, shape

FAILED = "FailedMessagesQueue"
VERDICTS, CHANGES = "SecurityHubVerdicts", "SecurityHubComplianceChanges"
ADMIN = read((ROOT / "org" / "security-hub-admin.yaml").read_text(encoding="utf-8"))
OF_LAMBDA = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
}


def deployed(**parameters: str) -> Expanded:
    """Return the stack."""
    return expanded(INTEGRATIONS, **parameters)


def statements() -> list[dict[str, Any]]:
    """Return the statements of the function's role."""
    [policy] = deployed().properties("SecurityHubRole")["Policies"]
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def test_both_templates_agree_on_the_rule_and_its_bus() -> None:
    """What both have as a parameter has the same default and form, and the name of the bus is that of the rule's stack."""
    ours, rules = (source(template)["Parameters"] for template in (INTEGRATIONS, "template.yaml"))
    for name in ours.keys() & rules.keys():
        assert {**ours[name], "Description": ""} == {**rules[name], "Description": ""}
    name = expanded(RuleName="another").properties("EventBus")["Name"]
    assert deployed(RuleName="another").properties(VERDICTS)["EventBusName"] == name


def test_function_has_its_settings() -> None:
    """The function gets the rule's name, and its queue hides messages for six of its timeouts."""
    stack = deployed()
    function = stack.properties("SecurityHubFunction")
    assert function["Environment"]["Variables"]["RULE_NAME"] == "s3express-no-nat-path"
    module, _, entry = function["Handler"].rpartition(".")
    assert f"def {entry}(" in (ROOT / "integrations" / module.replace(".", "/")).with_suffix(".py").read_text("utf-8")
    assert function["LoggingConfig"]["LogGroup"] == "<SecurityHubLogGroup>"
    assert stack.properties("SecurityHubQueue")["VisibilityTimeout"] == 6 * function["Timeout"]


def test_messages_come_in_batches_and_fail_one_by_one() -> None:
    """The queue invokes the function with many messages, and those that fail five times are kept for 14 days."""
    stack = deployed()
    mapping = stack.properties("SecurityHubMessages")
    assert mapping["BatchSize"] in bounds("lambda", "BatchSize")
    assert mapping["MaximumBatchingWindowInSeconds"] in bounds("lambda", "MaximumBatchingWindowInSeconds")
    assert mapping["ScalingConfig"]["MaximumConcurrency"] in bounds("lambda", "MaximumConcurrency")
    assert set(mapping["FunctionResponseTypes"]) <= enum("lambda", "FunctionResponseType")
    assert (mapping["EventSourceArn"], mapping["FunctionName"]) == ("<SecurityHubQueue.Arn>", "<SecurityHubFunction>")
    redrive = stack.properties("SecurityHubQueue")["RedrivePolicy"]
    assert redrive == {"deadLetterTargetArn": f"<{FAILED}.Arn>", "maxReceiveCount": 5}
    assert stack.properties(FAILED)["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_rules_send_only_events_of_this_rule_to_the_queue() -> None:
    """Each EventBridge rule names the Config rule; what cannot be sent is kept, and only these rules may send."""
    stack = deployed()
    rules = {name: row["Properties"] for name, row in stack.resources.items() if row["Type"] == "AWS::Events::Rule"}
    assert rules.keys() == {VERDICTS, CHANGES}
    for rule in rules.values():
        assert "s3express-no-nat-path" in json.dumps(rule["EventPattern"])
        [target] = rule["Targets"]
        assert (target["Arn"], target["DeadLetterConfig"]) == ("<SecurityHubQueue.Arn>", {"Arn": f"<{FAILED}.Arn>"})
    assert senders(stack, "SecurityHubQueuePolicy") == {f"<{rule}.Arn>" for rule in rules}
    policy = stack.properties("FailedMessagesQueuePolicy")["PolicyDocument"]
    assert [statement["Effect"] for statement in policy["Statement"]] == ["Allow"]  # SQS itself moves messages there


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, True),
        ({"detail-type": "VerdictSnapshot"}, False),
        ({"account": "210987654321"}, False),
        ({"accountId": "210987654321"}, False),
        ({"region": "eu-west-1"}, False),
        ({"ruleName": "other"}, False),
    ],
)
def test_only_events_about_their_own_account_reach_the_queue(changes: dict[str, str], *, taken: bool) -> None:
    """The account and the Region must be right in the event and in its detail. Snapshots are not needed."""
    stack = deployed()
    pattern = stack.deployed(stack.properties(VERDICTS)["EventPattern"])
    known = {"accountId": "123456789012", "region": "us-east-1", "ruleName": "s3express-no-nat-path"}
    event = {
        "source": "express-path",
        "detail-type": "VerdictChanged",
        "account": "123456789012",
        "region": "us-east-1",
    }
    for name, value in changes.items():
        (known if name in known else event)[name] = value
    assert EventPattern(None, pattern).matches_event({**event, "detail": known}) is taken


def senders(stack: Expanded, policy: str) -> set[str]:
    """Return the EventBridge rules that a queue's policy lets send messages; it denies that to everyone else."""
    allow, deny = stack.properties(policy)["PolicyDocument"]["Statement"]
    assert (allow["Effect"], allow["Principal"]) == ("Allow", {"Service": "events.amazonaws.com"})
    assert (deny["Effect"], deny["Principal"]) == ("Deny", "*")
    for key in ("Action", "Resource"):
        assert allow[key] == deny[key]
    named = allow["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert deny["Condition"] == {"ArnNotEquals": {"aws:SourceArn": named}}
    return set(named)


def test_alarm_watches_the_failed_messages() -> None:
    """The alarm is about the failed queue, which its text names, and it notifies the topic if there is one."""
    for region, account in (("us-east-1", "123456789012"), ("{region}", "{account}")):
        alarm = deployed(AlarmTopicArn=f"arn:aws:sns:{region}:{account}:alarms").properties("FailedMessagesAlarm")
        topic = "arn:aws:sns:us-east-1:123456789012:alarms"
        assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": f"<{FAILED}.QueueName>"}]
        assert (alarm["Threshold"], alarm["AlarmActions"], alarm["OKActions"]) == (1, [topic], [topic])
        assert f"<{FAILED}.QueueName>" in alarm["AlarmDescription"]
    assert not {"AlarmActions", "OKActions"} & deployed().properties("FailedMessagesAlarm").keys()


def test_function_has_alarms_on_its_silence() -> None:
    """They watch the queue that nobody empties, and the rule of the bus that every sweep reaches."""
    stack = deployed(AlarmTopicArn="arn:aws:sns:us-east-1:123456789012:alarms")
    backlog, silence = (stack.properties(f"SecurityHub{kind}Alarm") for kind in ("Backlog", "Silence"))
    assert backlog["Dimensions"] == [{"Name": "QueueName", "Value": "<SecurityHubQueue.QueueName>"}]
    queue = stack.properties("SecurityHubQueue")
    attempts = int(queue["RedrivePolicy"]["maxReceiveCount"]) * int(queue["VisibilityTimeout"])
    assert attempts < int(backlog["Threshold"]) < int(queue["MessageRetentionPeriod"])
    assert (silence["TreatMissingData"], silence["EvaluationPeriods"] * silence["Period"]) == ("breaching", 25 * 3600)
    rule = stack.properties(VERDICTS)
    dimensions = {"EventBusName": rule["EventBusName"], "RuleName": rule["Name"]}
    assert {row["Name"]: row["Value"] for row in silence["Dimensions"]} == dimensions
    for alarm in (backlog, silence):
        assert alarm["AlarmActions"] == alarm["OKActions"] == ["arn:aws:sns:us-east-1:123456789012:alarms"]
        assert len(alarm["AlarmDescription"]) in bounds("cloudwatch", "AlarmDescription")


def test_role_allows_the_operations_that_are_called_and_no_other() -> None:
    """The role allows exactly the listed operations, on resources wherever IAM has them."""
    listed = json.loads((ROOT / "integrations" / "operations.json").read_bytes())["security_hub"]
    called = {f"{service}:{operation}" for service, names in listed.items() for operation in names}
    allowed = [action for statement in statements() for action in actions(statement)]
    assert len(allowed) == len(set(allowed))
    assert set(allowed) == called | OF_LAMBDA
    assert not [action for action in allowed if "*" in action]
    everything = [statement["Sid"] for statement in statements() if statement["Resource"] == "*"]
    assert everything == ["ReadResultsAndTagsOfSubnets"], "these reads have no resource-level permissions"


def test_only_lambda_assumes_the_role() -> None:
    """The role trusts the Lambda service, and its boundary may name the account."""
    role = deployed().properties("SecurityHubRole")
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}
    for given, expected in (("{account}", "123456789012"), ("aws", "aws")):
        limited = deployed(PermissionsBoundaryArn=f"arn:aws:iam::{given}:policy/path/boundary")
        boundary = limited.properties("SecurityHubRole")["PermissionsBoundary"]
        assert boundary == f"arn:aws:iam::{expected}:policy/path/boundary"


def test_administrator_suppresses_only_the_native_findings() -> None:
    """The automation rules match the rule's name and the product Config, by attributes that Security Hub knows."""
    first = ADMIN["Resources"]["NativeFindings"]["Properties"]
    assert set(first["Criteria"]) <= members("AutomationRulesFindingFilters")
    assert first["Criteria"]["ProductName"] == [{"Value": "Config", "Comparison": "EQUALS"}]
    assert first["Criteria"]["Title"] == [{"Value": {"Ref": "RuleName"}, "Comparison": "EQUALS"}]
    [action] = first["Actions"]
    assert action["FindingFieldsUpdate"]["Workflow"]["Status"] in enum("securityhub", "WorkflowStatus")
    assert set(action["FindingFieldsUpdate"]) <= members("AutomationRulesFindingFieldsUpdate")
    assert ADMIN["Parameters"]["RuleName"]["Default"] == source()["Parameters"]["RuleName"]["Default"]


def test_rule_of_the_new_security_hub_is_optional() -> None:
    """The second rule, for the home Region, exists on request, and its field names are those of OCSF filters."""
    second = ADMIN["Resources"]["NativeFindingsV2"]
    assert second["Condition"] == "CreatesRuleV2"
    assert ADMIN["Parameters"]["CreateRuleV2"]["Default"] == "false"
    [composite] = second["Properties"]["Criteria"]["OcsfFindingCriteria"]["CompositeFilters"]
    assert {row["FieldName"] for row in composite["StringFilters"]} <= enum("securityhub", "OcsfStringField")
    [action] = second["Properties"]["Actions"]
    assert action["FindingFieldsUpdate"]["StatusId"] == 3
    assert set(action["FindingFieldsUpdate"]) <= members("AutomationRulesFindingFieldsUpdateV2")


def members(name: str) -> set[str]:
    """Return the members of a structure of Security Hub's model."""
    found = shape("securityhub", name)
    assert isinstance(found, StructureShape)
    return set(found.members)
