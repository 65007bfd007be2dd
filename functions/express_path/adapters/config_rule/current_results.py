"""Read the results that AWS Config has stored now, with the time of the evaluation that each one is from."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import pages

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


class CurrentResult(NamedTuple):
    """The result of one resource. at is the ordering timestamp; annotation is empty if there is none."""

    resource_id: str
    compliance: str
    annotation: str
    at: datetime


def result_of_resource(
    config: "ConfigServiceClient", rule_name: str, resource_type: str, resource_id: str
) -> CurrentResult | None:
    """Return the rule's result for one resource; None if AWS Config has none. Raise ApiError."""
    found = pages(
        config,
        "config",
        "get_compliance_details_by_resource",
        "EvaluationResults",
        ResourceType=resource_type,
        ResourceId=resource_id,
    )
    return next((result for result in _results(found, rule_name)), None)


def results_of_rule(config: "ConfigServiceClient", rule_name: str) -> dict[str, CurrentResult]:
    """Return the rule's results by resource ID. Raise ApiError."""
    found = pages(
        config,
        "config",
        "get_compliance_details_by_config_rule",
        "EvaluationResults",
        ConfigRuleName=rule_name,
        PaginationConfig={"PageSize": 100},
    )
    return {result.resource_id: result for result in _results(found, rule_name)}


def _results(rows: Iterable[Mapping[str, Any]], rule_name: str) -> Iterable[CurrentResult]:
    for row in rows:
        identifier = row["EvaluationResultIdentifier"]
        qualifier = identifier["EvaluationResultQualifier"]
        if qualifier["ConfigRuleName"] == rule_name:
            at = identifier["OrderingTimestamp"].astimezone(UTC)
            yield CurrentResult(qualifier["ResourceId"], row["ComplianceType"], row.get("Annotation", ""), at)
