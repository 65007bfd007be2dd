"""Read the results that AWS Config has stored for a rule, and report those that differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import calling, pages
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.errors import ReportError
from express_path.fields import gc_paused

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_config.literals import ComplianceTypeType
    from mypy_boto3_config.type_defs import EvaluationTypeDef

BATCH = 100
"""The most evaluations of one PutEvaluations call (botocore model: config PutEvaluationsRequest)."""
PAGE = 100
"""The most results of one page (https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html)."""
FEW = 20
"""Up to so many resources, results are read one resource at a time. One call then reads one resource, and otherwise 100
results of the rule, so reading all results is faster for more resources, unless the rule has thousands of results."""
NOT_APPLICABLE = "NOT_APPLICABLE"


class StoredResult(NamedTuple):
    """The result that AWS Config has stored for a resource; annotation is empty if there is none.

    ordering_timestamp is that of the evaluation. AWS Config ignores evaluations that are older.
    """

    compliance: str
    annotation: str
    ordering_timestamp: datetime


class Evaluation(NamedTuple):
    """One result to report. annotation has 1 to 256 characters (botocore model: config Evaluation).

    ordering_timestamp is the time of the event that led to it, so that a late event does not replace a newer result
    (https://docs.aws.amazon.com/config/latest/APIReference/API_Evaluation.html).
    """

    resource_type: str
    resource_id: str
    compliance: "ComplianceTypeType"
    annotation: str
    ordering_timestamp: datetime


def put_evaluations(
    config: "ConfigServiceClient", event: ConfigEvent, evaluations: Iterable[Evaluation]
) -> Iterator[str]:
    """Report evaluations in answer to an event; yield the id of each resource whose evaluation was accepted.

    Each resource is reported once, by its last evaluation. If there are none, no call is made. After all calls, raise
    ReportError if AWS Config rejected some evaluations. Raise ApiError if it rejects a call.
    """
    last = list({evaluation.resource_id: evaluation for evaluation in evaluations}.values())
    failed: list[Mapping[str, Any]] = []
    for start in range(0, len(last), BATCH):
        batch = last[start : start + BATCH]
        with calling("config:PutEvaluations"):
            response = config.put_evaluations(
                Evaluations=[_request(evaluation) for evaluation in batch],
                ResultToken=event.result_token,
                TestMode=event.is_test,
            )
        rejected = response.get("FailedEvaluations", [])
        failed.extend(rejected)
        rejected_ids = {evaluation["ComplianceResourceId"] for evaluation in rejected}
        yield from (evaluation.resource_id for evaluation in batch if evaluation.resource_id not in rejected_ids)
    if failed:
        raise ReportError(failed)


def _request(evaluation: Evaluation) -> "EvaluationTypeDef":
    return {
        "ComplianceResourceType": evaluation.resource_type,
        "ComplianceResourceId": evaluation.resource_id,
        "ComplianceType": evaluation.compliance,
        "Annotation": evaluation.annotation,
        "OrderingTimestamp": evaluation.ordering_timestamp,
    }


def changed_evaluations(evaluations: Iterable[Evaluation], stored: Mapping[str, StoredResult]) -> list[Evaluation]:
    """Return the evaluations whose compliance or annotation differs from the stored result.

    A new resource that is NOT_APPLICABLE needs no report, because AWS Config removes such results
    (https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config.html).
    """
    return [evaluation for evaluation in evaluations if _is_changed(evaluation, stored.get(evaluation.resource_id))]


def _is_changed(evaluation: Evaluation, result: StoredResult | None) -> bool:
    if result is None:
        return evaluation.compliance != NOT_APPLICABLE
    return (result.compliance, result.annotation) != (evaluation.compliance, evaluation.annotation)


def deleted_resource_ids(stored: Mapping[str, StoredResult], existing_ids: Collection[str]) -> list[str]:
    """Return the ids of deleted resources whose stored result still counts, sorted.

    They must be reported as NOT_APPLICABLE, or their results stay.
    """
    deleted = stored.keys() - set(existing_ids)
    return sorted(resource_id for resource_id in deleted if stored[resource_id].compliance != NOT_APPLICABLE)


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
    found = {}
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
                found[resource_id] = _stored(row)
    return found


def _identifier(row: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the rule and the resource of a result."""
    qualifier: Mapping[str, str] = row["EvaluationResultIdentifier"]["EvaluationResultQualifier"]
    return qualifier


def _stored(row: Mapping[str, Any]) -> StoredResult:
    ordering_timestamp = row["EvaluationResultIdentifier"]["OrderingTimestamp"].astimezone(UTC)
    return StoredResult(row["ComplianceType"], row.get("Annotation", ""), ordering_timestamp)
