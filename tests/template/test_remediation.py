"""The template's remediation configuration is valid in Config's own model and for the runbooks it starts."""

import json
import re
from copy import deepcopy
from typing import Any

import pytest

from express_path.domain.heal.records import MAY_WARN, HealSettings, RemediationMode, parse_settings
from express_path.domain.verdict.parameters import parse_parameters
from org.expansion import runbook
from tests.support.template import expanded, source
from tests.template.models import bounds, shape

TOPIC = "arn:aws:sns:us-east-1:123456789012:AutomationApprovals"
OFF: dict[str, str] = {}
ON = {"RemediationMode": "ON"}
APPROVAL = {"RemediationMode": "APPROVAL", "Approvers": "jane", "ApprovalTopicArn": TOPIC}
LONGEST = APPROVAL | {
    "Approvers": ",".join(["arn:aws-us-gov:sts::123456789012:assumed-role/" + "r" * 29] * 10) + "r" * 9,
    "ApprovalTopicArn": "arn:aws-us-gov:sns:us-gov-west-1:123456789012:Automation" + "t" * 200,
    "ChangeCalendarName": "arn:aws-iso-b-east:ssm:us-isob-north-east-1:123456789012:document/" + "c" * 126,
    "EndpointPolicyParameter": "/" + "p" * 127,
    "RuleName": "r" * 42,
    "LedgerTableName": "l" * 160,
    "OwnerTags": "o" * 256,
    "AutomaticTagKeys": "k" * 256,
    "WarnOnly": ",".join(
        [*MAY_WARN, *(f"POLICY_WOULD_DENY:{'b' * length}--use1-az4--x-s3" for length in (40, 40, 40, 42))]
    ),
    "VpcIds": ",".join(["vpc-0123456789abcdef0"] * 20)[:439],
    "ExcludeTag": "e" * 256,
    "NetworkRoleArn": "arn:aws:iam::111122223333:role/" + "n" * 97,
    "NetworkRoleExternalId": "x" * 128,
    "PublicSubnets": "NOT_APPLICABLE",
    "UnresolvedEgress": "NOT_APPLICABLE",
    "Scope": "DIRECTORY_BUCKETS",
    "AdoptIacOwned": "false",
}
MODES = [OFF, ON, APPROVAL, LONGEST]
RUNBOOKS = {
    "<HealDocument>": "AddS3ExpressGatewayEndpoint",
    "<ApprovalDocument>": "AddS3ExpressGatewayEndpointWithApproval",
}


def remediation(parameters: dict[str, str]) -> dict[str, Any]:
    """Return a copy of the remediation configuration for the given stack parameters."""
    return deepcopy(expanded(**parameters).of_type("AWS::Config::RemediationConfiguration"))


def values(parameters: dict[str, str]) -> dict[str, list[str]]:
    """Return the values that a deployed stack passes to the runbook; the resource is a subnet."""
    stack = expanded(**parameters)
    given = stack.deployed(stack.of_type("AWS::Config::RemediationConfiguration")["Parameters"])
    return {
        name: value["StaticValue"]["Values"] if "StaticValue" in value else ["subnet-0123456789abcdef0"]
        for name, value in given.items()
    }


