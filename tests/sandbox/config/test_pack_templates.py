"""Templates of conformance packs: what they may hold, parameters, conditions, and what is refused.

https://docs.aws.amazon.com/config/latest/developerguide/custom-conformance-pack.html
"""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.config import models

from sandbox.config_service.deployment import prepare
from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.sandbox.config.pack_templates import PACK, Template, created, managed, put, rule_names

YAML = """
AWSTemplateFormatVersion: 2010-09-09
Description: A pack
Parameters:
  PublicSubnets:
    Type: String
    Default: COMPLIANT
    AllowedValues: [COMPLIANT, NON_COMPLIANT]
  Vpcs:
    Type: String
    Default: ''
  Stage:
    Type: String
    AllowedPattern: '[a-z]+'
Conditions:
  SomeVpcs: !Not [!Equals ['', !Ref Vpcs]]
  IsProduction: !Equals [!Ref Stage, production]
  Both: !And [!Condition SomeVpcs, !Condition IsProduction]
  Either: !Or [!Condition SomeVpcs, !Condition IsProduction]
Resources:
  Subnets:
    Type: AWS::Config::ConfigRule
    Properties:
      ConfigRuleName: subnets
      Description: !Join ['-', [!Ref AWS::Region, !If [Both, both, !If [Either, either, neither]]]]
      InputParameters:
        publicSubnets: !Ref PublicSubnets
        vpcIds: !If [SomeVpcs, !Ref Vpcs, !Ref AWS::NoValue]
        tag: !Sub '${AWS::AccountId}/${Stage}/${!Literal}'
        number: 14
      Source: {Owner: AWS, SourceIdentifier: ENCRYPTED_VOLUMES}
  ForProduction:
    Type: AWS::Config::ConfigRule
    Condition: IsProduction
    Properties:
      ConfigRuleName: for-production
      Source: {Owner: AWS, SourceIdentifier: ENCRYPTED_VOLUMES}
"""
RULE = "AWS::Config::ConfigRule"


@pytest.fixture
def config(sandbox: Sandbox) -> Client:
    """A client of AWS Config in an account that has a recorder."""
    prepare(sandbox)
    return sandbox.client("config")


@pytest.fixture(autouse=True)
def takes_any_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the managed rule of the tests have the parameters of the product's."""
    known = models.MANAGED_RULES_CONSTRAINTS["ENCRYPTED_VOLUMES"]
    names = ("publicSubnets", "vpcIds", "tag", "number")
    parameters = [{"Name": name, "Optional": True} for name in names]
    monkeypatch.setitem(models.MANAGED_RULES_CONSTRAINTS, "ENCRYPTED_VOLUMES", known | {"Parameters": parameters})


def given(**values: str) -> list[dict[str, str]]:
    """Return input parameters."""
    return [{"ParameterName": name, "ParameterValue": value} for name, value in values.items()]


def message(config: Client, template: Template | str) -> str:
    """Return the sentence with which a template is refused."""
    with pytest.raises(ClientError) as raised:
        put(config, template)
    assert raised.value.response["Error"]["Code"] == "ConformancePackTemplateValidationException"
    return str(raised.value.response["Error"]["Message"])


def rule(config: Client, name: str) -> dict[str, Any]:
    """Return a rule with its parameters read."""
    (found,) = config.describe_config_rules(ConfigRuleNames=[name])["ConfigRules"]
    return {**found, "InputParameters": json.loads(found["InputParameters"])}


def test_defaults_and_conditions(config: Client) -> None:
    """A parameter has its default, what a condition excludes is not there, and scalars become texts."""
    pack_id = created(config, YAML, ConformancePackInputParameters=given(Stage="test"))
    assert rule_names(config) == [f"subnets-{pack_id}"]
    found = rule(config, f"subnets-{pack_id}")
    assert found["Description"] == "us-east-1-neither"
    assert found["InputParameters"] == {
        "publicSubnets": "COMPLIANT",
        "tag": "123456789012/test/${Literal}",
        "number": "14",
    }


def test_given_parameters_win(config: Client) -> None:
    """Input parameters replace defaults and decide the conditions."""
    values = given(Stage="production", Vpcs="vpc-1,vpc-2", PublicSubnets="NON_COMPLIANT")
    pack_id = created(config, YAML, ConformancePackInputParameters=values)
    assert rule_names(config) == [f"for-production-{pack_id}", f"subnets-{pack_id}"]
    found = rule(config, f"subnets-{pack_id}")
    assert (found["Description"], found["InputParameters"]["vpcIds"]) == ("us-east-1-both", "vpc-1,vpc-2")
    created(config, YAML, ConformancePackInputParameters=given(Stage="production"))
    assert rule(config, f"subnets-{pack_id}")["Description"] == "us-east-1-either"


@pytest.mark.parametrize(
    "values",
    [
        given(),
        given(Stage="test", Unknown="x"),
        given(Stage="TEST"),
        given(Stage="test", PublicSubnets="MAYBE"),
        given(Stage="test") * 2,
    ],
    ids=["missing", "unknown", "not in the pattern", "not allowed", "twice"],
)
def test_parameters_that_do_not_fit(config: Client, values: list[dict[str, str]]) -> None:
    """Parameters must have values, be declared, be allowed and be given once."""
    code = refused(put, config=config, template=YAML, ConformancePackInputParameters=values)
    assert code == "InvalidParameterValueException"


