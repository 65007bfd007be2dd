"""The AWS::Config::RemediationConfiguration of the template, against Config's own model and the runbooks it starts."""

import json
import re
from typing import Any

import pytest
from botocore.validate import ParamValidator

from express_path.domain.heal.records import MAY_WARN, HealSettings, RemediationMode
from express_path.domain.heal.settings import parse_settings
from express_path.domain.verdict.parameters import parse_parameters
from tests.support.template import Expanded, included, source
from tests.template.models import bounds, shape

TOPIC = "arn:aws:sns:us-east-1:123456789012:AutomationApprovals"
OFF: dict[str, str] = {}
ON = {"RemediationMode": "ON"}
APPROVAL = {"RemediationMode": "APPROVAL", "Approvers": "jane", "ApprovalTopicArn": TOPIC}
LONGEST = APPROVAL | {
    "Approvers": ",".join(["arn:aws-us-gov:sts::123456789012:assumed-role/" + "r" * 52] * 10),
    "ApprovalTopicArn": "arn:aws-us-gov:sns:us-gov-west-1:123456789012:Automation" + "t" * 200,
    "ChangeCalendarName": "arn:aws-us-gov:ssm:us-gov-west-1:123456789012:document/" + "c" * 128,
    "EndpointPolicyParameter": "/" + "p" * 255,
    "HealDocumentName": "h" * 128,
    "LedgerTableName": "l" * 255,
    "OwnerTags": "o" * 512,
    "VpcIds": ",".join(["vpc-0123456789abcdef0"] * 20)[:439],
    "ExcludeTag": "e" * 256,
    "NetworkRoleArn": "arn:aws:iam::111122223333:role/" + "n" * 97,
}
MODES = [OFF, ON, APPROVAL, LONGEST]
RUNBOOKS = {
    "<HealDocument>": "AddS3ExpressGatewayEndpoint",
    "<ApprovalDocument>": "AddS3ExpressGatewayEndpointWithApproval",
}
SHAPES = {"MaximumAutomaticAttempts": "AutoRemediationAttempts", "RetryAttemptSeconds": "AutoRemediationAttemptSeconds"}


def remediation(parameters: dict[str, str]) -> dict[str, Any]:
    """Return the remediation configuration under given stack parameters."""
    return Expanded(**parameters).of_type("AWS::Config::RemediationConfiguration")


def values(parameters: dict[str, str]) -> dict[str, list[str]]:
    """Return what the runbook is started with, as a deployed stack has it; the resource is a subnet."""
    stack = Expanded(**parameters)
    given = stack.deployed(stack.of_type("AWS::Config::RemediationConfiguration")["Parameters"])
    return {
        name: value["StaticValue"]["Values"] if "StaticValue" in value else ["subnet-0123456789abcdef0"]
        for name, value in given.items()
    }


