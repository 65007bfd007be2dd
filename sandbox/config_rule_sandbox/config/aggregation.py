"""Aggregators: the results of rules in other accounts and Regions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from moto.config.exceptions import (
    NoSuchConfigurationAggregatorException,
    ValidationException,
)
from moto.config.models import config_backends
from moto.config.responses import ConfigResponse
from moto.organizations.models import organizations_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.patching.patches import Patches

AGGREGATED = ("COMPLIANT", "NON_COMPLIANT")
"""The results that aggregators contain.

https://docs.aws.amazon.com/config/latest/APIReference/API_GetAggregateComplianceDetailsByConfigRule.html
"""
DETAILS_PAGE, RULES_PAGE = 50, 1000
Parameters = dict[str, Any]
Place = tuple[str, str]
"""An account and a Region."""


@dataclass
class Aggregation:
    """What the aggregators of one account and Region hold.

    `places` are aggregated, besides those that an aggregator names: the current results of their rules are returned, or
    those in `kept` while the aggregator lags.
    """

    places: set[Place] = field(default_factory=set)
    kept: dict[Place, list[Result]] = field(default_factory=dict)

    def lag(self, account_id: str, region: str) -> None:
        """Keep the present results of an account and Region, with their rules, whatever changes there."""
        self.kept[account_id, region] = _current(account_id, region)

    def results(self, account_id: str, region: str) -> list[Result]:
        """Return the results of an account and Region that are aggregated."""
        found = self.kept.get((account_id, region))
        return _current(account_id, region) if found is None else found


def aggregation_of(account_id: str, region: str) -> Aggregation:
    """Return what aggregators of one account and Region hold. A reset of moto's backend removes it."""
    return memory_of(config_backends[account_id][region], Aggregation)


def sources_of(backend: Moto, name: str) -> set[Place]:
    """Return the accounts and Regions that an aggregator names. NoSuchConfigurationAggregatorException.

    https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigurationAggregator.html
    """
    if name not in backend.config_aggregators:
        raise NoSuchConfigurationAggregatorException
    aggregator = backend.config_aggregators[name]
    sources: list[Moto] = list(aggregator.account_aggregation_sources or ())
    found = {place for source in sources for place in _places(source.account_ids, source)}
    if source := aggregator.organization_aggregation_source:
        members = organizations_backends[backend.account_id][get_partition(backend.region_name)].accounts
        found |= _places([member.id for member in members], source)
    return found


def _places(account_ids: Sequence[str], source: Moto) -> set[Place]:
    return {
        (account_id, region)
        for account_id in account_ids
        for region in list(config_backends[account_id])
        if source.all_aws_regions or region in source.aws_regions
    }


def apply(patches: Patches) -> None:
    """Let moto answer what aggregators hold until `patches` are undone."""
    for name, answer in ANSWERS.items():
        patches.set(ConfigResponse, name, _method(answer))


def _current(account_id: str, region: str) -> list[Result]:
    results = results_of(account_id, region).results.values()
    return sorted((result for result in results), key=lambda result: (result.rule_name, result.resource))


def _method(answer: Callable[[Aggregation, Parameters], Parameters]) -> Callable[[ConfigResponse], str]:
    def method(self: ConfigResponse) -> str:
        parameters = json.loads(self.body or "{}")
        sources = sources_of(self.config_backend, parameters.get("ConfigurationAggregatorName", ""))
        memory = memory_of(self.config_backend, Aggregation)
        aggregated = Aggregation(memory.places | sources, memory.kept)
        return json.dumps(answer(aggregated, parameters))

    return method


def _rules(aggregation: Aggregation, parameters: Parameters) -> Parameters:
    """Answer DescribeAggregateComplianceByConfigRules: the compliance of each rule in each place that has it.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DescribeAggregateComplianceByConfigRules.html
    """
    wanted = parameters.get("Filters") or {}
    rows = [
        _rule_row(name, account_id, region, aggregation.results(account_id, region))
        for account_id, region in sorted(aggregation.places)
        for name in sorted(
            {
                *config_backends[account_id][region].config_rules,
                *(result.rule_name for result in aggregation.kept.get((account_id, region), ())),
            }
        )
        if wanted.get("ConfigRuleName", name) == name
    ]
    return _page(rows, parameters, RULES_PAGE, "AggregateComplianceByConfigRules")


def _rule_row(name: str, account_id: str, region: str, results: list[Result]) -> Parameters:
    found = {result.compliance for result in results if result.rule_name == name} & set(AGGREGATED)
    compliance = "NON_COMPLIANT" if "NON_COMPLIANT" in found else "COMPLIANT" if found else "INSUFFICIENT_DATA"
    return {
        "ConfigRuleName": name,
        "AccountId": account_id,
        "AwsRegion": region,
        "Compliance": {"ComplianceType": compliance},
    }


def _details(aggregation: Aggregation, parameters: Parameters) -> Parameters:
    """Answer GetAggregateComplianceDetailsByConfigRule."""
    wanted = parameters.get("ComplianceType")
    if wanted and wanted not in AGGREGATED:
        raise ValidationException(f"The compliance type {wanted} is not supported by this operation.")
    rows = [
        _detail(result, parameters)
        for result in aggregation.results(parameters["AccountId"], parameters["AwsRegion"])
        if (parameters["AccountId"], parameters["AwsRegion"]) in aggregation.places
        and result.rule_name == parameters["ConfigRuleName"]
        and result.compliance in (wanted or AGGREGATED)
    ]
    return _page(rows, parameters, DETAILS_PAGE, "AggregateEvaluationResults")


def _detail(result: Result, parameters: Parameters) -> Parameters:
    resource_type, resource_id = result.resource
    qualifier = {"ConfigRuleName": result.rule_name, "ResourceType": resource_type, "ResourceId": resource_id}
    row = {
        "EvaluationResultIdentifier": {
            "EvaluationResultQualifier": qualifier,
            "OrderingTimestamp": result.ordering,
        },
        "ComplianceType": result.compliance,
        "ResultRecordedTime": result.recorded,
        "ConfigRuleInvokedTime": result.invoked,
        "AccountId": parameters["AccountId"],
        "AwsRegion": parameters["AwsRegion"],
    }
    return row | ({"Annotation": result.annotation} if result.annotation else {})


def _page(rows: list[Parameters], parameters: Parameters, default: int, field_name: str) -> Parameters:
    page, token = checks.page(rows, parameters.get("NextToken"), parameters.get("Limit") or default)
    return {field_name: list(page)} | ({"NextToken": token} if token else {})


ANSWERS = {
    "describe_aggregate_compliance_by_config_rules": _rules,
    "get_aggregate_compliance_details_by_config_rule": _details,
}
"""Operations by the name of moto's method."""
