"""GetComplianceDetailsByConfigRule and GetComplianceDetailsByResource: the results of a rule, and of a resource."""

from collections.abc import Iterable
from typing import Any

from moto.config.exceptions import InvalidLimitException
from moto.config.models import ConfigBackend

from sandbox.config_service import checks
from sandbox.config_service.results import ConfigResults, Result

Parameters = dict[str, Any]

MAXIMUM_LIMIT = 100
DEFAULT_LIMIT = 10
"""Results of a page where the Limit is 0 or missing (botocore model, GetComplianceDetailsByConfigRule)."""


def details_by_rule(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByConfigRule.

    The name may have 64 characters at most, although a rule's may have 128 (botocore model).
    """
    name = parameters.get("ConfigRuleName") or ""
    checks.length(name, "configRuleName", 64, 1)
    checks.rule(backend, name)
    chosen = _chosen(results.of_rule(name), parameters)
    rows, token = checks.page(chosen, parameters.get("NextToken"), _limit(parameters))
    answer: dict[str, Any] = {"EvaluationResults": [_as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def details_by_resource(_backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByResource: the results of all rules for one resource, in pages of ten.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByResource.html
    """
    resource = (parameters.get("ResourceType") or "", parameters.get("ResourceId") or "")
    checks.length(resource[0], "resourceType", 256, 1)
    checks.length(resource[1], "resourceId", 768, 1)
    chosen = _chosen(results.of_resource(resource), parameters)
    rows, token = checks.page(chosen, parameters.get("NextToken"), DEFAULT_LIMIT)
    answer: dict[str, Any] = {"EvaluationResults": [_as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def _limit(parameters: Parameters) -> int:
    limit = int(parameters.get("Limit") or 0)
    if not 0 <= limit <= MAXIMUM_LIMIT:
        raise InvalidLimitException(limit)
    return limit or DEFAULT_LIMIT


def _chosen(found: Iterable[Result], parameters: Parameters) -> list[Result]:
    wanted = parameters.get("ComplianceTypes") or []
    checks.compliance_filter(wanted)
    return [result for result in found if not wanted or result.compliance in wanted]


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
