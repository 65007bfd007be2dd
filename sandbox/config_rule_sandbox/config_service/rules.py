"""Rules of AWS Config: their checks, their functions, and their statuses."""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

from moto.awslambda.utils import get_backend
from moto.config.exceptions import (
    InsufficientPermissionsException,
    InvalidParameterValueException,
    NoAvailableConfigurationRecorderException,
)
from moto.config.models import ConfigBackend, config_backends
from moto.config.responses import ConfigResponse
from moto.core.exceptions import JsonRESTError

from config_rule_sandbox.config_service import checks
from config_rule_sandbox.config_service.results import ConfigResults, results_of
from config_rule_sandbox.iam_policies import Authorization, is_allowed, names_service
from config_rule_sandbox.memory import memory_of
from config_rule_sandbox.patches import Patches

# --- functions of rules --------------------------------------------------------------------------------------------
#
# The Lambda function of a rule: it is there, and AWS Config may invoke it.


SERVICE = "config.amazonaws.com"


def check_function(backend: ConfigBackend, source: dict[str, Any]) -> None:
    """Raise InsufficientPermissionsException unless the function's policy lets AWS Config invoke it for the account.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConfigRule.html, and for the permission
    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_lambda-functions.html.
    A statement with a condition on anything but the source account does not count: UNVERIFIED what else AWS Config
    supplies.
    """
    if source.get("Owner") != "CUSTOM_LAMBDA":
        return
    arn = source.get("SourceIdentifier") or ""
    named = [statement for statement in _policy(backend, arn) if names_service(statement, SERVICE)]
    if not is_allowed(named, Authorization("lambda:InvokeFunction", arn, {"aws:SourceAccount": [backend.account_id]})):
        raise InsufficientPermissionsException(
            f"The AWS Lambda function {arn} cannot be invoked. "
            "Check the specified function ARN, and check the function's permissions."
        )


def _policy(backend: ConfigBackend, arn: str) -> list[dict[str, Any]]:
    """Return the statements of a function's policy, none if there is no such function."""
    with contextlib.suppress(JsonRESTError, ValueError):
        function = get_backend(backend.account_id, backend.region_name).get_function(arn)
        statements: list[dict[str, Any]] = function.policy.statements
        return statements
    return []


# --- statuses of rules ---------------------------------------------------------------------------------------------
#
# DescribeConfigRuleEvaluationStatus: when rules were invoked and when they reported results.


Status = dict[str, Any]


class Statuses:
    """What a test may set for a rule: members of the answer that replace the computed ones, or that there is no row.

    Times are seconds since 1970. The reference says that there is no status of custom Lambda rules
    (https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigRuleEvaluationStatus.html), yet recorded answers
    have one; `silent` holds the rules that AWS Config returns no status for.
    """

    def __init__(self) -> None:
        """Nothing is set."""
        self.activated: dict[str, float] = {}
        self.told: dict[str, Status] = {}
        self.silent: set[str] = set()


def statuses_of(account_id: str, region: str) -> Statuses:
    """Return the settings of one account and Region; they live and die with moto's backend, reset included."""
    return memory_of(config_backends[account_id][region], Statuses)


def apply(patches: Patches) -> None:
    """Let moto answer DescribeConfigRuleEvaluationStatus until `patches` are undone."""
    patches.wrap(ConfigResponse, "put_config_rule", _activating)
    patches.set(ConfigResponse, "describe_config_rule_evaluation_status", _answer)


def _activating(original: Callable[..., str]) -> Callable[..., str]:
    def answer(self: ConfigResponse) -> str:
        answered = original(self)
        name = json.loads(self.body)["ConfigRule"]["ConfigRuleName"]
        memory_of(self.config_backend, Statuses).activated.setdefault(name, time.time())
        return answered

    return answer


def _answer(self: ConfigResponse) -> str:
    asked = checks.parameters(self, "DescribeConfigRuleEvaluationStatus")
    backend, results = self.config_backend, results_of(self.current_account, self.region)
    names = asked.get("ConfigRuleNames") or sorted(backend.config_rules)
    rows = [_status(backend, results, name) for name in names if name not in memory_of(backend, Statuses).silent]
    page, token = checks.page(rows, asked.get("NextToken"), asked.get("Limit") or len(rows) or 1)
    return json.dumps({"ConfigRulesEvaluationStatus": list(page)} | ({"NextToken": token} if token else {}))


def _status(backend: ConfigBackend, results: ConfigResults, name: str) -> Status:
    """Return one row: invoked when a result token was issued last, evaluated when a result was taken in last."""
    rule = checks.rule(backend, name)
    statuses = memory_of(backend, Statuses)
    row: Status = {
        "ConfigRuleName": name,
        "ConfigRuleArn": rule.config_rule_arn,
        "ConfigRuleId": rule.config_rule_id,
        "FirstActivatedTime": statuses.activated.get(name),
        "LastSuccessfulInvocationTime": results.last_invoked(name),
        "LastSuccessfulEvaluationTime": max((result.recorded for result in results.of_rule(name)), default=None),
    }
    row = {key: value for key, value in row.items() if value is not None}
    row["FirstEvaluationStarted"] = "LastSuccessfulInvocationTime" in row
    return row | statuses.told.get(name, {})


# --- rules ---------------------------------------------------------------------------------------------------------
#
# Rules: what PutConfigRule checks beyond moto, and what DescribeConfigRules adds.


MAXIMUM_RULES = 1000
"""Of an account and Region.

https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html
"""


def check_new_rule(backend: ConfigBackend, _results: ConfigResults, parameters: dict[str, Any]) -> None:
    """Refuse a rule without a configuration recorder, or with a function that cannot be invoked.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConfigRule.html
    """
    if not backend.recorders:
        raise NoAvailableConfigurationRecorderException
    definition = parameters["ConfigRule"]
    scope = definition.get("Scope", {})
    if scope.get("ComplianceResourceId") and len(scope.get("ComplianceResourceTypes", ())) != 1:
        raise InvalidParameterValueException("A ComplianceResourceId in a scope needs just one ComplianceResourceType.")
    check_function(backend, definition["Source"])


def with_evaluation_modes(answer: dict[str, Any]) -> dict[str, Any]:
    """Return DescribeConfigRules' answer with the EvaluationModes that moto drops: DETECTIVE, the default."""
    for rule in answer.get("ConfigRules", []):
        rule.setdefault("EvaluationModes", [{"Mode": "DETECTIVE"}])
    return answer


def delete_results(backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> None:
    """Drop every result of a rule that is deleted."""
    name = parameters["ConfigRuleName"]
    checks.rule(backend, name)
    results.forget_rule(name)
