"""The Security Hub function is deployed only where it writes findings, with a queue, an alarm, and few permissions."""

import json
from typing import Any

import pytest
from botocore.model import StructureShape

from sandbox.cloudformation.reading import read
from tests.support.iam import actions, lint
from tests.support.template import ROOT, Expanded, expanded, source
from tests.template.models import bounds, enum, shape

QUEUE, FAILED = "SecurityHubQueue", "SecurityHubFailedQueue"
RULES = {"SecurityHubVerdicts", "SecurityHubComplianceChanges"}
HUB = "arn:aws:securityhub:us-east-1:123456789012:hub/default"
PRODUCT = "arn:aws:securityhub:us-east-1:123456789012:product/123456789012/default"
ADMIN = read((ROOT / "org" / "security-hub-admin.yaml").read_text(encoding="utf-8"))
OF_LAMBDA = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
}


@pytest.fixture(params=["ENRICH", "RICH"])
def stack(request: pytest.FixtureRequest) -> Expanded:
    """Return the stack in each mode that writes findings."""
    return expanded(SecurityHubMode=request.param)


def statements(stack: Expanded) -> list[dict[str, Any]]:
    """Return the statements of the function's role."""
    [policy] = stack.properties("SecurityHubRole")["Policies"]
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


@pytest.mark.parametrize("mode", ["NATIVE", "OFF"])
def test_nothing_is_deployed_in_modes_that_write_nothing(mode: str) -> None:
    """In modes NATIVE (the default) and OFF, the stack has nothing for Security Hub."""
    assert source()["Parameters"]["SecurityHubMode"]["Default"] == "NATIVE"
    stack = expanded(SecurityHubMode=mode)
    assert not [name for name in (*stack.resources, *stack.outputs) if "SecurityHub" in name]


def test_function_has_its_settings(stack: Expanded) -> None:
    """The function gets its mode and the rule's name, and the queue hides messages for six of its timeouts."""
    function = stack.properties("SecurityHubFunction")
    variables = function["Environment"]["Variables"]
    assert (variables["SECURITY_HUB_MODE"], variables["RULE_NAME"]) == (
        stack.values["SecurityHubMode"],
        "s3express-no-nat-path",
    )
    module, _, entry = function["Handler"].rpartition(".")
    assert f"def {entry}(" in (ROOT / "functions" / module.replace(".", "/")).with_suffix(".py").read_text("utf-8")
    assert function["LoggingConfig"]["LogGroup"] == "<SecurityHubLogGroup>"
    assert stack.properties(QUEUE)["VisibilityTimeout"] == 6 * function["Timeout"]
    assert stack.outputs["SecurityHubFunctionArn"]["Value"] == "<SecurityHubFunction.Arn>"
    assert stack.outputs["SecurityHubFailedQueueUrl"]["Value"] == f"<{FAILED}>"


