"""The rule's results in an aggregator, with what their annotations say.

An aggregator contains COMPLIANT and NON_COMPLIANT results, and no others
(https://docs.aws.amazon.com/config/latest/APIReference/API_GetAggregateComplianceDetailsByConfigRule.html).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from express_path.adapters.aws import Aws, pages
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.annotations import read_annotation
from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import RecordError
from express_path_cli.sources.aggregator import Aggregator

_PAGE = 100
"""The most results on a page (botocore model: config GetAggregateComplianceDetailsByConfigRule)."""


class PlaceKey(NamedTuple):
    """An account (12 digits) in one Region."""

    account_id: str
    region: str

    def __str__(self) -> str:
        return f"account {self.account_id} {self.region}"


@dataclass(frozen=True, slots=True)
class PlaceResults:
    """The results of one account and Region, and when AWS Config recorded the newest of them; None without any."""

    verdicts: Sequence[Verdict] = ()
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class AggregateResults:
    """The results of one rule in an aggregator of the caller's account and Region."""

    aws: Aws
    aggregator: str
    rule: str

    def places(self) -> list[PlaceKey]:
        """Read where the aggregator has the rule, whether or not with results. Raise ApiError."""
        rows = pages(
            self.aws.config,
            "config",
            "describe_aggregate_compliance_by_config_rules",
            "AggregateComplianceByConfigRules",
            ConfigurationAggregatorName=self.aggregator,
            Filters={"ConfigRuleName": self.rule},
        )
        return sorted(
            PlaceKey(str(row["AccountId"]), str(row["AwsRegion"])) for row in rows if row["ConfigRuleName"] == self.rule
        )

    def of(self, place: PlaceKey) -> PlaceResults:
        """Read the results of one account and Region. Raise ApiError, and RecordError for a result that is not ours."""
        rows = pages(
            self.aws.config,
            "config",
            "get_aggregate_compliance_details_by_config_rule",
            "AggregateEvaluationResults",
            ConfigurationAggregatorName=self.aggregator,
            ConfigRuleName=self.rule,
            AccountId=place.account_id,
            AwsRegion=place.region,
            PaginationConfig={"PageSize": _PAGE},
        )
        newest = max((row["ResultRecordedTime"] for row in rows), default=None)
        return PlaceResults([_verdict(place, row) for row in rows], newest)

    def with_vpcs(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """Read the VPCs of these verdicts' subnets, and return the verdicts with them. Raise ApiError, RecordError.

        A result does not contain the VPC. The VPC of a subnet never changes, so it does not matter that items are late;
        it is empty if the aggregator has no item of the subnet.
        """
        given = list(verdicts)
        vpc_ids = Aggregator(self.aws, self.aggregator).vpc_ids([verdict.subnet_id for verdict in given])
        return [verdict._replace(vpc_id=vpc_ids.get(verdict.subnet_id, "")) for verdict in given]


def _verdict(place: PlaceKey, row: Mapping[str, object]) -> Verdict:
    qualifier = row["EvaluationResultIdentifier"]["EvaluationResultQualifier"]  # type: ignore[index]
    subnet_id, text = str(qualifier["ResourceId"]), str(row.get("Annotation") or "")
    annotation = read_annotation(text)
    if annotation is None:
        raise RecordError(subnet_id, "Annotation", text, "an annotation of this rule, which begins with a reason")
    return Verdict(
        account_id=place.account_id,
        region=place.region,
        vpc_id="",
        subnet_id=subnet_id,
        availability_zone_id="",
        route_table_id=annotation.route_table_id,
        compliance=Compliance(str(row["ComplianceType"])),
        reason=annotation.reason,
        annotation=text,
        path=annotation.path,
    )
