"""The findings that we import into Security Hub ourselves (mode RICH)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling
from express_path.adapters.security_hub.records import own_finding
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
from express_path.domain.findings.asff import product_arn
from express_path.domain.findings.imports import OwnFinding, finding_to_import
from express_path.domain.findings.observations import Observation
from express_path.domain.findings.texts import finding_id

if TYPE_CHECKING:
    from mypy_boto3_securityhub import SecurityHubClient


@dataclass(frozen=True, slots=True)
class OwnFindings:
    """The findings that we import ourselves, at most one for each subnet (mode RICH)."""

    client: "SecurityHubClient"
    scope: RuleScope

    def of_subnets(self, subnet_ids: Sequence[str]) -> dict[str, list[OwnFinding]]:
        """Return the findings of these subnets, by subnet, archived ones included."""
        scope = self.scope
        ids = [finding_id(scope.rule_name, scope.account_id, scope.region, subnet_id) for subnet_id in subnet_ids]
        parts = (self._rows(Id=equal(chunk)) for chunk in chunks(ids, FILTER_VALUES))
        return by_subnet(finding for part in parts for finding in part)

    def active(self) -> dict[str, list[OwnFinding]]:
        """Return all findings that are not archived, by subnet."""
        return by_subnet(self._rows(RecordState=equal(["ACTIVE"])))

    def changes(self, findings: Sequence[OwnFinding], seen: Observation) -> list[dict[str, Any]]:
        """Return the finding to import after an observation, if any."""
        made = finding_to_import(findings[0] if findings else None, seen, self.scope.rule_name)
        return [made] if made else []

    def write(self, changes: Sequence[dict[str, Any]]) -> Written:
        """Import findings, up to 100 with each call."""
        rejected: list[Rejected] = []
        for chunk in chunks(changes, BATCH):
            with calling("securityhub:BatchImportFindings"):
                failed = self.client.batch_import_findings(Findings=chunk).get("FailedFindings", [])
            rejected += [
                Rejected(row["Id"].rpartition("/")[2], row["ErrorCode"], row["ErrorMessage"]) for row in failed
            ]
        return Written(len(changes) - len(rejected), tuple(rejected))

    def _rows(self, **filters: object) -> list[OwnFinding]:
        generated = {"GeneratorId": equal([self.scope.rule_name]), **filters}
        arn = product_arn(self.scope.account_id, self.scope.region)
        return [own_finding(row) for row in search(self.client, self.scope, arn, generated)]
