"""The stack's parameters and outputs: described, grouped, and constrained."""

import re
import tomllib
from importlib.metadata import version
from typing import Any

import pytest

from tests.support.heals import all_steps
from tests.support.template import ROOT, expanded, source

PARAMETERS: dict[str, dict[str, Any]] = source()["Parameters"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_default_is_allowed(name: str, allows: Any) -> None:
    """Every parameter has a default that the parameter itself allows."""
    assert allows(name, str(PARAMETERS[name]["Default"]))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("RuleName", "s" * 42, True),
        ("RuleName", "s" * 43, False),
        ("RuleName", "s3express no nat", False),
        ("AlarmTopicArn", "arn:aws:sns:eu-west-1:123456789012:alarms", True),
        ("AlarmTopicArn", "arn:aws:sqs:eu-west-1:123456789012:alarms", False),
        ("PermissionsBoundaryArn", "arn:aws:iam::123456789012:policy/team/boundary", True),
        ("PermissionsBoundaryArn", "arn:aws:iam::123456789012:role/boundary", False),
        ("NetworkRoleExternalId", "express-path/network:1", True),
        ("NetworkRoleExternalId", "x", False),
        ("RemediationMode", "APPROVAL", True),
        ("RemediationMode", "AUTOMATIC", False),
        ("Approvers", "jane,arn:aws:iam::123456789012:role/operators/network", True),
        ("Approvers", "arn:aws:sts::123456789012:assumed-role/operators/jane@example.com", True),
        ("Approvers", "arn:aws:iam::123456789012:policy/operators", False),
        ("Approvers", "jane, john", False),
        ("Approvers", "jane,", False),
        ("Approvers", ",".join(["jane"] * 10), True),
        ("Approvers", ",".join(["jane"] * 11), False),
        ("ApprovalTopicArn", "arn:aws:sns:eu-west-1:123456789012:AutomationApprovals", True),
        ("ApprovalTopicArn", "arn:aws:sns:eu-west-1:123456789012:approvals", False),
        ("ChangeCalendarName", "changes", True),
        ("ChangeCalendarName", "arn:aws:ssm:eu-west-1:123456789012:document/changes", True),
        ("ChangeCalendarName", "arn:aws:ssm:eu-west-1:123456789012:parameter/changes", False),
        ("OwnerTags", "managed-by=terraform,Owner", True),
        ("OwnerTags", "managed-by=terraform,", False),
        ("WarnOnly", "NETWORK_ACL,DNS_ATTRIBUTES", True),
        ("WarnOnly", "NETWORK_ACL,", False),
        ("WarnOnly", "NETWORK_ACLDNS_ATTRIBUTES", False),
        ("WarnOnly", "ROUTE_QUOTA", False),
        ("WarnOnly", "POLICY_WOULD_DENY:data--use1-az4--x-s3,DNS_ATTRIBUTES", True),
        ("WarnOnly", "NETWORK_ACL:data--use1-az4--x-s3", False),
        ("EndpointPolicyParameter", "/network/s3express/policy", True),
        ("EndpointPolicyParameter", "policy", False),
        ("LedgerTableName", "express-path-LedgerTable-1A2B3C", True),
        ("LedgerTableName", "arn:aws:dynamodb:eu-west-1:123456789012:table/heals", False),
        ("DeployingRoleArn", "arn:aws:iam::123456789012:role/deploy/pipeline", True),
        ("DeployingRoleArn", "arn:*:iam::*:role/stacksets-exec-*", True),
        ("DeployingRoleArn", "arn:aws:iam::123456789012:user/jane", False),
        ("ApprovalTopicKeyArn", "arn:aws:kms:eu-west-1:123456789012:key/mrk-0123", True),
        ("ApprovalTopicKeyArn", "arn:aws:kms:eu-west-1:123456789012:alias/topics", True),
        ("ApprovalTopicKeyArn", "arn:aws:kms:{region}:123456789012:alias/topics", True),
        ("ApprovalTopicKeyArn", "alias/topics", False),
        ("AlarmTopicArn", "arn:aws:sns:{region}:{account}:alarms", True),
        ("AlarmTopicArn", "arn:aws:sns:{account}:{region}:alarms", False),
        ("AlarmTopicArn", "arn:aws:sns:{region}:123456789012:alarms-{region}", False),
        ("ApprovalTopicArn", "arn:aws:sns:{region}:123456789012:AutomationApprovals", True),
        ("Approvers", "jane,arn:aws:iam::{account}:role/operators/network", True),
        ("Approvers", "arn:aws:iam::{region}:role/operators", False),
        ("PermissionsBoundaryArn", "arn:aws:iam::{account}:policy/team/boundary", True),
        ("PermissionsBoundaryArn", "arn:aws:iam::123456789012:policy/{account}", False),
    ],
)
def test_parameter_accepts_what_aws_accepts(name: str, value: str, *, expected: bool, allows: Any) -> None:
    """Values that would fail during a deployment are rejected before it starts."""
    assert allows(name, value) is expected


