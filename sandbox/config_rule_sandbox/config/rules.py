"""Rules: what PutConfigRule checks beyond moto, and what DescribeConfigRules adds."""

from typing import Any

from moto.config.exceptions import (
    InvalidParameterValueException,
    NoAvailableConfigurationRecorderException,
)
from moto.config.models import ConfigBackend
from moto.core.exceptions import JsonRESTError

from config_rule_sandbox.answers import NewerTypes, given
from config_rule_sandbox.config import checks
from config_rule_sandbox.config.items.kinds import NEWER_TYPES
from config_rule_sandbox.config.results import ConfigResults
from config_rule_sandbox.config.rule_functions import check_function

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
    if given().newer_types is NewerTypes.REFUSED:
        for resource_type in scope.get("ComplianceResourceTypes", ()):
            if resource_type in NEWER_TYPES:
                raise InvalidParameterValueException(f"The resource type {resource_type} is not supported in a scope.")
    check_function(backend, definition["Source"])


def with_evaluation_modes(answer: dict[str, Any]) -> dict[str, Any]:
    """Return DescribeConfigRules' answer with the EvaluationModes that moto drops: DETECTIVE, the default."""
    for rule in answer.get("ConfigRules", []):
        rule.setdefault("EvaluationModes", [{"Mode": "DETECTIVE"}])
    return answer


def request_evaluation(backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> dict[str, Any]:
    """Ask for another evaluation of the named rules, which LocalAws carries out.

    LimitExceededException while one that was asked for has not ended:
    https://docs.aws.amazon.com/config/latest/APIReference/API_StartConfigRulesEvaluation.html. AWS Config also refuses a
    second call within a minute, which the sandbox does not. UNVERIFIED what it does without names; here, that is
    refused.
    """
    names = parameters.get("ConfigRuleNames", [])
    if not names:
        raise InvalidParameterValueException("ConfigRuleNames must name the rules to evaluate.")
    for name in names:
        checks.rule(backend, name)
    running = sorted(results.requested.intersection(names))
    if running:
        raise JsonRESTError("LimitExceededException", f"The evaluation of these rules is in progress: {running}.")
    results.requested.update(names)
    return {}


def delete_results(backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> None:
    """Drop every result of a rule that is deleted."""
    name = parameters["ConfigRuleName"]
    checks.rule(backend, name)
    results.forget_rule(name)
