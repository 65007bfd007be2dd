"""The findings that Security Hub creates of AWS Config's results: found, and enriched (mode ENRICH)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.adapters.security_hub.records import native_finding
from express_path.adapters.security_hub.rule_findings import (
    BATCH,
    FILTER_VALUES,
    Rejected,
    RuleScope,
    Written,
    by_subnet,
    chunks,
    equal,
    search,
)
from express_path.domain.findings.enrichment import AUTHOR, NativeFinding, Update, enrichment
from express_path.domain.findings.observations import Observation
from express_path.domain.network.arns import partition, subnet_arn

if TYPE_CHECKING:
    from mypy_boto3_securityhub import SecurityHubClient
    from mypy_boto3_securityhub.type_defs import BatchUpdateFindingsRequestTypeDef

_GONE = "FindingNotFound"
_AGAIN = ("ConcurrentUpdateError", "InternalFailure")
"""Failures that one more attempt may fix
(https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchUpdateFindingsUnprocessedFinding.html)."""


@dataclass(frozen=True, slots=True)
class NativeFindings:
    """The findings that Security Hub creates of AWS Config's results (mode ENRICH)."""

    client: "SecurityHubClient"
    scope: RuleScope

    def of_subnets(self, subnet_ids: Sequence[str]) -> dict[str, list[NativeFinding]]:
        """Return the findings of these subnets, by subnet."""
        arns = [subnet_arn(self.scope.account_id, self.scope.region, subnet_id) for subnet_id in subnet_ids]
        return by_subnet(row for chunk in chunks(arns, FILTER_VALUES) for row in self._rows(ResourceId=equal(chunk)))

    def active(self) -> dict[str, list[NativeFinding]]:
        """Return all findings that are not archived, by subnet."""
        return by_subnet(self._rows())

    def changes(self, findings: Sequence[NativeFinding], seen: Observation) -> list[Update]:
        """Return how to change the findings of a subnet after an observation. Only Security Hub creates findings."""
        updates = (enrichment(finding, seen) for finding in findings)
        return [update for update in updates if update is not None]

    def write(self, changes: Sequence[Update]) -> Written:
        """Update findings, with one call for up to 100 findings that get the same values."""
        rejected: list[Rejected] = []
        for update, findings in _with_the_same_values(changes):
            for chunk in chunks(findings, BATCH):
                failed = self._update(update, chunk)
                again = [finding for finding, code, _ in failed if code in _AGAIN]
                failed = [row for row in failed if row[1] not in (*_AGAIN, _GONE)]
                failed += [row for row in (self._update(update, again) if again else []) if row[1] != _GONE]
                rejected += [Rejected(finding.subnet_id, code, message) for finding, code, message in failed]
        return Written(len(changes) - len(rejected), tuple(rejected))

    def _rows(self, **filters: object) -> list[NativeFinding]:
        arn = f"arn:{partition(self.scope.region)}:securityhub:{self.scope.region}::product/aws/config"
        active = {"RecordState": equal(["ACTIVE"]), "Title": equal([self.scope.rule_name])}
        return [native_finding(row) for row in search(self.client, self.scope, arn, {**active, **filters})]

    def _update(self, update: Update, findings: Sequence[NativeFinding]) -> list[tuple[NativeFinding, str, str]]:
        """Set the same values in up to 100 findings, and return those that failed with their codes and messages."""
        by_id = {finding.id: finding for finding in findings}
        request: BatchUpdateFindingsRequestTypeDef = {
            "FindingIdentifiers": [{"Id": finding.id, "ProductArn": finding.product_arn} for finding in findings],
            "UserDefinedFields": update.fields,
        }
        if update.note is not None:
            request["Note"] = {"Text": update.note, "UpdatedBy": AUTHOR}
        if update.severity is not None:
            request["Severity"] = {"Label": update.severity}  # type: ignore[typeddict-item]  # one of its labels
        if update.workflow is not None:
            request["Workflow"] = {"Status": update.workflow}  # type: ignore[typeddict-item]  # one of its statuses
        with calling("securityhub:BatchUpdateFindings"):
            unprocessed = self.client.batch_update_findings(**request)["UnprocessedFindings"]
        return [(by_id[row["FindingIdentifier"]["Id"]], row["ErrorCode"], row["ErrorMessage"]) for row in unprocessed]


def _with_the_same_values(updates: Iterable[Update]) -> Iterator[tuple[Update, list[NativeFinding]]]:
    """Yield one of the updates that set the same values, with the findings of all of them."""
    groups: dict[object, list[Update]] = {}
    for update in updates:
        key = (update.note, update.severity, update.workflow, tuple(sorted(update.fields.items())))
        groups.setdefault(key, []).append(update)
    for group in groups.values():
        yield group[0], [update.finding for update in group]
