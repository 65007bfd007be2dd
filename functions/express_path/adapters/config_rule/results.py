"""Report results to AWS Config: those that differ from what it has stored."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.config_rule.stored_results import StoredResult
from express_path.errors import ReportError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

BATCH = 100
"""The most evaluations of one PutEvaluations call (botocore model: config PutEvaluationsRequest)."""
NOT_APPLICABLE = "NOT_APPLICABLE"


def put_evaluations(
    config: "ConfigServiceClient", event: ConfigEvent, resource_type: str, results: Mapping[str, StoredResult]
) -> Iterator[str]:
    """Report results by resource id in answer to an event; yield the id of each resource whose result was accepted.

    If there are none, no call is made. After all calls, raise ReportError if AWS Config rejected some results. Raise
    ApiError if it rejects a call.
    """
    failed: list[Mapping[str, Any]] = []
    resource_ids = list(results)
    for start in range(0, len(resource_ids), BATCH):
        batch = resource_ids[start : start + BATCH]
        with calling("config:PutEvaluations"):
            response = config.put_evaluations(
                Evaluations=[
                    {
                        "ComplianceResourceType": resource_type,
                        "ComplianceResourceId": resource_id,
                        "ComplianceType": results[resource_id].compliance,
                        "Annotation": results[resource_id].annotation,
                        "OrderingTimestamp": results[resource_id].ordering_timestamp,
                    }
                    for resource_id in batch
                ],
                ResultToken=event.result_token,
                TestMode=event.is_test,
            )
        rejected = response.get("FailedEvaluations", [])
        failed.extend(rejected)
        rejected_ids = {evaluation["ComplianceResourceId"] for evaluation in rejected}
        yield from (resource_id for resource_id in batch if resource_id not in rejected_ids)
    if failed:
        raise ReportError(failed)


def is_changed(result: StoredResult, stored: StoredResult | None) -> bool:
    """Return whether a result has another compliance or annotation than the stored one, so that it must be reported.

    A new resource that is NOT_APPLICABLE needs no report, because AWS Config removes such results
    (https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config.html).
    """
    if stored is None:
        return result.compliance != NOT_APPLICABLE
    return (result.compliance, result.annotation) != (stored.compliance, stored.annotation)


def deleted_resource_ids(stored: Mapping[str, StoredResult], existing_ids: Collection[str]) -> list[str]:
    """Return the ids of deleted resources whose stored result still counts, sorted.

    They must be reported as NOT_APPLICABLE, or their results stay.
    """
    deleted = stored.keys() - set(existing_ids)
    return sorted(resource_id for resource_id in deleted if stored[resource_id].compliance != NOT_APPLICABLE)
