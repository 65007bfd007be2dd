"""Remediations in a conformance pack's template: put with the pack, run for its rule, gone with it.

https://docs.aws.amazon.com/config/latest/developerguide/cpack-prerequisites.html
"""

import copy
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.config_service import Result, results_of
from sandbox.config_service.deployment import prepare
from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.remediation import Remediation, remediations_of
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.sandbox.config.pack_templates import PACK, Template, created, managed, put, settled

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ssm.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
RUNBOOK = {
    "schemaVersion": "0.3",
    "assumeRole": "{{ AutomationAssumeRole }}",
    "parameters": {"AutomationAssumeRole": {"type": "String"}, "SubnetId": {"type": "String"}},
    "mainSteps": [
        {
            "name": "heal",
            "action": "aws:invokeLambdaFunction",
            "inputs": {"FunctionName": "heal", "InputPayload": {"id": "{{ SubnetId }}"}},
        }
    ],
}


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Automation with a runbook, in an account that has a recorder."""
    prepare(sandbox)
    with Automation(sandbox) as running:
        running.knobs.time_scale = 0.001
        content = json.dumps(RUNBOOK)
        sandbox.client("ssm").create_document(
            Name="Heal", Content=content, DocumentFormat="JSON", DocumentType="Automation"
        )
        yield running


@pytest.fixture
def remediation(sandbox: Sandbox, automation: Automation) -> Iterator[Remediation]:
    """Remediation in force."""
    with Remediation(sandbox, automation) as running:
        yield running


@pytest.fixture
def config(sandbox: Sandbox, remediation: Remediation) -> Client:
    """A client of AWS Config."""
    del remediation
    return sandbox.client("config")


@pytest.fixture
def template(sandbox: Sandbox) -> Template:
    """A template with a rule, whose name is not its logical id, and its automatic remediation."""
    made = sandbox.client("iam").create_role(RoleName="automation", AssumeRolePolicyDocument=json.dumps(TRUST))
    parameters = {
        "AutomationAssumeRole": {"StaticValue": {"Values": [made["Role"]["Arn"]]}},
        "SubnetId": {"ResourceValue": {"Value": "RESOURCE_ID"}},
    }
    properties = {
        "ConfigRuleName": "no-nat",
        "TargetType": "SSM_DOCUMENT",
        "TargetId": "Heal",
        "TargetVersion": "1",
        "Automatic": "true",
        "MaximumAutomaticAttempts": "2",
        "RetryAttemptSeconds": "600",
        "Parameters": parameters,
    }
    healing = {"Type": "AWS::Config::RemediationConfiguration", "DependsOn": "Rule", "Properties": properties}
    return {"Resources": {"Rule": managed("no-nat"), "Healing": healing}}


@pytest.fixture
def changed(template: Template) -> Callable[..., Template]:
    """Makes the template with changed properties of its remediation; None takes one away."""

    def change(**properties: object) -> Template:
        new = copy.deepcopy(template)
        healing = new["Resources"]["Healing"]["Properties"] | properties
        new["Resources"]["Healing"]["Properties"] = {key: each for key, each in healing.items() if each is not None}
        return new

    return change


def verdict(sandbox: Sandbox, rule: str, subnet: str) -> None:
    """Let a rule have found a subnet NON_COMPLIANT."""
    now = time.time()
    result = Result(rule, ("AWS::EC2::Subnet", subnet), "NON_COMPLIANT", now, now, now)
    results_of(sandbox.account_id, sandbox.region).store(result)


def fault(config: Client, template: Template) -> str:
    """Return the sentence with which a template is refused."""
    with pytest.raises(ClientError) as raised:
        put(config, template)
    assert raised.value.response["Error"]["Code"] == "ConformancePackTemplateValidationException"
    return str(raised.value.response["Error"]["Message"])


def configurations(config: Client, rule: str) -> list[dict[str, Any]]:
    """Return the remediation configurations of a rule."""
    found = config.describe_remediation_configurations(ConfigRuleNames=[rule])["RemediationConfigurations"]
    rows: list[dict[str, Any]] = found
    return rows


def test_remediation_comes_and_goes_with_the_pack(
    sandbox: Sandbox, config: Client, remediation: Remediation, automation: Automation, template: Template
) -> None:
    """It belongs to the pack's rule, heals what the rule finds, and the pack's deletion takes it and its runs away."""
    healed: list[str] = []
    automation.functions.register("heal", lambda event: healed.append(event["id"]))
    rule = f"no-nat-{created(config, template)}"
    (found,) = configurations(config, rule)
    path = f"remediation-configuration/aws-service-remediation-configuration/config-conforms.amazonaws.com/{rule}"
    assert path in found["Arn"]
    assert found["CreatedByService"] == "config-conforms.amazonaws.com"
    assert (found["Automatic"], found["MaximumAutomaticAttempts"]) == (True, 2)
    verdict(sandbox, rule, "subnet-1")
    assert [run.state for run in remediation.remediate(rule)] == ["SUCCEEDED"]
    assert healed == ["subnet-1"]
    config.delete_conformance_pack(ConformancePackName=PACK)
    assert configurations(config, rule) == []
    memory = remediations_of(sandbox.account_id, sandbox.region)
    assert (memory.runs, memory.exceptions) == ({}, {})
    assert results_of(sandbox.account_id, sandbox.region).of_rule(rule) == []


def test_account_cannot_change_it(config: Client, sandbox: Sandbox, template: Template) -> None:
    """No own remediation, no exceptions, no deletion: the pack's template is the place for all of them.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html and
    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationExceptions.html
    """
    rule = f"no-nat-{created(config, template)}"
    verdict(sandbox, rule, "subnet-1")
    own = {"ConfigRuleName": rule, "TargetType": "SSM_DOCUMENT", "TargetId": "Heal"}
    code = refused(config.put_remediation_configurations, RemediationConfigurations=[own])
    assert code == "InvalidParameterValueException"
    keys = [{"ResourceType": "AWS::EC2::Subnet", "ResourceId": "subnet-1"}]
    code = refused(config.put_remediation_exceptions, ConfigRuleName=rule, ResourceKeys=keys)
    assert code == "InvalidParameterValueException"
    code = refused(config.delete_remediation_configuration, ConfigRuleName=rule)
    assert code == "InsufficientPermissionsException"
    assert refused(config.delete_config_rule, ConfigRuleName=rule) == "AccessDeniedException"
    assert len(configurations(config, rule)) == 1


def test_manual_remediation_can_be_started(
    config: Client, automation: Automation, changed: Callable[..., Template]
) -> None:
    """StartRemediationExecution works for a pack's rule as for any other."""
    automation.functions.register("heal", lambda _: None)
    rule = f"no-nat-{created(config, changed(Automatic='false'))}"
    keys = [{"resourceType": "AWS::EC2::Subnet", "resourceId": "subnet-1"}]
    assert config.start_remediation_execution(ConfigRuleName=rule, ResourceKeys=keys).get("FailedItems") is None


