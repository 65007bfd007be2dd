"""Rules: what PutConfigRule checks beyond moto, what DescribeConfigRules adds, and evaluations on request."""

from typing import Any

from moto.config.exceptions import (
    InvalidParameterValueException,
    NoAvailableConfigurationRecorderException,
    ResourceInUseException,
)
from moto.config.models import ConfigBackend

from sandbox.config_service import checks, functions
from sandbox.config_service.results import ConfigResults

MAXIMUM_PARAMETERS = 1024
"""Characters of InputParameters (botocore model)."""

MAXIMUM_RULES = 1000
"""Of an account and Region.

https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html
"""

MAXIMUM_TYPES = 100
MAXIMUM_SOURCE_DETAILS = 25
MAXIMUM_STARTED = 25
"""Rules of one StartConfigRulesEvaluation (botocore model)."""


def check_new_rule(backend: ConfigBackend, definition: dict[str, Any]) -> None:
    """Refuse a rule without a configuration recorder, beyond a limit, or with a function that cannot be invoked.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConfigRule.html
    """
    if not backend.recorders:
        raise NoAvailableConfigurationRecorderException
    checks.length(definition.get("InputParameters") or "", "configRule.inputParameters", MAXIMUM_PARAMETERS)
    types = definition.get("Scope", {}).get("ComplianceResourceTypes") or []
    checks.length(types, "configRule.scope.complianceResourceTypes", MAXIMUM_TYPES)
    if definition.get("Scope", {}).get("ComplianceResourceId") and len(types) != 1:
        raise InvalidParameterValueException("A ComplianceResourceId in a scope needs just one ComplianceResourceType.")
    details = definition.get("Source", {}).get("SourceDetails") or []
    checks.length(details, "configRule.source.sourceDetails", MAXIMUM_SOURCE_DETAILS)
    functions.check(backend, definition.get("Source", {}))


def with_evaluation_modes(answer: dict[str, Any]) -> dict[str, Any]:
    """Return DescribeConfigRules' answer with the EvaluationModes that moto drops: DETECTIVE, the default.

    The tag of a scope is TagKey and TagValue (botocore model, Scope), where moto has a member of its own.
    """
    for rule in answer.get("ConfigRules", []):
        rule.setdefault("EvaluationModes", [{"Mode": "DETECTIVE"}])
        for key, value in rule.get("Scope", {}).pop("Tags", {}).items():
            rule["Scope"] |= {"TagKey": key} | ({} if value is None else {"TagValue": value})
    return answer


def start_evaluation(backend: ConfigBackend, results: ConfigResults, names: list[str]) -> None:
    """Note that rules are to be run on the last known configuration items. One request a rule can be outstanding.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartConfigRulesEvaluation.html
    """
    checks.length(names, "configRuleNames", MAXIMUM_STARTED, 1)
    for name in names:
        checks.rule(backend, name)
    busy = [name for name in names if name in results.requested]
    if busy:
        raise ResourceInUseException(f"The rule {busy[0]} is currently being evaluated. Please retry after some time")
    results.requested.extend(names)


def delete_results(backend: ConfigBackend, results: ConfigResults, name: str) -> None:
    """Drop every result of one rule, as DeleteEvaluationResults and DeleteConfigRule do."""
    checks.rule(backend, name)
    results.forget_rule(name)
