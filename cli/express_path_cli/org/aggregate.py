"""The rule's results in an aggregator, with what their annotations say.

An aggregator contains COMPLIANT and NON_COMPLIANT results, and no others
(https://docs.aws.amazon.com/config/latest/APIReference/API_GetAggregateComplianceDetailsByConfigRule.html).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from express_path.adapters.aws import Aws, pages
from express_path.adapters.roll_out import Place
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.annotations import read_annotation
from express_path.domain.verdict.parameters import RULE_NAME
from express_path.errors import RecordError
from express_path_cli.findings.row import Row

_PAGE = 100
"""The most results on a page (botocore model: config GetAggregateComplianceDetailsByConfigRule)."""


@dataclass(frozen=True, slots=True)
class PlaceResults:
    """The results of one account and Region, and when AWS Config recorded the newest of them; None without any."""

    rows: Sequence[Row] = ()
    newest: datetime | None = None


def read_places(aws: Aws, aggregator: str) -> list[Place]:
    """Read where an aggregator has the rule, whether or not with results. Raise ApiError."""
    rows = pages(
        aws.config,
        "config",
        "describe_aggregate_compliance_by_config_rules",
        "AggregateComplianceByConfigRules",
        ConfigurationAggregatorName=aggregator,
        Filters={"ConfigRuleName": RULE_NAME},
    )
    return sorted(
        Place(str(row["AccountId"]), str(row["AwsRegion"])) for row in rows if row["ConfigRuleName"] == RULE_NAME
    )


def read_results(aws: Aws, aggregator: str, place: Place) -> PlaceResults:
    """Read the results of one account and Region. Raise ApiError, and RecordError for a result that is not ours."""
    results = pages(
        aws.config,
        "config",
        "get_aggregate_compliance_details_by_config_rule",
        "AggregateEvaluationResults",
        ConfigurationAggregatorName=aggregator,
        ConfigRuleName=RULE_NAME,
        AccountId=place.account_id,
        AwsRegion=place.region,
        PaginationConfig={"PageSize": _PAGE},
    )
    newest = max((result["ResultRecordedTime"] for result in results), default=None)
    return PlaceResults([_row(place, result) for result in results], newest)


def _row(place: Place, result: Mapping[str, object]) -> Row:
    qualifier = result["EvaluationResultIdentifier"]["EvaluationResultQualifier"]  # type: ignore[index]
    subnet_id, text = str(qualifier["ResourceId"]), str(result.get("Annotation") or "")
    annotation = read_annotation(text)
    if annotation is None:
        raise RecordError(subnet_id, "Annotation", text, "an annotation of this rule, which begins with a reason")
    return Row(
        account_id=place.account_id,
        region=place.region,
        vpc_id="",
        subnet_id=subnet_id,
        availability_zone_id="",
        route_table_id=annotation.route_table_id,
        compliance=Compliance(str(result["ComplianceType"])),
        reason=annotation.reason,
        annotation=text,
        path=annotation.path,
    )
