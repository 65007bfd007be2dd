"""Read the results that AWS Config has stored for a rule."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import pages
from express_path.adapters.memory import gc_paused

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_config.literals import ComplianceTypeType

PAGE = 100
"""The most results of one page (https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html)."""
FEW = 20
"""Up to so many resources, results are read one resource at a time. One call then reads one resource, and otherwise 100
results of the rule, so reading all results is faster for more resources, unless the rule has thousands of results."""


class StoredResult(NamedTuple):
    """The result of a resource that AWS Config has stored, or that it is to store.

    annotation has 1 to 256 characters (botocore model: config Evaluation), and is empty if AWS Config has stored none.
    ordering_timestamp is the time of what the result was read from. AWS describes it as the time of the event
    (https://docs.aws.amazon.com/config/latest/APIReference/API_Evaluation.html), and does not document that an older
    result does not replace a newer one, or that the time may be later than the event (tests/docs/what_we_rely_on.yaml).
    """

    compliance: "ComplianceTypeType"
    annotation: str
    ordering_timestamp: datetime


@gc_paused()
def stored_results(config: "ConfigServiceClient", rule_name: str) -> dict[str, StoredResult]:
    """Return the stored result of every resource that the rule has reported, by resource id. Raise ApiError."""
    rows = pages(
        config,
        "config",
        "get_compliance_details_by_config_rule",
        "EvaluationResults",
        ConfigRuleName=rule_name,
        PaginationConfig={"PageSize": PAGE},
    )
    return {_identifier(row)["ResourceId"]: _stored(row) for row in rows}


def stored_results_of(
    config: "ConfigServiceClient", rule_name: str, resource_type: str, resource_ids: Collection[str]
) -> dict[str, StoredResult]:
    """Return the rule's stored results of these resources, by resource id. Raise ApiError."""
    if len(resource_ids) > FEW:
        return stored_results(config, rule_name)
    results = {}
    for resource_id in resource_ids:
        rows = pages(
            config,
            "config",
            "get_compliance_details_by_resource",
            "EvaluationResults",
            ResourceType=resource_type,
            ResourceId=resource_id,
        )
        for row in rows:
            if _identifier(row)["ConfigRuleName"] == rule_name:
                results[resource_id] = _stored(row)
    return results


def _identifier(row: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the rule and the resource of a result."""
    qualifier: Mapping[str, str] = row["EvaluationResultIdentifier"]["EvaluationResultQualifier"]
    return qualifier


def _stored(row: Mapping[str, Any]) -> StoredResult:
    ordering_timestamp = row["EvaluationResultIdentifier"]["OrderingTimestamp"].astimezone(UTC)
    return StoredResult(row["ComplianceType"], row.get("Annotation", ""), ordering_timestamp)
