"""The calls that read compliance: by rule, by resource, in detail and in sum."""

from collections.abc import Iterable
from typing import Any

from moto.config.exceptions import InvalidLimitException, InvalidParameterValueException
from moto.config.models import ConfigBackend

from sandbox.config_service import checks
from sandbox.config_service.results import ConfigResults, Result

Parameters = dict[str, Any]

MAXIMUM_LIMIT = 100
DEFAULT_LIMIT = 10
"""Results of a page where the Limit is 0 or missing (botocore model, GetComplianceDetailsByConfigRule)."""

SUMMARY_PAGE = 25
MAXIMUM_CONTRIBUTORS = 25
"""ComplianceContributorCount.CappedCount counts no further (botocore model, CapExceeded)."""


def details_by_rule(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByConfigRule.

    The name may have 64 characters at most, although a rule's may have 128 (botocore model).
    """
    name = parameters.get("ConfigRuleName") or ""
    checks.length(name, "configRuleName", 64, 1)
    checks.rule(backend, name)
    chosen = _chosen(results.of_rule(name), parameters, refused="INSUFFICIENT_DATA")
    return _page_of_details(chosen, parameters, _limit(parameters))


def details_by_resource(_backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByResource; both ResourceType and ResourceId are needed here."""
    resource = (parameters.get("ResourceType") or "", parameters.get("ResourceId") or "")
    if not all(resource):
        raise InvalidParameterValueException("ResourceType and ResourceId must be provided together.")
    chosen = _chosen(results.of_resource(resource), parameters, refused="INSUFFICIENT_DATA")
    return _page_of_details(chosen, parameters, DEFAULT_LIMIT)


def summary_by_rule(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer DescribeComplianceByConfigRule: a rule without any applicable result has INSUFFICIENT_DATA."""
    names = parameters.get("ConfigRuleNames") or sorted(backend.config_rules)
    checks.length(parameters.get("ConfigRuleNames") or [], "configRuleNames", 25)
    wanted = parameters.get("ComplianceTypes") or []
    checks.compliance_filter(wanted, refused="NOT_APPLICABLE")
    for name in names:
        checks.rule(backend, name)
    rows = [{"ConfigRuleName": name, "Compliance": in_sum(results.of_rule(name))} for name in names]
    return _page_of_sums("ComplianceByConfigRules", rows, wanted, parameters, SUMMARY_PAGE)


def summary_by_resource(_backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer DescribeComplianceByResource for every resource, those of one type, or a single one."""
    resource_type, resource_id = parameters.get("ResourceType"), parameters.get("ResourceId")
    if resource_id and not resource_type:
        raise InvalidParameterValueException("A ResourceId needs its ResourceType.")
    wanted = parameters.get("ComplianceTypes") or []
    checks.compliance_filter(wanted, refused="NOT_APPLICABLE")
    rows = [
        {"ResourceType": resource[0], "ResourceId": resource[1], "Compliance": in_sum(results.of_resource(resource))}
        for resource in results.resources()
        if resource_type in (None, resource[0]) and resource_id in (None, resource[1])
    ]
    return _page_of_sums("ComplianceByResources", rows, wanted, parameters, _limit(parameters))


def _limit(parameters: Parameters) -> int:
    limit = int(parameters.get("Limit") or 0)
    if not 0 <= limit <= MAXIMUM_LIMIT:
        raise InvalidLimitException(limit)
    return limit or DEFAULT_LIMIT


def _chosen(found: Iterable[Result], parameters: Parameters, refused: str) -> list[Result]:
    wanted = parameters.get("ComplianceTypes") or []
    checks.compliance_filter(wanted, refused)
    return [result for result in found if not wanted or result.compliance in wanted]


def _page_of_details(chosen: list[Result], parameters: Parameters, size: int) -> dict[str, Any]:
    rows, token = checks.page(chosen, parameters.get("NextToken"), size)
    answer: dict[str, Any] = {"EvaluationResults": [as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def _page_of_sums(key: str, rows: list[Any], wanted: list[str], parameters: Parameters, size: int) -> dict[str, Any]:
    kept = [row for row in rows if not wanted or row["Compliance"]["ComplianceType"] in wanted]
    shown, token = checks.page(kept, parameters.get("NextToken"), size)
    return {key: list(shown)} | ({"NextToken": token} if token else {})


def as_detail(result: Result) -> dict[str, Any]:
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


def in_sum(found: list[Result]) -> dict[str, Any]:
    """Return the API's Compliance of several results: NON_COMPLIANT if one is, with the number of those."""
    bad = sum(result.compliance == "NON_COMPLIANT" for result in found)
    if bad:
        count = {"CappedCount": min(bad, MAXIMUM_CONTRIBUTORS), "CapExceeded": bad > MAXIMUM_CONTRIBUTORS}
        return {"ComplianceType": "NON_COMPLIANT", "ComplianceContributorCount": count}
    good = any(result.compliance == "COMPLIANT" for result in found)
    return {"ComplianceType": "COMPLIANT" if good else "INSUFFICIENT_DATA"}
