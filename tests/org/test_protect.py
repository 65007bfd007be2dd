"""org/protect.scp.json: only deployments change express-path; heals, stops, and everybody else's work go on."""

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stacks import create_stack, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.http.wire import Request
from config_rule_sandbox.iam.policies import Authorization, as_list, is_allowed
from config_rule_sandbox.iam.reference import action, matching
from config_rule_sandbox.iam.requests import authorizations, enforced
from config_rule_sandbox.server import Sandbox
from tests.support.iam import faults
from tests.support.organization import EVERYTHING, PREFIX, Organization, Packaged, administrator
from tests.support.template import ROOT, source

TEXT = (ROOT / "org" / "protect.scp.json").read_text(encoding="utf-8")
REGION, LEDGER, STACK = "us-east-1", "express-path-ledger", "StackSet-express-path-ou-ab12-1a2b3c4d"
EXECUTION, DEPLOYMENT = "stacksets-exec-0123456789abcdef", "deploy"


def policy() -> list[Mapping[str, Any]]:
    """Return the statements, with the placeholder replaced."""
    statements: list[Mapping[str, Any]] = json.loads(TEXT.replace("DEPLOYING-ROLE", DEPLOYMENT))["Statement"]
    return statements


SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NOT_DENIED = SECURITY.partition("### What the service control policy does not deny\n")[2].partition("\n## ")[0]
ADMINISTRATOR = "arn:aws:iam::111122223333:role/administrator"
PLACE = f"{REGION}:111122223333"
ARNS: Mapping[str, tuple[str, ...]] = {
    "AWS::CloudFormation::Stack": (f"arn:aws:cloudformation:{PLACE}:stack/{{stack}}/1a2b3c4d",),
    "AWS::CloudFormation::StackSet": (f"arn:aws:cloudformation:{PLACE}:stackset/{{stack}}-{{name}}:1a2b3c4d",),
    "AWS::CloudWatch::Alarm": (f"arn:aws:cloudwatch:{PLACE}:alarm:{{stack}}-{{name}}-1A2B3C",),
    "AWS::CloudWatch::Dashboard": ("arn:aws:cloudwatch::111122223333:dashboard/express-path",),
    "AWS::Config::ConfigRule": (f"arn:aws:config:{PLACE}:config-rule/config-rule-1a2b3c",),
    "AWS::Config::RemediationConfiguration": (
        f"arn:aws:config:{PLACE}:remediation-configuration/s3express-no-nat-path/1a2b3c",
        "arn:aws:iam::111122223333:role/aws-service-role/remediation.config.amazonaws.com/AWSServiceRoleForConfigRemediation",
    ),
    "AWS::DynamoDB::Table": (
        f"arn:aws:dynamodb:{PLACE}:table/{LEDGER}",
        f"arn:aws:dynamodb:{PLACE}:table/{LEDGER}/backup/01234567890123-1a2b3c4d",
    ),
    "AWS::Events::EventBus": (f"arn:aws:events:{PLACE}:event-bus/express-path-s3express-no-nat-path",),
    "AWS::Events::EventBusPolicy": (),
    "AWS::Events::Rule": (f"arn:aws:events:{PLACE}:rule/{{rule}}",),
    "AWS::IAM::Role": ("arn:aws:iam::111122223333:role/express-path/{stack}-{name}-1A2B3C",),
    "AWS::IAM::RolePolicy": (),
    "AWS::Lambda::EventInvokeConfig": (),
    "AWS::Lambda::EventSourceMapping": (f"arn:aws:lambda:{PLACE}:event-source-mapping:1a2b3c",),
    "AWS::Lambda::Function": (f"arn:aws:lambda:{PLACE}:function:{{stack}}-{{name}}-1A2B3C",),
    "AWS::Lambda::Permission": (),
    "AWS::Logs::LogGroup": (
        f"arn:aws:logs:{PLACE}:log-group:{{stack}}-{{name}}-1A2B3C:*",
        f"arn:aws:logs:{PLACE}:log-group:{{stack}}-{{name}}-1A2B3C:log-stream:2026/11/29/1a2b3c",
    ),
    "AWS::Oam::Link": (f"arn:aws:oam:{PLACE}:link/1a2b3c",),
    "AWS::Oam::Sink": (f"arn:aws:oam:{PLACE}:sink/1a2b3c",),
    "AWS::S3::Bucket": ("arn:aws:s3:::example-{region}", "arn:aws:s3:::example-{region}/1a2b3c.zip"),
    "AWS::S3::BucketPolicy": (),
    "AWS::SecurityHub::AutomationRule": (f"arn:aws:securityhub:{PLACE}:automation-rule/1a2b3c",),
    "AWS::SecurityHub::AutomationRuleV2": (f"arn:aws:securityhub:{PLACE}:automation-rulev2/1a2b3c",),
    "AWS::SNS::Topic": (f"arn:aws:sns:{PLACE}:express-path-alarms",),
    "AWS::SQS::Queue": (f"arn:aws:sqs:{PLACE}:{{stack}}-{{name}}-1A2B3C",),
    "AWS::SNS::TopicPolicy": (),
    "AWS::SQS::QueuePolicy": (),
    "AWS::SSM::Document": (f"arn:aws:ssm:{PLACE}:document/AddS3ExpressGatewayEndpoint",),
}
"""The ARNs of a resource of each type that the templates have, and of what it brings. A policy of a resource has none.

Topics are not in the templates, but the policy names them. Other settings of a function belong to the function.
https://docs.aws.amazon.com/service-authorization/latest/reference/
"""
PAGE = (
    (ROOT / "docs" / "organization.md").read_text(encoding="utf-8").partition("## Protect it from administrators\n")[2]
)
FUNCTION = "arn:aws:lambda:us-east-1:111122223333:function:StackSet-express-path-integrations-1a2b-SecurityHub-1A2B"


