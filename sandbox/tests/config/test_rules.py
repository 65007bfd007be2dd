"""Rules: their validation, and DescribeConfigRuleEvaluationStatus, which moto lacks."""

from typing import Any

import pytest

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.results import ConfigResults
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


def test_rule_needs_a_recorder(sandbox: Sandbox) -> None:
    """PutConfigRule fails if AWS Config is not set up.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConfigRule.html
    """
    rule = {"ConfigRuleName": "r", "Source": {"Owner": "AWS", "SourceIdentifier": "ENCRYPTED_VOLUMES"}}
    code = refused(sandbox.client("config").put_config_rule, ConfigRule=rule)
    assert code == "NoAvailableConfigurationRecorderException"


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
    assert refused(config.put_config_rule, ConfigRule=rule | excess) == "ValidationException"


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
        assert refused(config.put_config_rule, ConfigRule=definition) == "InsufficientPermissionsException"
        functions.remove_permission(FunctionName=network_rule.function_name, StatementId="own")
    functions.add_permission(**permission, Principal="config.amazonaws.com")
    config.put_config_rule(ConfigRule=definition)
    functions.delete_function(FunctionName=network_rule.function_name)
    assert refused(config.put_config_rule, ConfigRule=definition) == "InsufficientPermissionsException"


def test_deployed_rule_is_as_described(sandbox: Sandbox, loop: ConfigLoop, network_rule: RuleDefinition) -> None:
    """The rule has its scope, all its triggers, and the evaluation mode that AWS adds."""
    (rule,) = sandbox.client("config").describe_config_rules(ConfigRuleNames=[network_rule.name])["ConfigRules"]
    assert rule["EvaluationModes"] == [{"Mode": "DETECTIVE"}]
    assert "AWS::EC2::RouteTable" in rule["Scope"]["ComplianceResourceTypes"]
    triggers = {detail["MessageType"] for detail in rule["Source"]["SourceDetails"]}
    assert "ScheduledNotification" in triggers
    assert (rule["ConfigRuleArn"], rule["ConfigRuleId"]) == (loop.rule.arn, loop.rule.rule_id)


def status(sandbox: Sandbox) -> dict[str, Any]:
    """Return the only row of the response."""
    [row] = sandbox.client("config").describe_config_rule_evaluation_status()["ConfigRulesEvaluationStatus"]
    return dict(row)


def test_times_come_with_invocations_and_results(sandbox: Sandbox, loop: ConfigLoop, results: ConfigResults) -> None:
    """A new rule is active, and the row has the times of the last invocation and of the last accepted results.

    https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigRuleEvaluationStatus.html
    """
    new = status(sandbox)
    assert new["FirstEvaluationStarted"] is False
    assert new["FirstActivatedTime"]
    assert "LastSuccessfulInvocationTime" not in new
    token = results.issue_token(loop.rule.name)
    assert status(sandbox)["LastSuccessfulInvocationTime"] >= new["FirstActivatedTime"]
    assert "LastSuccessfulEvaluationTime" not in status(sandbox)
    resource = {"ComplianceResourceType": "AWS::EC2::Subnet", "ComplianceResourceId": "subnet-1"}
    put = {**resource, "ComplianceType": "COMPLIANT", "OrderingTimestamp": 100}
    sandbox.client("config").put_evaluations(Evaluations=[put], ResultToken=token)
    assert status(sandbox)["LastSuccessfulEvaluationTime"] >= status(sandbox)["LastSuccessfulInvocationTime"]
    assert status(sandbox)["FirstEvaluationStarted"] is True


def test_evaluation_is_requested_once(sandbox: Sandbox, loop: ConfigLoop, results: ConfigResults) -> None:
    """StartConfigRulesEvaluation needs rules that exist, and is refused while one that was asked for has not ended.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartConfigRulesEvaluation.html
    """
    start = sandbox.client("config").start_config_rules_evaluation
    name = loop.rule.name
    assert refused(start) == "InvalidParameterValueException"
    assert refused(start, ConfigRuleNames=[name, "other"]) == "NoSuchConfigRuleException"
    start(ConfigRuleNames=[name])
    assert refused(start, ConfigRuleNames=[name]) == "LimitExceededException"
    assert results.requested == {name}
    sandbox.client("config").delete_config_rule(ConfigRuleName=name)
    assert results.requested == set()