def runbook_parameters(parameters: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of the runbook that AWS Config starts."""
    definitions: dict[str, dict[str, Any]] = runbook(RUNBOOKS[remediation(parameters)["TargetId"]])
    return definitions["parameters"]


def test_first_deploy_only_reports() -> None:
    """By default, AWS Config starts no heal automatically, but a person can start the runbook."""
    configuration = remediation(OFF)
    assert configuration["Automatic"] is False
    assert configuration["TargetId"] == "<HealDocument>"


@pytest.mark.parametrize("parameters", MODES)
def test_config_passes_no_settings(parameters: dict[str, str]) -> None:
    """AWS Config passes the subnet, role, function, and itself as the initiator, but no settings."""
    assert values(parameters).keys() == {"SubnetId", "AutomationAssumeRole", "PlanFunctionName", "StartedBy"}
    assert values(parameters)["StartedBy"] == ["CONFIG"]


def test_blocked_tables_do_not_stop_the_healing_of_others() -> None:
    """AWS Config continues after any number of failed runs, because a blocked plan is a failure."""
    assert remediation(OFF)["ExecutionControls"]["SsmControls"]["ErrorPercentage"] == 100


@pytest.mark.parametrize("parameters", MODES)
def test_values_fit_the_limits_of_config(parameters: dict[str, str]) -> None:
    """At most 25 parameters with at most 25 values each, none of them empty or longer than 256 characters."""
    given = values(parameters)
    assert len(given) in range(1, shape("config", "RemediationParameters").metadata["max"] + 1)
    for parameter_values in given.values():
        assert len(parameter_values) in range(1, shape("config", "StaticParameterValues").metadata["max"] + 1)
        assert all(len(value) in bounds("config", "StringWithCharLimit256") for value in parameter_values)


def test_longest_values_are_allowed_by_the_stack(allows: Any) -> None:
    """CloudFormation accepts the longest values that these tests use."""
    assert all(allows(name, value) for name, value in LONGEST.items())
    assert expanded(**LONGEST).broken_rules() == []


@pytest.mark.parametrize("parameters", MODES)
def test_every_input_of_the_runbook_is_given_or_has_a_default(parameters: dict[str, str]) -> None:
    """AWS Config passes every required input of the runbook and no unknown one."""
    definitions = runbook_parameters(parameters)
    given = values(parameters)
    assert given.keys() <= definitions.keys()
    assert {name for name, definition in definitions.items() if "default" not in definition} <= given.keys()
    assert "AutomationAssumeRole" in given  # by this very name, says PutRemediationConfigurations in botocore's model


@pytest.mark.parametrize("parameters", MODES)
def test_runbook_accepts_the_values_of_the_stack(parameters: dict[str, str]) -> None:
    """The stack's ARNs and names, even the longest, match the runbook's patterns and item limits."""
    definitions = runbook_parameters(parameters)
    for name, parameter_values in values(parameters).items():
        definition = definitions[name]
        assert len(parameter_values) <= definition.get("maxItems", 1)
        assert all(re.search(definition.get("allowedPattern", ""), value) for value in parameter_values)
        assert all(value in definition.get("allowedValues", [value]) for value in parameter_values)


def test_the_subnet_is_the_resource_that_was_flagged() -> None:
    """SubnetId is the id of the noncompliant resource, and the configuration is for subnets only."""
    assert remediation(ON)["Parameters"]["SubnetId"] == {"ResourceValue": {"Value": "RESOURCE_ID"}}
    assert "RESOURCE_ID" in shape("config", "ResourceValueType").metadata["enum"]
    assert remediation(ON)["ResourceType"] == "AWS::EC2::Subnet"
    assert remediation(ON)["ConfigRuleName"] == "<ConfigRule>"


def settings(**parameters: str) -> HealSettings:
    """Return the settings that the plan function parses from the stack's environment variables."""
    return parse_settings(variables(**parameters), "123456789012")


def variables(**parameters: str) -> dict[str, str]:
    """Return the environment variables of the plan function."""
    environment: dict[str, str] = expanded(**parameters).properties("PlanFunction")["Environment"]["Variables"]
    return environment


NAMES = {"approval_document": "<ApprovalDocument>", "ledger_table": "<LedgerTable>", "heal_document": "<HealDocument>"}


def test_default_settings_are_those_of_the_core() -> None:
    """A stack with default parameters heals with the core's defaults and uses its own ledger."""
    assert settings() == HealSettings(**NAMES)


STACK_ID = f"arn:aws-us-gov:cloudformation:us-gov-west-1:123456789012:stack/{'s' * 128}/{'1' * 36}"


def test_variables_fit_into_an_environment() -> None:
    """With every parameter at its longest, the variables of each function have less than 4 KB, names and values.

    https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    """
    stack = expanded(**LONGEST, **{"AWS::StackId": STACK_ID})
    functions = {
        name: stack.deployed(row["Properties"]["Environment"]["Variables"])
        for name, row in stack.resources.items()
        if row["Type"] == "AWS::Lambda::Function"
    }
    assert functions.keys() == {"EvaluateFunction", "HealthFunction", "PlanFunction"}
    sizes = {name: sum(len(key) + len(value) for key, value in given.items()) for name, given in functions.items()}
    assert {name: size for name, size in sizes.items() if size >= 4096} == {}


def test_longest_values_are_the_longest_that_the_stack_allows() -> None:
    """Each parameter that a function gets has a limit, and the value above reaches it."""
    template = source()
    given = json.dumps([row["Properties"].get("Environment") for row in template["Resources"].values()])
    for name, parameter in template["Parameters"].items():
        if re.search(rf'"Ref": "{name}"|\$\{{{name}\}}', given):
            longest = max(map(len, map(str, parameter.get("AllowedValues", []))), default=parameter.get("MaxLength"))
            assert (name, len(LONGEST[name])) == (name, longest)


def test_ledger_of_an_earlier_stack_is_adopted() -> None:
    """With LedgerTableName, no table is created, and the function, roles, and output use the given name."""
    assert settings(LedgerTableName="heals").ledger_table == "heals"
    stack = expanded(LedgerTableName="heals")
    assert "LedgerTable" not in stack.resources
    assert stack.outputs["LedgerTableName"]["Value"] == "heals"
    for role, action in (("PlanRole", "dynamodb:GetItem"), ("AutomationRole", "dynamodb:UpdateItem")):
        policies = stack.properties(role)["Policies"]
        statements = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
        [found] = [statement["Resource"] for statement in statements if action in statement["Action"]]
        assert found == "arn:aws:dynamodb:us-east-1:123456789012:table/heals"


def test_ledger_outlives_the_stack() -> None:
    """The table is retained, protected from deletion, encrypted, and restorable, and has no fixed name."""
    resource = expanded().resources["LedgerTable"]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
    table = resource["Properties"]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["DeletionProtectionEnabled"] is True
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert "TableName" not in table


def test_settings_reach_the_plan_function() -> None:
    """Every stack parameter for the preflight checks reaches the plan function as the setting of that name."""
    found = settings(
        RuleName="nat-free",
        OwnerTags="managed-by=terraform,Owner",
        AutomaticTagKeys="CostCenter",
        AdoptIacOwned="true",
        WarnOnly=",".join(sorted(MAY_WARN)),
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
        automatic_tag_keys=frozenset({"CostCenter"}),
        adopt_iac_owned=True,
        warn_only=MAY_WARN,
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
def test_heals_use_the_parameters_of_the_rule(parameters: dict[str, str]) -> None:
    """RULE_PARAMETERS is the JSON that AWS Config passes to the rule, and the core can parse it."""
    given = json.loads(variables(**parameters)["RULE_PARAMETERS"])
    assert given == expanded(**parameters).properties("ConfigRule")["InputParameters"]
    parse_parameters(given)
