"""How much is compliant: GetComplianceSummaryByConfigRule and GetComplianceSummaryByResourceType."""

import time
from typing import Any

from moto.config.models import ConfigBackend

from sandbox.config_service import checks
from sandbox.config_service.compliance import in_sum
from sandbox.config_service.results import ConfigResults

MOST_RULES, MOST_RESOURCES = 25, 100
"""Neither count goes further (botocore model, ComplianceSummary)."""

MAXIMUM_TYPES = 20
"""Resource types of one request (botocore model, ResourceTypes)."""


def by_rule(backend: ConfigBackend, results: ConfigResults, _parameters: dict[str, Any]) -> dict[str, Any]:
    """Answer with the number of rules that are compliant, and of those that are not."""
    return _summary([in_sum(results.of_rule(name)) for name in backend.config_rules], MOST_RULES)


def by_resource_type(_backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> dict[str, Any]:
    """Answer with the numbers of resources: of each type that is asked for, or of all types together."""
    wanted = parameters.get("ResourceTypes") or []
    checks.length(wanted, "resourceTypes", MAXIMUM_TYPES)
    rows = [{"ResourceType": each, **_of_type(results, each)} for each in wanted]
    return {"ComplianceSummariesByResourceType": rows or [_of_type(results, None)]}


def _of_type(results: ConfigResults, resource_type: str | None) -> dict[str, Any]:
    chosen = [each for each in results.resources() if resource_type in (None, each[0])]
    return _summary([in_sum(results.of_resource(each)) for each in chosen], MOST_RESOURCES)


def _summary(sums: list[dict[str, Any]], most: int) -> dict[str, Any]:
    found = [each["ComplianceType"] for each in sums]
    return {
        "ComplianceSummary": {
            "CompliantResourceCount": _count(found.count("COMPLIANT"), most),
            "NonCompliantResourceCount": _count(found.count("NON_COMPLIANT"), most),
            "ComplianceSummaryTimestamp": time.time(),
        }
    }


def _count(number: int, most: int) -> dict[str, Any]:
    return {"CappedCount": min(number, most), "CapExceeded": number > most}
