"""Rules and their validation."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.config_loop import ConfigLoop
from sandbox.config_service.deployment import RuleDefinition
from sandbox.server import Sandbox


def error_of(call: Callable[..., Any], **parameters: object) -> str:
    """Return the error code of a rejected call."""
    with pytest.raises(ClientError) as raised:
        call(**parameters)
    return str(raised.value.response["Error"]["Code"])


def test_rule_needs_a_recorder(sandbox: Sandbox) -> None:
    """PutConfigRule fails if AWS Config is not set up.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConfigRule.html
    """
    rule = {"ConfigRuleName": "r", "Source": {"Owner": "AWS", "SourceIdentifier": "ENCRYPTED_VOLUMES"}}
    refused = error_of(sandbox.client("config").put_config_rule, ConfigRule=rule)
    assert refused == "NoAvailableConfigurationRecorderException"


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize(
    "excess",
    [
        {"InputParameters": "{" + " " * 1023 + "}"},
        {"Scope": {"ComplianceResourceTypes": ["AWS::EC2::Subnet"] * 101}},
    ],
)
def test_rule_limits(sandbox: Sandbox, excess: dict[str, Any]) -> None:
    """InputParameters have at most 1,024 characters, a scope at most 100 types (botocore model)."""
    config = sandbox.client("config")
    (rule,) = config.describe_config_rules()["ConfigRules"]
    assert error_of(config.put_config_rule, ConfigRule=rule | excess) == "ValidationException"


def test_function_must_let_config_invoke_it(sandbox: Sandbox, loop: ConfigLoop, network_rule: RuleDefinition) -> None:
    """A custom rule needs its function and a permission for config.amazonaws.com in the account.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html
    """
    config, functions = sandbox.client("config"), sandbox.client("lambda")
    (rule,) = config.describe_config_rules(ConfigRuleNames=[loop.rule.name])["ConfigRules"]
    definition = {key: rule[key] for key in ("ConfigRuleName", "Source")}
    permission = {"FunctionName": network_rule.function_name, "StatementId": "own", "Action": "lambda:InvokeFunction"}
    functions.remove_permission(FunctionName=network_rule.function_name, StatementId="config")
    for more in (
        {"Principal": "events.amazonaws.com"},
        {"Principal": "config.amazonaws.com", "SourceAccount": "111111111111"},
        {"Principal": "config.amazonaws.com", "SourceArn": loop.rule.arn},
        {"Principal": "config.amazonaws.com", "PrincipalOrgID": "o-exampleorgid"},
    ):
        functions.add_permission(**permission, **more)
        assert error_of(config.put_config_rule, ConfigRule=definition) == "InsufficientPermissionsException"
        functions.remove_permission(FunctionName=network_rule.function_name, StatementId="own")
    functions.add_permission(**permission, Principal="config.amazonaws.com")
    config.put_config_rule(ConfigRule=definition)
    functions.delete_function(FunctionName=network_rule.function_name)
    assert error_of(config.put_config_rule, ConfigRule=definition) == "InsufficientPermissionsException"


def test_deployed_rule_is_as_described(sandbox: Sandbox, loop: ConfigLoop, network_rule: RuleDefinition) -> None:
    """The rule has its scope, all its triggers, and the evaluation mode that AWS adds."""
    (rule,) = sandbox.client("config").describe_config_rules(ConfigRuleNames=[network_rule.name])["ConfigRules"]
    assert rule["EvaluationModes"] == [{"Mode": "DETECTIVE"}]
    assert "AWS::EC2::RouteTable" in rule["Scope"]["ComplianceResourceTypes"]
    triggers = {detail["MessageType"] for detail in rule["Source"]["SourceDetails"]}
    assert "ScheduledNotification" in triggers
    assert (rule["ConfigRuleArn"], rule["ConfigRuleId"]) == (loop.rule.arn, loop.rule.rule_id)


def test_deploying_twice_keeps_the_rule(sandbox: Sandbox, loop: ConfigLoop, network_rule: RuleDefinition) -> None:
    """A second deployment changes the parameters and keeps the ARN and the id."""
    again = ConfigLoop(sandbox, print, rule=network_rule, parameters={"publicSubnets": "NON_COMPLIANT"})
    assert again.rule.arn == loop.rule.arn
    (rule,) = sandbox.client("config").describe_config_rules()["ConfigRules"]
    assert rule["InputParameters"] == '{"publicSubnets": "NON_COMPLIANT"}'
