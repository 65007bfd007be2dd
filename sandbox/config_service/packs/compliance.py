"""The compliance of packs, computed from what their rules have evaluated."""

from typing import Any

from moto.config.exceptions import InvalidParameterValueException
from moto.config.models import ConfigBackend

from sandbox.config_service import checks
from sandbox.config_service.compliance import as_detail, in_sum
from sandbox.config_service.packs.errors import NoSuchRuleInPackError
from sandbox.config_service.packs.memory import Pack, packs_of
from sandbox.config_service.packs.requests import Parameters, pack_name, pack_names, page, wanted_compliance
from sandbox.config_service.results import ConfigResults, Result

RULES_PAGE = 1000
DETAILS_PAGE = 100
MAXIMUM_RULE_NAMES = 10
MAXIMUM_RULE_NAME = 64
MAXIMUM_IDS = 5
MAXIMUM_SUMMARIZED = 5
MAXIMUM_SCORED = 25
"""Limits of the requests (botocore model)."""

COMPLIANT, NON_COMPLIANT, UNKNOWN = "COMPLIANT", "NON_COMPLIANT", "INSUFFICIENT_DATA"


def by_rule(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer DescribeConformancePackCompliance: the compliance of each rule of a pack, sorted by the rules' names.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DescribeConformancePackCompliance.html
    """
    pack, filters = packs_of(backend).find(pack_name(parameters)), parameters.get("Filters") or {}
    wanted = wanted_compliance(filters)
    rows = [
        {"ConfigRuleName": name, "ComplianceType": _of_rule(results, name), "Controls": []}
        for name in _rules(pack, filters)
    ]
    kept = [row for row in rows if wanted in (None, row["ComplianceType"])]
    return {"ConformancePackName": pack.name, **page("ConformancePackRuleComplianceList", kept, parameters, RULES_PAGE)}


def details(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetConformancePackComplianceDetails: every result of a pack's rules that is COMPLIANT or NON_COMPLIANT.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetConformancePackComplianceDetails.html
    """
    pack, filters = packs_of(backend).find(pack_name(parameters)), parameters.get("Filters") or {}
    wanted, resource_type, ids = wanted_compliance(filters), filters.get("ResourceType"), filters.get("ResourceIds")
    checks.length(ids or [], "filters.resourceIds", MAXIMUM_IDS)
    if ids and not resource_type:
        raise InvalidParameterValueException("ResourceIds need a ResourceType.")
    rows = [
        as_detail(result)
        for name in _rules(pack, filters)
        for result in _applicable(results, name)
        if wanted in (None, result.compliance)
        and resource_type in (None, result.resource[0])
        and (not ids or result.resource[1] in ids)
    ]
    answer = page("ConformancePackRuleEvaluationResults", rows, parameters, DETAILS_PAGE)
    return {"ConformancePackName": pack.name, **answer}


def summary(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetConformancePackComplianceSummary for 1 to 5 packs.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetConformancePackComplianceSummary.html
    """
    chosen = [packs_of(backend).find(name) for name in pack_names(parameters, MAXIMUM_SUMMARIZED, 1)]
    rows = [
        {"ConformancePackName": pack.name, "ConformancePackComplianceStatus": _of_pack(results, pack)}
        for pack in chosen
    ]
    return page("ConformancePackComplianceSummaryList", rows, parameters)


def scores(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer ListConformancePackComplianceScores: the percentage of COMPLIANT results among a pack's, by name or score.

    Packs that do not exist are left out, and scores have two decimal places; both are UNVERIFIED.
    https://docs.aws.amazon.com/config/latest/APIReference/API_ListConformancePackComplianceScores.html
    """
    names = pack_names(parameters.get("Filters") or {}, MAXIMUM_SCORED)
    scored = [
        (_score(results, pack), pack)
        for name, pack in sorted(packs_of(backend).known.items())
        if not names or name in names
    ]
    descending = parameters.get("SortOrder") == "DESCENDING"
    # Without a score a pack comes last in ascending order and first in descending order.
    keys = {"SCORE": lambda each: (each[0] is None, each[0] or 0.0, each[1].name)}
    scored.sort(key=keys.get(parameters.get("SortBy") or "", lambda each: each[1].name), reverse=descending)
    rows = [
        {
            "ConformancePackName": pack.name,
            "Score": UNKNOWN if score is None else f"{score:.2f}",
            "LastUpdatedTime": max([r.recorded for r in _of_rules(results, pack)], default=pack.requested),
        }
        for score, pack in scored
    ]
    return page("ConformancePackComplianceScores", rows, parameters)


def _rules(pack: Pack, filters: Parameters) -> list[str]:
    """Return the names of a pack's rules, all of them or those that a filter names exactly."""
    names: list[str] = filters.get("ConfigRuleNames") or []
    checks.length(names, "filters.configRuleNames", MAXIMUM_RULE_NAMES)
    for name in names:
        checks.length(name, "filters.configRuleNames", MAXIMUM_RULE_NAME, 1)
        if name not in pack.rule_names:
            raise NoSuchRuleInPackError(pack.name, name)
    return [name for name in pack.rule_names if not names or name in names]


def _applicable(results: ConfigResults, rule_name: str) -> list[Result]:
    """Return the results of a rule but NOT_APPLICABLE ones, which a pack's compliance does not know."""
    return [result for result in results.of_rule(rule_name) if result.compliance in (COMPLIANT, NON_COMPLIANT)]


def _of_rules(results: ConfigResults, pack: Pack) -> list[Result]:
    return [result for name in pack.rule_names for result in _applicable(results, name)]


def _of_rule(results: ConfigResults, name: str) -> str:
    return str(in_sum(results.of_rule(name))["ComplianceType"])


def _of_pack(results: ConfigResults, pack: Pack) -> str:
    """Return a pack's compliance: NON_COMPLIANT if one rule is, else COMPLIANT if one rule is.

    https://docs.aws.amazon.com/config/latest/developerguide/compliance-history-conformance-pack.html
    """
    found = {_of_rule(results, name) for name in pack.rule_names}
    return next((each for each in (NON_COMPLIANT, COMPLIANT) if each in found), UNKNOWN)


def _score(results: ConfigResults, pack: Pack) -> float | None:
    found = [result.compliance == COMPLIANT for result in _of_rules(results, pack)]
    return 100 * sum(found) / len(found) if found else None