def may(arn: str, name: str, resource: str, function: str = FUNCTION) -> bool:
    """Return whether a principal with all permissions may do something in an account with the policy.

    function: of which an event source mapping is.
    """
    keys = {"aws:PrincipalArn": [arn]}
    if name.endswith("EventSourceMapping"):
        keys["lambda:FunctionArn"] = [function]
    return is_allowed([EVERYTHING, *policy()], Authorization(name, resource, keys))


def test_aws_takes_it_and_knows_what_it_names() -> None:
    """It has only actions and ARNs that exist, and at most 10,240 characters, also with its spaces. The page has the size.

    https://docs.aws.amazon.com/organizations/latest/userguide/orgs_reference_limits.html
    """
    size = len(TEXT.encode())
    assert size <= 10240
    assert f"It has {size:,} of the 10,240 characters" in PAGE
    assert [fault for row in policy()[:-1] for fault in faults(dict(row))] == []


def test_the_page_names_each_denied_action_once() -> None:
    """The table on the page has the actions of the policy and what they are about, no more and no less."""
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \|$", PAGE.partition("\n## ")[0], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w:*]+)`", row)]
    assert sorted(named) == sorted({name for statement in policy() for name in as_list(statement["Action"])})


@pytest.mark.parametrize(
    ("name", "resource", "allowed"),
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
def test_an_administrator_may_use_but_not_change_it(name: str, resource: str, *, allowed: bool) -> None:
    """Nor may one become a deployment, by creating its role, changing its trust, or passing it to a service."""
    arn = f"arn:aws:{resource}" if resource else "*"
    assert may(ADMINISTRATOR, name, arn) is allowed
    assert may(f"arn:aws:iam::111122223333:role/{EXECUTION}", name, arn)


def test_only_functions_take_messages() -> None:
    """Whoever receives a message hides it from the function and from alarms."""
    queue = f"arn:aws:sqs:us-east-1:111122223333:{STACK}-SecurityHubQueue-1A2B"
    for name in ("sqs:ReceiveMessage", "sqs:DeleteMessage"):
        assert may("arn:aws:iam::111122223333:role/express-path/SecurityHubRole", name, queue)
        assert not may(ADMINISTRATOR, name, queue)
        assert may(ADMINISTRATOR, name, "arn:aws:sqs:us-east-1:111122223333:orders")


def test_event_sources_of_other_functions_stay_free() -> None:
    """Their ARNs do not say of which function they are, so the condition key decides."""
    other = FUNCTION.replace("express-path", "web-shop")
    arn = "arn:aws:lambda:us-east-1:111122223333:event-source-mapping:1a2b"
    assert may(ADMINISTRATOR, "lambda:UpdateEventSourceMapping", arn, other)


def deployed(packaged: Packaged) -> Iterator[str]:
    """Yield the ARNs of everything that the templates deploy. Most names are generated."""
    stacks = [(packaged.template, STACK), (packaged.integrations, "StackSet-express-path-integrations-1a2b")]
    stacks += [(source(f"org/{path.name}"), f"express-path-{path.stem}") for path in (ROOT / "org").glob("*.yaml")]
    for template, stack in stacks:
        yield from (arn.format(stack=stack) for arn in ARNS["AWS::CloudFormation::Stack"])
        for logical_id, resource in template["Resources"].items():
            properties = resource.get("Properties", {})
            bus = "express-path-s3express-no-nat-path/" if "EventBusName" in properties else ""
            rule = bus + str(properties.get("Name", f"{stack}-{logical_id}-1A2B3C"))
            for arn in ARNS[resource["Type"]]:
                yield arn.format(stack=stack, name=logical_id, rule=rule, region=REGION)
    yield from ARNS["AWS::SNS::Topic"]


def reasons() -> list[str]:
    """Return the actions of which SECURITY.md says why they are not denied, some of them with wildcards."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", NOT_DENIED, re.MULTILINE)
    return [pattern for row in rows for pattern in re.findall(r"`([a-z0-9*]+:[\w*]+)`", row)]


def writes(arn: str) -> list[str]:
    """Return the actions of a resource's service that change it, by AWS's reference."""
    names = matching(f"{arn.split(':')[2]}:*")
    return [known.name for known in map(action, names) if not known.is_read and known.types_of(arn)]


def test_each_write_is_denied_or_has_a_reason(packaged: Packaged) -> None:
    """For everything that the templates deploy, SECURITY.md says which writes are not denied, why, and who notices.

    What it lists exists.
    """
    listed = reasons()
    arns = sorted(set(deployed(packaged)))
    open_actions = {(name, arn) for arn in arns for name in writes(arn) if may(ADMINISTRATOR, name, arn)}
    assert len(arns) > 50
    assert {row for row in open_actions if not any(fnmatchcase(row[0], pattern) for pattern in listed)} == set()
    assert [pattern for pattern in listed if not any(matching(pattern))] == []


@pytest.mark.parametrize("service", ["config", "events", "logs"])
def test_each_write_without_a_resource_is_denied_or_has_a_reason(service: str) -> None:
    """A Deny with ARNs does not concern these actions, even if it names them. They can change what is deployed all the same."""
    names = [known.name for known in map(action, matching(f"{service}:*")) if not known.is_read and not known.types]
    without_reason = {name for name in names if not any(fnmatchcase(name, pattern) for pattern in reasons())}
    assert {name for name in without_reason if may(ADMINISTRATOR, name, "*")} == set()


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
    } == set()