def test_sixty_parameters(config: Client) -> None:
    """A custom pack has at most 60 input parameters (botocore model, ConformancePackInputParameters)."""
    names = [f"Parameter{number}" for number in range(61)]
    template = {"Parameters": {name: {"Type": "String"} for name in names}, "Resources": {"One": managed("one")}}
    values = given(**dict.fromkeys(names, "x"))
    assert refused(put, config=config, template=template, ConformancePackInputParameters=values) == (
        "ValidationException"
    )
    del template["Parameters"]["Parameter60"]
    created(config, template, ConformancePackInputParameters=values[:60])


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("Resources: [", "while parsing"),
        ("- a list", "not an object"),
        ("Resources: {One: {Type: a}, One: {Type: b}}", "the key 'One' is there twice"),
        ({"Resources": {}}, "no resources"),
        ({"Resources": "text"}, "Resources is not an object"),
        ({"Resources": {"One": "text"}}, "One is no resource"),
        ({"Resources": {"Not-alphanumeric": managed("one")}}, "alphanumeric"),
        ({"Mappings": {}, "Resources": {}}, "the sandbox does not support the section Mappings"),
        ({"Resources": {"F": {"Type": "AWS::Lambda::Function"}}}, "is of the type AWS::Lambda::Function"),
        ({"Resources": {"One": {"Type": RULE}}}, "One without a ConfigRuleName"),
        ({"Resources": {"One": managed("one") | {"DeletionPolicy": "Retain"}}}, "DeletionPolicy of One"),
        ({"Resources": {"One": managed("one") | {"DependsOn": "Two"}}}, "Unresolved resource dependencies ['Two']"),
        ({"Resources": {"One": managed("one") | {"Condition": "C"}}}, "no condition C"),
        ({"Resources": {"One": managed("one"), "Two": managed("one")}}, "two rules have the name one"),
        ({"Resources": {"One": managed("one", Nonsense="x")}}, 'Unknown parameter in input: "Nonsense"'),
        ({"Resources": {"One": managed("one", CreatedBy="x")}}, "unsupported property CreatedBy in One"),
        ({"Resources": {"One": managed("one", Scope={"Types": ["x"]})}}, 'Unknown parameter in Scope: "Types"'),
        ({"Resources": {"One": managed("one", Source={})}}, 'Missing required parameter in Source: "Owner"'),
        ({"Resources": {"One": managed("one", EvaluationModes=[{"Mode": "PROACTIVE"}])}}, "EvaluationModes"),
        ({"Resources": {"One": managed({"Ref": "P"})}}, "One.ConfigRuleName holds a function"),  # type: ignore[arg-type]
        ({"Resources": {"One": managed("one", Description={"Ref": "P"})}}, "no parameter P"),
        ({"Resources": {"One": managed("one", Description={"Fn::GetAtt": ["A", "Arn"]})}}, "support Fn::GetAtt, only"),
        ({"Resources": {"One": managed("one", Description={"Fn::Sub": ["a", {}]})}}, "Fn::Sub does not take"),
        ({"Resources": {"One": managed("one", Description={"Fn::Sub": "${AWS::NoValue}"})}}, "only texts"),
        ({"Resources": {"One": managed("one", Description={"Fn::If": ["C", "a", "b"]})}}, "no condition C"),
        ({"Parameters": {"P": {"Type": "Number"}}, "Resources": {}}, "the type Number of the parameter P"),
        ({"Parameters": {"P": {"Default": "x"}}, "Resources": {}}, "the parameter P has no Type"),
        ({"Parameters": {"P": {"Type": "String", "NoEcho": "true"}}, "Resources": {}}, "NoEcho of the parameter P"),
        ({"Conditions": {"C": {"Condition": "C"}}, "Resources": {}}, "the condition C depends on itself"),
        ({"Conditions": {"C": "true"}, "Resources": {}}, "is not a condition"),
        ({"Conditions": {"C": {"Fn::Or": [{"Condition": "C"}]}}, "Resources": {}}, "is not a condition"),
        ("Resources: {One: !Sub {a: b}}", "!Sub takes a text or a list"),
    ],
)
def test_faulty_and_unknown_parts_are_refused(config: Client, template: Template | str, fault: str) -> None:
    """A template may hold rules and remediations only; whatever is faulty or not done here is named at once."""
    assert fault in message(config, template)
    assert config.describe_conformance_packs()["ConformancePackDetails"] == []


def test_refused_update_changes_nothing(config: Client) -> None:
    """A template that is refused does not touch the pack, which is not in progress either."""
    created(config, {"Resources": {"One": managed("one")}})
    assert "no resources" in message(config, {"Resources": {}})
    (found,) = config.describe_conformance_pack_status(ConformancePackNames=[PACK])["ConformancePackStatusDetails"]
    assert found["ConformancePackState"] == "CREATE_COMPLETE"
