"""The findings that we import into Security Hub: found, read, made, and imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling, pages
from express_path.domain.findings.texts import PASSES, finding_id
from express_path.errors import RecordError
from express_path.fields import identifier, optional_identifier, rows, time
from express_path_integrations.adapters.asff import asff_finding, product_arn
from express_path_integrations.findings import Rejected, RuleScope, StoredVerdict, Written, chunks

if TYPE_CHECKING:
    from mypy_boto3_securityhub import SecurityHubClient

BATCH = 100
"""The most findings of one call (botocore model: securityhub BatchImportFindings)."""
FILTER_VALUES = 20
"""The most values of one filter (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindings.html)."""
MAX_AGE = timedelta(days=30)
"""When an unchanged finding is imported again, because Security Hub deletes findings that were not updated for 90 days
(https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings.html)."""
_OF_PROVIDERS = (
    "SchemaVersion",
    "Id",
    "ProductArn",
    "ProductName",
    "GeneratorId",
    "AwsAccountId",
    "Region",
    "Types",
    "CreatedAt",
    "Title",
    "Description",
    "Resources",
)
"""What a finding keeps when it is closed without a verdict."""
_RESERVED = "aws/"
"""How the fields that Security Hub adds begin."""


_ACTIVE = "ACTIVE"


@dataclass(frozen=True, slots=True)
class OwnFinding:
    """A finding that we imported before. content is the finding as Security Hub returns it."""

    subnet_id: str
    updated_at: datetime
    is_active: bool
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OwnFindings:
    """The findings of one rule, at most one for each subnet."""

    client: "SecurityHubClient"
    scope: RuleScope

    def of_subnets(self, subnet_ids: Sequence[str]) -> dict[str, OwnFinding]:
        """Return the findings of these subnets, by subnet, archived ones included."""
        scope = self.scope
        ids = [finding_id(scope.rule_name, scope.account_id, scope.region, subnet_id) for subnet_id in subnet_ids]
        parts = (self._rows(Id=_equal(chunk)) for chunk in chunks(ids, FILTER_VALUES))
        return {finding.subnet_id: finding for part in parts for finding in part}

    def active(self) -> dict[str, OwnFinding]:
        """Return all findings that are not archived, by subnet."""
        return {finding.subnet_id: finding for finding in self._rows(RecordState=_equal([_ACTIVE]))}

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
        """Return findings of the rule in the account and Region. Raise ApiError or RecordError."""
        scope = self.scope
        fixed = {
            "ProductArn": _equal([product_arn(scope.account_id, scope.region)]),
            "AwsAccountId": _equal([scope.account_id]),
            "Region": _equal([scope.region]),
            "GeneratorId": _equal([scope.rule_name]),
        }
        parameters = {"Filters": {**fixed, **filters}, "PaginationConfig": {"PageSize": BATCH}}
        found = pages(self.client, "securityhub", "get_findings", "Findings", **parameters)
        return [own_finding(row) for row in found]


def finding_to_import(existing: OwnFinding | None, seen: StoredVerdict, rule_name: str) -> dict[str, Any] | None:
    """Return the finding to import for a stored verdict; None if there is nothing to change.

    A subnet that does not fail gets no finding. If it has one, that finding becomes PASSED and ARCHIVED: with
    NOT_AVAILABLE, Security Hub would open it again
    (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Workflow.html). Security Hub ignores a finding whose
    UpdatedAt is not newer, so such a one is not imported.
    """
    if existing and seen.at <= existing.updated_at:
        return None
    if not seen.fails:
        return _closed(existing, seen, rule_name) if existing and existing.is_active else None
    made = _made(seen, rule_name)
    if existing is None:
        return made
    if _is_current(existing, made, seen):
        return None
    return {**made, "CreatedAt": existing.content["CreatedAt"]}


def _made(seen: StoredVerdict, rule_name: str) -> dict[str, Any]:
    if seen.verdict is None:
        return {}
    stamp = seen.at.isoformat(timespec="milliseconds")
    made = asff_finding(seen.verdict, seen.remedy, seen.tags, rule_name, stamp)
    return {**made, "FindingProviderFields": {"Severity": made["Severity"], "Types": made["Types"]}}


def _is_current(existing: OwnFinding, made: Mapping[str, Any], seen: StoredVerdict) -> bool:
    """Return whether an active finding says the same, and is not so old that it must be imported again."""
    if not existing.is_active or seen.at - existing.updated_at >= MAX_AGE:
        return False
    content = existing.content
    if any(content.get(name) != made.get(name) for name in ("Description", "Compliance", "Remediation")):
        return False
    # Security Hub may add fields and tags of its own.
    pairs = [(made["ProductFields"], content.get("ProductFields")), (_tags(made), _tags(content))]
    return all(wanted.items() <= (found or {}).items() for wanted, found in pairs)


def _tags(finding: Mapping[str, Any]) -> Mapping[str, str]:
    [resource] = finding["Resources"]
    return resource.get("Tags") or {}


def _closed(existing: OwnFinding, seen: StoredVerdict, rule_name: str) -> dict[str, Any]:
    """Return a finding as PASSED and ARCHIVED, with the verdict that closes it if that is known."""
    content, label = existing.content, {"Label": PASSES}
    base = _made(seen, rule_name) or {name: content[name] for name in _OF_PROVIDERS if name in content}
    fields = base.get("ProductFields") or {
        key: value for key, value in content.get("ProductFields", {}).items() if not key.startswith(_RESERVED)
    }
    return {
        **base,
        "CreatedAt": content["CreatedAt"],
        "UpdatedAt": seen.at.isoformat(timespec="milliseconds"),
        "ProductFields": fields,
        "Severity": label,
        "FindingProviderFields": {"Severity": label, "Types": base["Types"]},
        "Compliance": {"Status": "PASSED"},
        "RecordState": "ARCHIVED",
    }


def own_finding(found: Mapping[str, Any]) -> OwnFinding:
    """Read a finding that we imported before."""
    finding_id = identifier(found, "Id", "finding")
    is_active = optional_identifier(found, "RecordState", finding_id) == _ACTIVE
    return OwnFinding(subnet_of(found), time(found, "UpdatedAt", finding_id), is_active, found)


def subnet_of(found: Mapping[str, Any]) -> str:
    """Return the ID of the subnet that a finding is about, from the ARN of its one resource."""
    finding_id = identifier(found, "Id", "finding")
    arns = [identifier(resource, "Id", finding_id) for resource in rows(found, "Resources", finding_id)]
    if len(arns) != 1 or ":subnet/" not in arns[0]:
        raise RecordError(finding_id, "Resources", arns, "one subnet with its ARN")
    return arns[0].rpartition("/")[2]


def _equal(values: Sequence[str]) -> list[dict[str, str]]:
    """Return a filter for any of these values."""
    return [{"Value": value, "Comparison": "EQUALS"} for value in values]