def test_update_changes_and_removes_it(config: Client, template: Template, changed: Callable[..., Template]) -> None:
    """A remediation is added to a pack's rule, changed and removed by updating the pack.

    https://docs.aws.amazon.com/config/latest/developerguide/service-linked-awsconfig-rules.html
    """
    only_rule = {"Resources": {"Rule": template["Resources"]["Rule"]}}
    rule = f"no-nat-{created(config, only_rule)}"
    assert configurations(config, rule) == []
    created(config, template)
    before = configurations(config, rule)
    created(config, {**template, "Description": "the same"})
    assert configurations(config, rule) == before
    created(config, changed(RetryAttemptSeconds=120))
    assert configurations(config, rule)[0]["RetryAttemptSeconds"] == 120
    created(config, only_rule)
    assert configurations(config, rule) == []


def test_failed_update_keeps_the_former_one(config: Client, changed: Callable[..., Template]) -> None:
    """What an update cannot put in place leaves the remediation of before, changed meanwhile or not."""
    rule = f"no-nat-{created(config, changed())}"
    template = changed(RetryAttemptSeconds=120)
    template["Resources"] |= {"Two": managed("two"), "More": copy.deepcopy(template["Resources"]["Healing"])}
    template["Resources"]["More"]["Properties"] |= {"ConfigRuleName": "two", "TargetId": "Unknown"}
    template["Resources"]["More"]["DependsOn"] = ["Two", "Rule"]
    put(config, template)
    assert settled(config)["ConformancePackState"] == "UPDATE_FAILED"
    before = configurations(config, rule)
    assert before[0]["RetryAttemptSeconds"] == 600
    template["Resources"]["Healing"]["Properties"]["RetryAttemptSeconds"] = "600"
    put(config, template)
    assert settled(config)["ConformancePackState"] == "UPDATE_FAILED"
    assert configurations(config, rule) == before
    assert [found["ConfigRuleName"] for found in config.describe_config_rules()["ConfigRules"]] == [rule]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"TargetId": "Unknown"}, "Automation Definition with Name: Unknown can not be found"),
        ({"MaximumAutomaticAttempts": 26}, "<= 25"),
        ({"Parameters": {"Nonsense": {"StaticValue": {"Values": ["x"]}}}}, "AutomationAssumeRole"),
        ({"Automatic": "false", "Parameters": None}, "needs the parameters"),
    ],
)
def test_remediation_that_cannot_be_put_fails_the_creation(
    config: Client, changed: Callable[..., Template], properties: dict[str, Any], reason: str
) -> None:
    """The runbook must be there already, with these parameters and a role; else the pack is CREATE_FAILED."""
    put(config, changed(**properties))
    found = settled(config)
    assert found["ConformancePackState"] == "CREATE_FAILED"
    assert reason in found["ConformancePackStatusReason"]
    assert config.describe_config_rules()["ConfigRules"] == []