def test_deployment_needs_only_capability_iam() -> None:
    """CAPABILITY_IAM is enough, because no role has a custom name, and samconfig.toml sets only that."""
    roles = [resource for resource in expanded().resources.values() if resource["Type"] == "AWS::IAM::Role"]
    assert len(roles) == 5
    assert not [role for role in roles if "RoleName" in role["Properties"]]
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    assert config["default"]["deploy"]["parameters"]["capabilities"] == "CAPABILITY_IAM"


def test_outputs_name_the_created_resources() -> None:
    """The outputs name what pages and the command read."""
    assert {name: output["Value"] for name, output in expanded().outputs.items()} == {
        "Version": version("express-path"),
        "RuleName": "<ConfigRule>",
        "AlarmTopic": "nowhere - nobody is told anything, because AlarmTopicArn is empty",
        "EventBusName": "<EventBus>",
        "EventBusArn": "<EventBus.Arn>",
        "PlanFunctionArn": "<PlanFunction.Arn>",
        "PlanRoleArn": "<PlanRole.Arn>",
        "AutomationRoleArn": "<AutomationRole.Arn>",
        "StopRoleArn": "<StopRole.Arn>",
        "HealDocumentName": "<HealDocument>",
        "ApprovalDocumentName": "<ApprovalDocument>",
        "LedgerTableName": "<LedgerTable>",
        "UndoDocumentName": "<UndoDocument>",
    }


def test_names_of_the_runbooks_follow_the_name_of_the_rule() -> None:
    """By default, the runbooks have the names of their files. Those of another rule have its name too, so none collide."""
    files = {
        "HealDocument": "AddS3ExpressGatewayEndpoint",
        "ApprovalDocument": "AddS3ExpressGatewayEndpointWithApproval",
        "UndoDocument": "RemoveS3ExpressGatewayEndpoint",
    }
    first, second = expanded(), expanded(RuleName="s" * 42)
    assert {name: first.properties(name)["Name"] for name in files} == files
    assert {first.properties(name)["UpdateMethod"] for name in files} == {"NewVersion"}
    names = {name: second.properties(name)["Name"] for name in files}
    assert names == {name: f"{file}-{'s' * 42}" for name, file in files.items()}
    # https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_CreateDocument.html
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{3,128}", name) for name in names.values())


APPROVAL = {
    "RemediationMode": "APPROVAL",
    "Approvers": "jane",
    "ApprovalTopicArn": "arn:aws:sns:us-east-1:123456789012:AutomationApprovals",
}


@pytest.mark.parametrize("parameters", [{}, {"RemediationMode": "ON"}, APPROVAL, {"ApprovalTopicArn": ""}])
def test_valid_combinations_of_parameters_are_accepted(parameters: dict[str, str]) -> None:
    """The template's Rules accept every mode that has the parameters it needs."""
    assert expanded(**parameters).broken_rules() == []


@pytest.mark.parametrize("parameter", ["Approvers", "ApprovalTopicArn"])
def test_mode_without_its_parameters_is_rejected(parameter: str) -> None:
    """The Rules reject mode APPROVAL without approvers or without a topic, by name."""
    [complaint] = expanded(**APPROVAL | {parameter: ""}).broken_rules()
    assert parameter in complaint


