"""The new Security Hub: its findings about results of AWS Config, and automation rules V2, which change them.

https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindingsV2.html,
https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_CreateAutomationRuleV2.html
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from moto.securityhub.exceptions import SecurityHubClientError
from moto.securityhub.models import securityhub_backends
from moto.securityhub.responses import SecurityHubResponse

from config_rule_sandbox.answers import NewHubFindings, given
from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.patching.patches import Patches

Json = Any
NEW, SUPPRESSED = 1, 3
"""Values of status_id: https://schema.ocsf.io/1.5.0/classes/compliance_finding."""
PATHS = ("findingsv2", "automationrulesv2/create", "automationrulesv2/(?P<identifier>[^/]+)")


@dataclass
class AutomationRules:
    """The automation rules V2 of an account and Region, by their IDs."""

    rules: dict[str, Json] = field(default_factory=dict)


def apply(patches: Patches) -> dict[str, Any]:
    """Add the operations, which moto lacks, until `patches` are undone, and return the paths of their requests."""
    for name, method in {
        "get_findings_v2": _get_findings,
        "create_automation_rule_v2": _create_rule,
        "delete_automation_rule_v2": _delete_rule,
    }.items():
        patches.set(SecurityHubResponse, name, method)
    return {f"{{0}}/{path}$": SecurityHubResponse.dispatch for path in PATHS}


def findings_of_results(account_id: str, region: str) -> list[Json]:
    """Return a finding for each NON_COMPLIANT result, as the automation rules leave it (answers.NewHubFindings)."""
    if given().new_hub_findings is NewHubFindings.NONE:
        return []
    rules = memory_of(securityhub_backends[account_id][region], AutomationRules).rules.values()
    in_order = sorted(rules, key=lambda rule: float(rule["RuleOrder"]))
    found = []
    for result in results_of(account_id, region).results.values():
        if result.compliance == "NON_COMPLIANT":
            finding = _finding(result.rule_name, result.resource[1])
            for rule in in_order:
                if rule["RuleStatus"] == "ENABLED" and _matches(finding, rule["Criteria"]["OcsfFindingCriteria"]):
                    finding |= {"status_id": int(_update(rule)["StatusId"])}
            found.append(finding)
    return found


def _finding(rule_name: str, resource_id: str) -> Json:
    title, product = rule_name, "Config"
    if given().new_hub_findings is NewHubFindings.NAMED_DIFFERENTLY:
        title, product = f"{rule_name} is NON_COMPLIANT", "AWS Config"
    return {
        "finding_info": {"title": title},
        "metadata": {"product": {"name": product}},
        "resources": [{"uid": resource_id}],
        "status_id": NEW,
    }


def _update(rule: Json) -> Json:
    return next(action for action in rule["Actions"] if action["Type"] == "FINDING_FIELDS_UPDATE")[
        "FindingFieldsUpdate"
    ]


def _matches(finding: Json, filters: Json) -> bool:
    """Return whether all filters of texts match. Every other kind of filter is refused."""
    tests = list(_tests(filters))
    return all(_value(finding, test["FieldName"]) == test["Filter"]["Value"] for test in tests)


def _tests(filters: Mapping[str, Json]) -> Iterator[Json]:
    if filters.get("CompositeOperator", "AND") != "AND":
        raise _ValidationError("the sandbox evaluates only AND")
    for composite in filters.get("CompositeFilters", []):
        if composite.keys() - {"Operator", "StringFilters"} or composite.get("Operator", "AND") != "AND":
            raise _ValidationError(f"the sandbox evaluates only StringFilters with AND, not {composite}")
        for test in composite["StringFilters"]:
            if test["Filter"]["Comparison"] != "EQUALS":
                raise _ValidationError(f"the sandbox evaluates only EQUALS, not {test}")
            yield test


def _value(finding: Json, name: str) -> Json:
    for part in name.split("."):
        finding = finding.get(part, {})
    return finding


class _ValidationError(SecurityHubClientError):
    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


def _get_findings(self: SecurityHubResponse) -> str:
    filters = json.loads(self.body or "{}").get("Filters") or {}
    found = findings_of_results(self.current_account, self.region)
    return json.dumps({"Findings": [finding for finding in found if _matches(finding, filters)]})


def _create_rule(self: SecurityHubResponse) -> str:
    rule, rule_id = {"RuleStatus": "ENABLED", **json.loads(self.body)}, str(uuid.uuid4())
    list(_tests(rule["Criteria"]["OcsfFindingCriteria"]))
    memory_of(self.securityhub_backend, AutomationRules).rules[rule_id] = rule
    arn = f"arn:aws:securityhub:{self.region}:{self.current_account}:automation-rulev2/{rule_id}"
    return json.dumps({"RuleArn": arn, "RuleId": rule_id})


def _delete_rule(self: SecurityHubResponse) -> str:
    rule_id = unquote(self.path.rpartition("/")[2])
    if not memory_of(self.securityhub_backend, AutomationRules).rules.pop(rule_id, None):
        raise SecurityHubClientError("ResourceNotFoundException", f"There is no automation rule {rule_id}")
    return "{}"
