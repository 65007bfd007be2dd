"""Rules: what PutConfigRule checks beyond moto, and what DescribeConfigRules adds."""

from typing import Any

from moto.config.exceptions import InvalidParameterValueException, NoAvailableConfigurationRecorderException
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
    """Return DescribeConfigRules' answer with the EvaluationModes that moto drops: DETECTIVE, the default."""
    for rule in answer.get("ConfigRules", []):
        rule.setdefault("EvaluationModes", [{"Mode": "DETECTIVE"}])
    return answer


def delete_results(backend: ConfigBackend, results: ConfigResults, name: str) -> None:
    """Drop every result of one rule, as DeleteEvaluationResults and DeleteConfigRule do."""
    checks.rule(backend, name)
    results.forget_rule(name)
