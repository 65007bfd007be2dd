"""Our own findings in Security Hub: which of them to create, to update, or to close."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from express_path.domain.findings.asff import asff_finding
from express_path.domain.findings.observations import Observation
from express_path.domain.findings.texts import PASSES

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


@dataclass(frozen=True, slots=True)
class OwnFinding:
    """A finding that we imported before. content is the finding as Security Hub returns it."""

    subnet_id: str
    updated_at: datetime
    is_active: bool
    content: Mapping[str, Any]


def finding_to_import(existing: OwnFinding | None, seen: Observation, rule_name: str) -> dict[str, Any] | None:
    """Return the finding to import after an observation; None if there is nothing to change.

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


def _made(seen: Observation, rule_name: str) -> dict[str, Any]:
    if seen.verdict is None:
        return {}
    made = asff_finding(seen.verdict, seen.remedy, rule_name, seen.at.isoformat(timespec="milliseconds"))
    return {**made, "FindingProviderFields": {"Severity": made["Severity"], "Types": made["Types"]}}


def _is_current(existing: OwnFinding, made: Mapping[str, Any], seen: Observation) -> bool:
    """Return whether an active finding says the same or more, and is not so old that it must be imported again."""
    if not existing.is_active or seen.at - existing.updated_at >= MAX_AGE:
        return False
    content = existing.content
    names = ("Description", "Compliance", "Remediation") if seen.is_complete else ("Description", "Compliance")
    fields = made["ProductFields"] if seen.is_complete else {}
    has_fields = fields.items() <= content.get("ProductFields", {}).items()
    return has_fields and all(content.get(name) == made.get(name) for name in names)


def _closed(existing: OwnFinding, seen: Observation, rule_name: str) -> dict[str, Any]:
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