def runbook_parameters(parameters: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of the runbook that AWS Config starts."""
    definitions: dict[str, dict[str, Any]] = included(f"runbooks/{RUNBOOKS[remediation(parameters)['TargetId']]}.yaml")
    return definitions["parameters"]


def test_first_deploy_only_reports() -> None:
    """By default AWS Config heals nothing by itself; a person may start the runbook for subnets of the rule."""
    configuration = remediation(OFF)
    assert configuration["Automatic"] is False
    assert configuration["TargetId"] == "<HealDocument>"


def test_modes_choose_whether_and_which_runbook_starts() -> None:
    """ON starts the runbook that heals, APPROVAL the one that asks first."""
    on, approval = remediation(ON), remediation(APPROVAL)
    assert (on["Automatic"], on["TargetId"]) == (True, "<HealDocument>")
    assert (approval["Automatic"], approval["TargetId"]) == (True, "<ApprovalDocument>")


def test_nobody_is_asked_again_after_a_no() -> None:
    """In mode APPROVAL one failed attempt is enough for Config's exception; the window outlasts the waiting."""
    assert remediation(APPROVAL | {"MaximumAutomaticAttempts": "7"})["MaximumAutomaticAttempts"] == 1
    assert remediation(ON | {"MaximumAutomaticAttempts": "7"})["MaximumAutomaticAttempts"] == "7"


@pytest.mark.parametrize("parameters", MODES)
def test_configuration_is_one_that_config_takes(parameters: dict[str, str]) -> None:
    """Names, types and lower bounds are those of Config's model; PutRemediationConfigurations would take it."""
    configuration = remediation(parameters)
    for name in ("MaximumAutomaticAttempts", "RetryAttemptSeconds"):
        configuration[name] = int(configuration[name])
        assert configuration[name] in bounds("config", SHAPES[name])
    controls = configuration["ExecutionControls"]["SsmControls"]
    for name in controls:
        controls[name] = int(controls[name])
        assert controls[name] in bounds("config", "Percentage")
    report = ParamValidator().validate(configuration, shape("config", "RemediationConfiguration"))
    assert not report.has_errors(), report.generate_report()
    assert configuration["TargetType"] in shape("config", "RemediationTargetType").metadata["enum"]


def test_ranges_of_the_stack_are_within_those_of_config() -> None:
    """Every number that a stack parameter allows, AWS Config allows."""
    stack = source()["Parameters"]
    attempts = stack["MaximumAutomaticAttempts"]
    assert range(attempts["MinValue"], attempts["MaxValue"] + 1) == bounds("config", SHAPES["MaximumAutomaticAttempts"])
    for name in ("ConcurrentExecutionRatePercentage", "ErrorPercentage"):
        assert range(stack[name]["MinValue"], stack[name]["MaxValue"] + 1) == bounds("config", "Percentage")
    for seconds in stack["RetryAttemptSeconds"]["AllowedValues"]:
        assert seconds in bounds("config", SHAPES["RetryAttemptSeconds"])


@pytest.mark.parametrize("parameters", MODES)
def test_config_gives_no_setting(parameters: dict[str, str]) -> None:
    """AWS Config says which subnet, under which role and function, and that it asks; it gives no setting."""
    assert values(parameters).keys() == {"SubnetId", "AutomationAssumeRole", "PlanFunctionName", "StartedBy"}
    assert values(parameters)["StartedBy"] == ["CONFIG"]


def test_blocked_tables_do_not_stop_the_healing_of_others() -> None:
    """By default AWS Config goes on however many runs fail, since a blocked plan counts as a failed run."""
    assert remediation(OFF)["ExecutionControls"]["SsmControls"]["ErrorPercentage"] == "100"


@pytest.mark.parametrize("parameters", MODES)
def test_values_keep_to_their_number_and_lengths(parameters: dict[str, str]) -> None:
    """At most 25 parameters of at most 25 values, none empty and none longer than 256 characters."""
    given = values(parameters)
    assert len(given) in range(1, shape("config", "RemediationParameters").metadata["max"] + 1)
    for parameter_values in given.values():
        assert len(parameter_values) in range(1, shape("config", "StaticParameterValues").metadata["max"] + 1)
        assert all(len(value) in bounds("config", "StringWithCharLimit256") for value in parameter_values)


def test_the_longest_values_tested_are_values_that_the_stack_takes(allows: Any) -> None:  # noqa: ANN401
    """The lengths above are real ones: CloudFormation would let these parameters through."""
    assert all(allows(name, value) for name, value in LONGEST.items())
    assert Expanded(**LONGEST).broken_rules() == []


@pytest.mark.parametrize("parameters", MODES)
def test_every_input_of_the_runbook_is_given_or_has_a_default(parameters: dict[str, str]) -> None:
    """AWS Config can start the runbook: nothing that it needs is missing, and nothing unknown to it is given."""
    definitions = runbook_parameters(parameters)
    given = values(parameters)
    assert given.keys() <= definitions.keys()
    assert {name for name, definition in definitions.items() if "default" not in definition} <= given.keys()
    assert "AutomationAssumeRole" in given  # by this very name, says PutRemediationConfigurations in botocore's model


@pytest.mark.parametrize("parameters", MODES)
def test_what_the_stack_gives_the_runbook_allows(parameters: dict[str, str]) -> None:
    """ARNs and names of the stack, at their longest too, pass the runbook's own patterns and counts."""
    definitions = runbook_parameters(parameters)
    for name, parameter_values in values(parameters).items():
        definition = definitions[name]
        assert len(parameter_values) <= definition.get("maxItems", 1)
        assert all(re.search(definition.get("allowedPattern", ""), value) for value in parameter_values)
        assert all(value in definition.get("allowedValues", [value]) for value in parameter_values)


def test_the_subnet_is_the_resource_that_was_flagged() -> None:
    """SubnetId is the id of the NON_COMPLIANT resource, and the configuration is for subnets alone."""
    assert remediation(ON)["Parameters"]["SubnetId"] == {"ResourceValue": {"Value": "RESOURCE_ID"}}
    assert "RESOURCE_ID" in shape("config", "ResourceValueType").metadata["enum"]
    assert remediation(ON)["ResourceType"] == "AWS::EC2::Subnet"
    assert remediation(ON)["ConfigRuleName"] == "<ConfigRule>"


def settings(**parameters: str) -> HealSettings:
    """Return the settings that the plan function reads from the environment that the stack gives it."""
    return parse_settings(variables(**parameters))


def variables(**parameters: str) -> dict[str, str]:
    """Return the environment variables of the plan function."""
    environment: dict[str, str] = Expanded(**parameters).properties("PlanFunction")["Environment"]["Variables"]
    return environment


NAMES = {"ledger_table": "<LedgerTable>", "heal_document": "<HealDocument>"}


def test_settings_without_a_word_are_those_of_the_core() -> None:
    """A stack deployed without a word heals with the core's defaults, and records it in its own ledger."""
    assert settings() == HealSettings(**NAMES)


def test_variables_fit_into_an_environment() -> None:
    """Lambda gives all environment variables of a function 4 KB, names and values.

    https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    """
    given = variables(**LONGEST)
    assert sum(len(name) + len(value) for name, value in given.items()) < 4096


def test_ledger_of_an_earlier_stack_is_adopted() -> None:
    """With LedgerTableName no table is created, and function, roles, and output name the given one."""
    assert settings(LedgerTableName="heals").ledger_table == "heals"
    stack = Expanded(LedgerTableName="heals")
    assert "LedgerTable" not in stack.resources
    assert stack.outputs["LedgerTableName"]["Value"] == "heals"
    for role, action in (("PlanRole", "dynamodb:GetItem"), ("AutomationRole", "dynamodb:UpdateItem")):
        policies = stack.properties(role)["Policies"]
        statements = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
        [found] = [statement["Resource"] for statement in statements if action in statement["Action"]]
        assert found == "arn:aws:dynamodb:us-east-1:123456789012:table/heals"


def test_ledger_outlives_the_stack() -> None:
    """The table is kept, protected from deletion, encrypted, and restorable, and has no fixed name."""
    resource = Expanded().resources["LedgerTable"]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
    table = resource["Properties"]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["DeletionProtectionEnabled"] is True
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert "TableName" not in table


def test_settings_reach_the_plan_function() -> None:
    """Every stack parameter of the pre-flight arrives as the setting of that name."""
    found = settings(
        RuleName="nat-free",
        OwnerTags="managed-by=terraform,Owner",
        AdoptIacOwned="true",
        WarnOnly=",".join(sorted(MAY_WARN)),
        GatewayEndpointQuota="40",
        RouteQuota="1000",
        RemediationMode="APPROVAL",
        Approvers="jane,john",
        ApprovalTopicArn=TOPIC,
        ChangeCalendarName="changes",
        EndpointPolicyParameter="/network/policy",
    )
    assert found == HealSettings(
        **NAMES,
        mode=RemediationMode.APPROVAL,
        approvers=("jane", "john"),
        approval_topic_arn=TOPIC,
        calendar="changes",
        policy_parameter="/network/policy",
        owner_tags=("managed-by=terraform", "Owner"),
        adopt_iac_owned=True,
        warn_only=MAY_WARN,
        gateway_endpoint_quota=40,
        route_quota=1000,
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"VpcIds": "vpc-0123456789abcdef0,vpc-1a2b3c4d"},
        {"NetworkRoleArn": "arn:aws:iam::111122223333:role/network/reader"},
        {
            "PublicSubnets": "NON_COMPLIANT",
            "UnresolvedEgress": "NON_COMPLIANT",
            "Scope": "DIRECTORY_BUCKETS",
            "VpcIds": "vpc-1a2b3c4d",
            "ExcludeTag": "team=data platform",
            "NetworkRoleArn": "arn:aws:iam::111122223333:role/reader",
        },
    ],
)
def test_a_heal_judges_by_the_parameters_of_the_rule(parameters: dict[str, str]) -> None:
    """RULE_PARAMETERS is, as JSON, exactly what AWS Config hands the rule, and the core reads it."""
    given = json.loads(variables(**parameters)["RULE_PARAMETERS"])
    assert given == Expanded(**parameters).properties("ConfigRule")["InputParameters"]
    parse_parameters(given)
