"""org/protect.scp.json: only deployments change express-path; heals, stops, and everybody else's work go on."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stacks import create_stack, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.http.wire import Request
from config_rule_sandbox.iam.policies import Authorization, as_list, is_allowed
from config_rule_sandbox.iam.requests import authorizations, enforced
from config_rule_sandbox.server import Sandbox
from tests.support.iam import faults
from tests.support.organization import EVERYTHING, PREFIX, Organization, Packaged, administrator
from tests.support.template import ROOT

TEXT = (ROOT / "org" / "protect.scp.json").read_text(encoding="utf-8")
REGION, LEDGER, STACK = "us-east-1", "express-path-ledger", "StackSet-express-path-ou-ab12-1a2b3c4d"
EXECUTION, DEPLOYMENT = "stacksets-exec-0123456789abcdef", "deploy"


def policy() -> list[Mapping[str, Any]]:
    """Return the statements, with the placeholder replaced."""
    statements: list[Mapping[str, Any]] = json.loads(TEXT.replace("DEPLOYING-ROLE", DEPLOYMENT))["Statement"]
    return statements


PAGE = (
    (ROOT / "docs" / "organization.md").read_text(encoding="utf-8").partition("## Protect it from administrators\n")[2]
)
FUNCTION = "arn:aws:lambda:us-east-1:111122223333:function:StackSet-express-path-integrations-1a2b-SecurityHub-1A2B"


def may(arn: str, action: str, resource: str, function: str = FUNCTION) -> bool:
    """Return whether a principal with all permissions may do something in an account with the policy.

    function: of which an event source mapping is.
    """
    keys = {"aws:PrincipalArn": [arn]}
    if action.endswith("EventSourceMapping"):
        keys["lambda:FunctionArn"] = [function]
    return is_allowed([EVERYTHING, *policy()], Authorization(action, resource, keys))


def test_aws_takes_it_and_knows_what_it_names() -> None:
    """It has only actions and ARNs that exist, and at most 5,120 characters, also with its spaces. The page has the size.

    AWS allows 10,240 since May 2026, and 5,120 before, which tools may still check:
    https://docs.aws.amazon.com/organizations/latest/userguide/orgs_reference_limits.html
    """
    size = len(TEXT.encode())
    assert size <= 5120
    assert f"It has {size:,} of the 10,240 characters" in PAGE
    assert [fault for row in policy()[:-1] for fault in faults(dict(row))] == []


def test_the_page_names_each_denied_action_once() -> None:
    """The table on the page has the actions of the policy and what they are about, no more and no less."""
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \|$", PAGE.partition("\n## ")[0], re.MULTILINE)
    named = [action for row in rows for action in re.findall(r"`([\w:*]+)`", row)]
    assert sorted(named) == sorted(action for statement in policy() for action in as_list(statement["Action"]))


@pytest.mark.parametrize(
    ("action", "resource", "allowed"),
    [
        ("cloudformation:DetectStackDrift", f"cloudformation:us-east-1:111122223333:stack/{STACK}/1", True),
        ("cloudformation:UpdateStack", f"cloudformation:us-east-1:111122223333:stack/{STACK}/1", False),
        ("cloudformation:CreateStackRefactor", f"cloudformation:us-east-1:111122223333:stack/{STACK}/1", False),
        ("cloudformation:ExecuteStackRefactor", f"cloudformation:us-east-1:111122223333:stack/{STACK}/1", False),
        ("cloudformation:SetStackPolicy", f"cloudformation:us-east-1:111122223333:stack/{STACK}/1", False),
        ("cloudformation:SetStackPolicy", "cloudformation:us-east-1:111122223333:stack/network/1", True),
        ("cloudwatch:PutAlarmMuteRule", f"cloudwatch:us-east-1:111122223333:alarm:{STACK}-HealthAlarm-1A2B", False),
        ("config:DeleteRemediationExceptions", "config:us-east-1:111122223333:config-rule/config-rule-1a2b3c", True),
        ("config:DeleteEvaluationResults", "config:us-east-1:111122223333:config-rule/config-rule-1a2b3c", False),
        ("config:PutRemediationExceptions", "", True),
        ("lambda:UpdateEventSourceMapping", "lambda:us-east-1:111122223333:event-source-mapping:1a2b", False),
        ("sns:SetTopicAttributes", "sns:us-east-1:111122223333:express-path-alarms", False),
        ("sns:SetTopicAttributes", "sns:us-east-1:111122223333:alarms", True),
        ("sqs:SetQueueAttributes", f"sqs:us-east-1:111122223333:{STACK}-FailedMessagesQueue-1A2B", False),
        ("events:DisableRule", f"events:us-east-1:111122223333:rule/{STACK}-HealFailedNotice-1A2B", False),
        ("events:DisableRule", f"events:us-east-1:111122223333:rule/express-path-rule/{STACK}-HealthRule-1A", False),
        ("dynamodb:UpdateItem", f"dynamodb:us-east-1:111122223333:table/{LEDGER}", True),
        ("events:PutRule", "events:us-east-1:111122223333:rule/express-path-s3express-no-nat-path/our-own", True),
        ("iam:CreateRole", "iam::111122223333:role/stacksets-exec-another", False),
        ("iam:PassRole", "iam::111122223333:role/express-path/automation/AutomationRole", True),
        ("iam:PassRole", f"iam::111122223333:role/{DEPLOYMENT}", False),
        ("iam:UpdateAssumeRolePolicy", f"iam::111122223333:role/{DEPLOYMENT}", False),
        ("ssm:StartAutomationExecution", "ssm:us-east-1:111122223333:document/AddS3ExpressGatewayEndpoint", True),
    ],
)
def test_an_administrator_may_use_but_not_change_it(action: str, resource: str, *, allowed: bool) -> None:
    """Nor may one become a deployment, by creating its role, changing its trust, or passing it to a service."""
    arn = f"arn:aws:{resource}" if resource else "*"
    assert may("arn:aws:iam::111122223333:role/administrator", action, arn) is allowed
    assert may(f"arn:aws:iam::111122223333:role/{EXECUTION}", action, arn)


def test_event_sources_of_other_functions_stay_free() -> None:
    """Their ARNs do not say of which function they are, so the condition key decides."""
    other = FUNCTION.replace("express-path", "web-shop")
    arn = "arn:aws:lambda:us-east-1:111122223333:event-source-mapping:1a2b"
    assert may("arn:aws:iam::111122223333:role/administrator", "lambda:UpdateEventSourceMapping", arn, other)


def test_every_rule_and_queue_of_the_templates_is_protected(packaged: Packaged) -> None:
    """Rules of EventBridge and queues have generated names, unless the template names them."""
    for template, stack in (
        (packaged.template, STACK),
        (packaged.integrations, "StackSet-express-path-integrations-1a2b"),
    ):
        for logical_id, resource in template["Resources"].items():
            name = f"{stack}-{logical_id}-1A2B3C"
            if resource["Type"] == "AWS::SQS::Queue":
                arn = f"arn:aws:sqs:us-east-1:111122223333:{name}"
                assert not may("arn:aws:iam::111122223333:role/administrator", "sqs:SetQueueAttributes", arn)
            if resource["Type"] == "AWS::Events::Rule":
                name = resource["Properties"].get("Name", name)
                bus = "express-path-s3express-no-nat-path/" if "EventBusName" in resource["Properties"] else ""
                arn = f"arn:aws:events:us-east-1:111122223333:rule/{bus}{name}"
                assert not may("arn:aws:iam::111122223333:role/administrator", "events:DisableRule", arn), arn


@pytest.mark.slow
@pytest.mark.parametrize("role", [EXECUTION, DEPLOYMENT])
def test_only_a_deployment_creates_updates_and_deletes(sandbox: Sandbox, packaged: Packaged, role: str) -> None:
    """The role of StackSets, and a service role of CloudFormation, may. An administrator may make none of these changes."""
    organization = Organization(sandbox, packaged, "apps")
    organization.provide_code(REGION)
    organization.record("apps", REGION)
    account_id = organization.accounts["apps"]
    account = Account(sandbox, account_id, REGION, administrator(sandbox, account_id, role))
    ledger, rule = read(packaged.text("LedgerTemplateKey")), packaged.template
    topics = {"AlarmTopicArn": f"arn:aws:sns:{REGION}:{account_id}:alarms"}
    given = {"ArtifactBucketPrefix": PREFIX, "CodeKey": packaged.keys["CodeKey"], "LedgerTableName": LEDGER, **topics}
    sandbox.calls.clear()
    with enforced(sandbox, policy()):
        assert create_stack(account, f"{STACK}-ledger", ledger, {"LedgerTableName": LEDGER}).failure is None
        stack = create_stack(account, STACK, rule, given)
        assert stack.failure is None
        assert update_stack(stack, rule, {**given, "RemediationMode": "ON", "LogRetentionDays": "90"}) is None
        stack.delete()
    arn, path = f"arn:aws:iam::{account_id}:role/administrator", {"Path": "/express-path/"}  # of roles that are gone
    assert {
        needed.action
        for call in sandbox.calls.mutating()
        for request in [Request(call.service, call.operation, {**path, **call.parameters}, account_id, REGION)]
        for needed in authorizations(request, request.action)
        if may(arn, needed.action, needed.resource)
    } == {
        *("logs:CreateLogGroup", "logs:DeleteLogGroup", "logs:PutRetentionPolicy"),
    }
