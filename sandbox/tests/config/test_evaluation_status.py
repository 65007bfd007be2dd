"""DescribeConfigRuleEvaluationStatus, which moto lacks."""

from collections.abc import Callable
from typing import Any

from sandbox.config_loop import ConfigLoop
from sandbox.config_service import ConfigResults
from sandbox.config_service.rules import statuses_of
from sandbox.refusals import refused
from sandbox.server import Sandbox


def status(sandbox: Sandbox) -> dict[str, Any]:
    """Return the only row of the response."""
    [row] = sandbox.client("config").describe_config_rule_evaluation_status()["ConfigRulesEvaluationStatus"]
    return dict(row)


def test_times_come_with_invocations_and_results(
    sandbox: Sandbox, loop: ConfigLoop, results: ConfigResults, evaluation: Callable[..., dict[str, Any]]
) -> None:
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
    sandbox.client("config").put_evaluations(Evaluations=[evaluation()], ResultToken=token)
    assert status(sandbox)["LastSuccessfulEvaluationTime"] >= status(sandbox)["LastSuccessfulInvocationTime"]
    assert status(sandbox)["FirstEvaluationStarted"] is True


def test_failures_are_reported(sandbox: Sandbox, loop: ConfigLoop) -> None:
    """The row has the code and message of the last failed invocation."""
    failure = {"LastFailedInvocationTime": 1e9, "LastErrorCode": "AccessDenied", "LastErrorMessage": "may not"}
    statuses_of(sandbox.account_id, sandbox.region).told[loop.rule.name] = failure
    assert status(sandbox)["LastErrorCode"] == "AccessDenied"


def test_there_may_be_no_row(sandbox: Sandbox, loop: ConfigLoop) -> None:
    """According to its reference, the call returns nothing for custom Lambda rules."""
    statuses_of(sandbox.account_id, sandbox.region).silent.add(loop.rule.name)
    call = sandbox.client("config").describe_config_rule_evaluation_status
    assert call(ConfigRuleNames=[loop.rule.name])["ConfigRulesEvaluationStatus"] == []


def test_an_unknown_rule_is_refused(sandbox: Sandbox) -> None:
    """An unknown rule is an error, and so are too many names (botocore model)."""
    call = sandbox.client("config").describe_config_rule_evaluation_status
    assert refused(call, ConfigRuleNames=["none"]) == "NoSuchConfigRuleException"
    assert refused(call, ConfigRuleNames=[str(number) for number in range(26)]) == "ValidationException"
