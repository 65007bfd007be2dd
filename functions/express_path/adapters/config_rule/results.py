"""Reporting verdicts to AWS Config, and asking what it heard last."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from express_path.adapters.aws import calling, pages
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.memory import gc_paused
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.fanout import ResourceType
from express_path.errors import ReportError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_config.type_defs import EvaluationTypeDef

BATCH = 100
"""The most evaluations of one PutEvaluations call (botocore model: config PutEvaluationsRequest)."""


class StoredResult(NamedTuple):
    """What AWS Config holds about a subnet."""

    compliance: str
    annotation: str


def put_verdicts(config: "ConfigServiceClient", event: ConfigEvent, verdicts: Iterable[Verdict]) -> int:
    """Report verdicts, each subnet once, in batches of 100; returns how many. Nothing to report costs no call.

    Raises ReportError where AWS Config refuses some, ApiError where it refuses the call.
    """
    evaluations = [_evaluation(event, each) for each in {each.subnet_id: each for each in verdicts}.values()]
    failed: list[dict[str, object]] = []
    for start in range(0, len(evaluations), BATCH):
        with calling("config:PutEvaluations"):
            response = config.put_evaluations(
                Evaluations=evaluations[start : start + BATCH],
                ResultToken=event.result_token,
                TestMode=event.is_test,
            )
        failed.extend(dict(each) for each in response.get("FailedEvaluations", []))
    if failed:
        raise ReportError(failed)
    return len(evaluations)


def _evaluation(event: ConfigEvent, verdict: Verdict) -> "EvaluationTypeDef":
    return {
        "ComplianceResourceType": ResourceType.SUBNET.value,
        "ComplianceResourceId": verdict.subnet_id,
        "ComplianceType": verdict.compliance.value,
        "Annotation": verdict.annotation,
        "OrderingTimestamp": event.ordering_timestamp,
    }


@gc_paused()
def known_results(config: "ConfigServiceClient", rule_name: str) -> dict[str, StoredResult]:
    """What AWS Config holds of every subnet that the rule has reported, by subnet id."""
    results = pages(
        config,
        "config",
        "get_compliance_details_by_config_rule",
        "EvaluationResults",
        ConfigRuleName=rule_name,
        PaginationConfig={"PageSize": BATCH},
    )
    known = {}
    for each in results:
        subnet_id = each["EvaluationResultIdentifier"]["EvaluationResultQualifier"]["ResourceId"]
        known[subnet_id] = StoredResult(each["ComplianceType"], each.get("Annotation", ""))
    return known


def changed_verdicts(verdicts: Iterable[Verdict], known: dict[str, StoredResult]) -> list[Verdict]:
    """The verdicts that AWS Config does not hold yet.

    Of a subnet of which it holds nothing, NOT_APPLICABLE is no news: AWS Config removes such results by itself
    (https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config.html).
    """
    return [each for each in verdicts if _is_news(each, known.get(each.subnet_id))]


def _is_news(verdict: Verdict, held: StoredResult | None) -> bool:
    if held is None:
        return verdict.compliance is not Compliance.NOT_APPLICABLE
    return held != (verdict.compliance, verdict.annotation)


def vanished(known: dict[str, StoredResult], present: Sequence[str]) -> list[str]:
    """The subnets of which AWS Config holds a result that counts although they are gone, sorted."""
    gone = set(known) - set(present)
    return sorted(each for each in gone if known[each].compliance != Compliance.NOT_APPLICABLE)
