"""What the two kinds of findings in Security Hub have in common: the rule's scope, searches, and answers.

The two kinds are the native findings, which Security Hub creates of AWS Config's results, and our own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from express_path.adapters.aws import pages
from express_path.domain.findings.observations import Observation

if TYPE_CHECKING:
    from mypy_boto3_securityhub import SecurityHubClient

BATCH = 100
"""The most findings of one call (botocore model: securityhub BatchImportFindings, BatchUpdateFindings)."""
FILTER_VALUES = 20
"""The most values of one filter (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindings.html)."""


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The rule whose findings the function manages."""

    account_id: str
    region: str
    rule_name: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A finding that Security Hub did not accept, with its error code and message."""

    subnet_id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Written:
    """The findings that were written, and those that were rejected."""

    count: int = 0
    rejected: tuple[Rejected, ...] = ()


class RuleFindings(Protocol):
    """The findings of one rule. A change is what `write` takes; its form is up to each kind."""

    def of_subnets(self, subnet_ids: Sequence[str]) -> dict[str, list[Any]]:
        """Return the findings of these subnets, by subnet."""

    def active(self) -> dict[str, list[Any]]:
        """Return all findings that are not archived, by subnet."""

    def changes(self, findings: Sequence[Any], seen: Observation) -> list[Any]:
        """Return how to change the findings of a subnet after an observation."""

    def write(self, changes: Sequence[Any]) -> Written:
        """Make the changes."""


def search(
    client: "SecurityHubClient", scope: RuleScope, product_arn: str, filters: Mapping[str, object]
) -> list[Mapping[str, Any]]:
    """Return the findings of one product in the account and Region. Raise ApiError."""
    place = {
        "ProductArn": equal([product_arn]),
        "AwsAccountId": equal([scope.account_id]),
        "Region": equal([scope.region]),
    }
    parameters = {"Filters": {**place, **filters}, "PaginationConfig": {"PageSize": BATCH}}
    return pages(client, "securityhub", "get_findings", "Findings", **parameters)


def equal(values: Iterable[str]) -> list[dict[str, str]]:
    """Return a filter for any of these values."""
    return [{"Value": value, "Comparison": "EQUALS"} for value in values]


def by_subnet(findings: Iterable[Any]) -> dict[str, list[Any]]:
    """Return findings by the ID of their subnet."""
    found: dict[str, list[Any]] = {}
    for finding in findings:
        found.setdefault(finding.subnet_id, []).append(finding)
    return found


def chunks(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the rows in parts of at most this size."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