def test_failures_are_counted_for_longer_than_an_approval_takes() -> None:
    """AWS Config counts failures for longer than the runbook waits for an answer and then heals."""
    steps = all_steps("AddS3ExpressGatewayEndpointWithApproval")
    needed = steps["approve"]["timeoutSeconds"] + steps["heal"]["timeoutSeconds"]
    assert expanded(**APPROVAL).properties("Remediation")["RetryAttemptSeconds"] > needed


ANYWHERE = {
    "AlarmTopicArn": "arn:aws:sns:{region}:210987654321:alarms",
    "ApprovalTopicArn": "arn:aws:sns:{region}:{account}:AutomationApprovals",
    "ApprovalTopicKeyArn": "arn:aws:kms:{region}:210987654321:key/mrk-1",
    "PermissionsBoundaryArn": "arn:aws:iam::{account}:policy/team/boundary",
}
HERE = {
    name: arn.replace("{region}", "us-east-1").replace("{account}", "123456789012") for name, arn in ANYWHERE.items()
}


def test_placeholders_give_the_same_stack_as_the_arns_of_the_region_and_account() -> None:
    """{region} and {account} are replaced, so that a StackSet can pass the same values everywhere."""
    assert expanded(**ANYWHERE).resources == expanded(**HERE).resources
    elsewhere = expanded(**ANYWHERE, **{"AWS::Region": "eu-west-1", "AWS::AccountId": "111122223333"})
    assert elsewhere.properties("EvaluateRole")["PermissionsBoundary"].startswith("arn:aws:iam::111122223333:policy/")
    arn = "arn:aws:sns:eu-west-1:111122223333:AutomationApprovals"
    assert elsewhere.properties("PlanFunction")["Environment"]["Variables"]["APPROVAL_TOPIC_ARN"] == arn


def test_arns_without_placeholders_stay_as_they_are() -> None:
    """An ARN of another account stays the ARN of that account."""
    stack = expanded(**HERE, **{"AWS::AccountId": "111122223333"})
    assert stack.properties("EvaluateRole")["PermissionsBoundary"] == HERE["PermissionsBoundaryArn"]
    assert stack.properties("ErrorsAlarm")["AlarmActions"] == [HERE["AlarmTopicArn"]]
    ask, encrypt, *_ = stack.properties("ApprovalPolicy")["PolicyDocument"]["Statement"]
    assert (ask["Resource"], encrypt["Resource"]) == (HERE["ApprovalTopicArn"], HERE["ApprovalTopicKeyArn"])


def test_every_alarm_has_its_topic() -> None:
    """No alarm reports to nobody."""
    stack = expanded(**ANYWHERE)
    alarms = [found for found in stack.resources.values() if found["Type"] == "AWS::CloudWatch::Alarm"]
    assert len(alarms) >= 2
    assert {tuple(alarm["Properties"]["AlarmActions"]) for alarm in alarms} == {(HERE["AlarmTopicArn"],)}


def test_key_by_alias_is_a_condition() -> None:
    """A policy cannot name a key by its alias, so it names the keys of the account that have this alias."""
    alias = ANYWHERE | {"ApprovalTopicKeyArn": "arn:aws:kms:{region}:210987654321:alias/topics"}
    by_alias, by_arn = (
        expanded(**parameters).properties("ApprovalPolicy")["PolicyDocument"]["Statement"][1]
        for parameters in (alias, ANYWHERE)
    )
    assert by_alias["Resource"] == "arn:aws:kms:us-east-1:210987654321:key/*"
    assert by_alias["Condition"]["ForAnyValue:StringEquals"] == {"kms:ResourceAliases": "alias/topics"}
    assert by_arn["Resource"] == "arn:aws:kms:us-east-1:210987654321:key/mrk-1"
    assert by_alias["Condition"]["StringEquals"] == by_arn["Condition"]["StringEquals"]
    assert by_arn["Condition"].keys() == {"StringEquals"}


def test_roles_of_the_functions_share_a_path() -> None:
    """A role in the network account can trust every function's role by the path, whatever its generated name."""
    stack = expanded()
    trusted = [
        name
        for name, resource in stack.resources.items()
        if resource["Type"] == "AWS::IAM::Role" and "lambda.amazonaws.com" in str(resource["Properties"])
    ]
    assert {"EvaluateRole", "PlanRole"} <= set(trusted)
    assert {stack.properties(name)["Path"] for name in trusted} == {"/express-path/"}
