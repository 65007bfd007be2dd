"""GetComplianceDetailsByConfigRule and GetComplianceDetailsByResource: the results of a rule, and of a resource."""

from collections.abc import Iterable
from typing import Any

from moto.config.exceptions import (
    InvalidParameterValueException,
)
from moto.config.models import ConfigBackend

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.history import DEFAULT_LIMIT
from config_rule_sandbox.config.results import ConfigResults, Result

Parameters = dict[str, Any]
INSUFFICIENT = "INSUFFICIENT_DATA"


def details_by_rule(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByConfigRule."""
    name = parameters["ConfigRuleName"]
    checks.rule(backend, name)
    chosen = _chosen((row for row in results.shown() if row.rule_name == name), parameters)
    rows, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or DEFAULT_LIMIT)
    answer: dict[str, Any] = {"EvaluationResults": [_as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def details_by_resource(_backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByResource: the results of all rules for one resource, in pages of ten.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByResource.html
    """
    resource = (parameters.get("ResourceType", ""), parameters.get("ResourceId", ""))
    chosen = _chosen((row for row in results.shown() if row.resource == resource), parameters)
    rows, token = checks.page(chosen, parameters.get("NextToken"), DEFAULT_LIMIT)
    answer: dict[str, Any] = {"EvaluationResults": [_as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def _chosen(found: Iterable[Result], parameters: Parameters) -> list[Result]:
    """Return the results of the types that are asked for, of which INSUFFICIENT_DATA cannot be one.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html
    """
    wanted = parameters.get("ComplianceTypes") or []
    if INSUFFICIENT in wanted:
        raise InvalidParameterValueException(f"The compliance type {INSUFFICIENT} is not supported by this operation.")
    chosen = [result for result in found if not wanted or result.compliance in wanted]
    return sorted(chosen, key=lambda result: (result.rule_name, result.resource))


def _as_detail(result: Result) -> dict[str, Any]:
    """Return a result as the API's EvaluationResult (botocore model)."""
    qualifier = {
        "ConfigRuleName": result.rule_name,
        "ResourceType": result.resource[0],
        "ResourceId": result.resource[1],
        "EvaluationMode": "DETECTIVE",
    }
    return {
        "EvaluationResultIdentifier": {
            "EvaluationResultQualifier": qualifier,
            "OrderingTimestamp": result.ordering,
        },
        "ComplianceType": result.compliance,
        "ResultRecordedTime": result.recorded,
        "ConfigRuleInvokedTime": result.invoked,
        **({"Annotation": result.annotation} if result.annotation else {}),
    }