def test_remediation_must_depend_on_its_rule(config: Client, template: Template) -> None:
    """Without DependsOn the rule may not be there in time, as its name is no reference to it."""
    del template["Resources"]["Healing"]["DependsOn"]
    put(config, template)
    assert "lacks DependsOn" in settled(config)["ConformancePackStatusReason"]


def test_rule_is_named_by_its_name(config: Client, changed: Callable[..., Template]) -> None:
    """ConfigRuleName is that of the rule in the template: no logical id, no suffix, and no function.

    https://github.com/aws-samples/aws-config-tagging-remediation-example
    """
    assert "the rules are: no-nat" in fault(config, changed(ConfigRuleName="Rule"))
    assert "holds a function" in fault(config, changed(ConfigRuleName={"Ref": "Rule"}))


def test_role_is_written_out(config: Client, changed: Callable[..., Template], template: Template) -> None:
    """AWS Config takes no function for the automation's role, while other parameters may have one."""
    parameters = template["Resources"]["Healing"]["Properties"]["Parameters"]
    role = {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/automation"}
    with_function = parameters | {"AutomationAssumeRole": {"StaticValue": {"Values": [role]}}}
    assert "AutomationAssumeRole holds a function" in fault(config, changed(Parameters=with_function))
    static = {"StaticValue": {"Values": [{"Fn::Sub": "subnet-${AWS::AccountId}"}]}}
    pack_id = created(config, changed(Parameters=parameters | {"SubnetId": static}))
    (found,) = configurations(config, f"no-nat-{pack_id}")
    assert found["Parameters"]["SubnetId"]["StaticValue"]["Values"] == ["subnet-123456789012"]


def test_one_remediation_for_a_rule(config: Client, template: Template) -> None:
    """A rule has one remediation at most (its name is the key of the resource type)."""
    template["Resources"]["Again"] = template["Resources"]["Healing"]
    assert "no-nat has two remediations" in fault(config, template)


def test_remediation_needs_the_service(sandbox: Sandbox, automation: Automation, template: Template) -> None:
    """Where nothing could carry it out, the sandbox says so instead of forgetting the remediation."""
    del automation
    config = sandbox.client("config")
    put(config, template)
    assert "needs sandbox.remediation.Remediation in force" in settled(config)["ConformancePackStatusReason"]