def test_messages_come_in_batches_and_fail_one_by_one(stack: Expanded) -> None:
    """The queue invokes the function with up to 100 messages, and keeps those that fail five times."""
    mapping = stack.properties("SecurityHubMessages")
    assert mapping["BatchSize"] in bounds("lambda", "BatchSize")
    assert mapping["MaximumBatchingWindowInSeconds"] in bounds("lambda", "MaximumBatchingWindowInSeconds")
    assert mapping["ScalingConfig"]["MaximumConcurrency"] in bounds("lambda", "MaximumConcurrency")
    assert set(mapping["FunctionResponseTypes"]) <= enum("lambda", "FunctionResponseType")
    assert (mapping["EventSourceArn"], mapping["FunctionName"]) == (f"<{QUEUE}.Arn>", "<SecurityHubFunction>")
    assert stack.properties(QUEUE)["RedrivePolicy"] == {"deadLetterTargetArn": f"<{FAILED}.Arn>", "maxReceiveCount": 5}
    assert stack.properties(FAILED)["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_rules_send_only_events_of_this_rule_to_the_queue(stack: Expanded) -> None:
    """Each EventBridge rule names the Config rule; what cannot be sent is kept, and only these rules may send."""
    rules = {name: row for name, row in stack.resources.items() if row["Type"] == "AWS::Events::Rule"}
    ours = {name for name in rules if name.startswith("SecurityHub")}
    enriches = stack.values["SecurityHubMode"] == "ENRICH"
    assert ours == RULES | ({"SecurityHubImportedFindings"} if enriches else set())
    for name in ours:
        properties = rules[name]["Properties"]
        assert "s3express-no-nat-path" in json.dumps(properties["EventPattern"])
        [target] = properties["Targets"]
        assert (target["Arn"], target["DeadLetterConfig"]) == (f"<{QUEUE}.Arn>", {"Arn": f"<{FAILED}.Arn>"})
    [statement] = stack.properties("SecurityHubQueuePolicy")["PolicyDocument"]["Statement"]
    assert set(statement["Condition"]["ArnEquals"]["aws:SourceArn"]) == {f"<{name}.Arn>" for name in ours}
    assert stack.properties("SecurityHubVerdicts")["EventBusName"] == "default"


def test_alarm_watches_the_failed_messages() -> None:
    """The alarm is about the failed queue, which its text names, and it notifies the topic if there is one."""
    topic = "arn:aws:sns:us-east-1:123456789012:alarms"
    alarm = expanded(SecurityHubMode="RICH", AlarmTopicArn=topic).properties("SecurityHubFailedAlarm")
    assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": f"<{FAILED}.QueueName>"}]
    assert (alarm["Threshold"], alarm["AlarmActions"], alarm["OKActions"]) == (1, [topic], [topic])
    assert f"<{FAILED}.QueueName>" in alarm["AlarmDescription"]


def test_role_allows_the_operations_of_its_mode_and_no_other(stack: Expanded) -> None:
    """Of the listed operations, each mode allows those that it calls: BatchUpdateFindings or BatchImportFindings."""
    listed = json.loads((ROOT / "functions" / "operations.json").read_bytes())["security_hub"]
    called = {f"{service}:{operation}" for service, names in listed.items() for operation in names}
    other = "BatchImportFindings" if stack.values["SecurityHubMode"] == "ENRICH" else "BatchUpdateFindings"
    allowed = [action for statement in statements(stack) for action in actions(statement)]
    assert len(allowed) == len(set(allowed))
    assert set(allowed) == called - {f"securityhub:{other}"} | OF_LAMBDA
    assert not [action for action in allowed if "*" in action]
    everything = [statement["Sid"] for statement in statements(stack) if statement["Resource"] == "*"]
    assert everything == ["ReadResultsOfSubnets"], "GetComplianceDetailsByResource has no resource-level permissions"


def test_writes_are_limited_by_conditions(stack: Expanded) -> None:
    """The role can update only four attributes and cannot suppress, or imports only for its account's own product."""
    by_sid = {statement["Sid"]: statement for statement in statements(stack)}
    if stack.values["SecurityHubMode"] == "RICH":
        assert by_sid["ImportFindings"]["Resource"] == PRODUCT
        assert by_sid["ImportFindings"]["Condition"] == {"StringEquals": {"securityhub:TargetAccount": "123456789012"}}
        return
    assert by_sid["EnrichFindings"]["Resource"] == HUB
    condition = by_sid["EnrichFindings"]["Condition"]
    assert condition["StringEqualsIfExists"]["securityhub:ASFFSyntaxPath/Workflow.Status"] == ["NEW", "RESOLVED"]
    assert set(condition["Null"]) == {
        f"securityhub:ASFFSyntaxPath/{name}" for name in ("Confidence", "Criticality", "Types", "VerificationState")
    }


def test_policies_are_free_of_faults(stack: Expanded) -> None:
    """Parliament finds nothing in the role's policy; only Lambda assumes it, within the boundary if there is one."""
    role = stack.properties("SecurityHubRole")
    assert lint(stack.deployed(role["Policies"][0]["PolicyDocument"])) == []
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    limited = expanded(SecurityHubMode=stack.values["SecurityHubMode"], PermissionsBoundaryArn=boundary)
    assert limited.properties("SecurityHubRole")["PermissionsBoundary"] == boundary


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
