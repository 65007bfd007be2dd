"""Read findings as Security Hub returns them. A missing or invalid field raises RecordError, which names it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from express_path.adapters.fields import identifier, nested, optional_identifier, rows
from express_path.domain.findings.enrichment import NativeFinding
from express_path.domain.findings.imports import OwnFinding
from express_path.errors import RecordError

_ACTIVE = "ACTIVE"


def native_finding(found: Mapping[str, Any]) -> NativeFinding:
    """Read a finding that Security Hub created of AWS Config's result."""
    finding_id = identifier(found, "Id", "finding")
    fields = nested(found, "UserDefinedFields", finding_id)
    return NativeFinding(
        id=finding_id,
        product_arn=identifier(found, "ProductArn", finding_id),
        subnet_id=subnet_of(found),
        status=optional_identifier(nested(found, "Compliance", finding_id), "Status", finding_id),
        workflow=optional_identifier(nested(found, "Workflow", finding_id), "Status", finding_id) or "NEW",
        is_active=optional_identifier(found, "RecordState", finding_id) == _ACTIVE,
        note_author=optional_identifier(nested(found, "Note", finding_id), "UpdatedBy", finding_id),
        fields={str(key): str(value) for key, value in fields.items()},
    )


def own_finding(found: Mapping[str, Any]) -> OwnFinding:
    """Read a finding that we imported before."""
    finding_id = identifier(found, "Id", "finding")
    is_active = optional_identifier(found, "RecordState", finding_id) == _ACTIVE
    return OwnFinding(subnet_of(found), _time(found, "UpdatedAt", finding_id), is_active, found)


def subnet_of(found: Mapping[str, Any]) -> str:
    """Return the ID of the subnet that a finding is about, from the ARN of its one resource."""
    finding_id = identifier(found, "Id", "finding")
    arns = [identifier(resource, "Id", finding_id) for resource in rows(found, "Resources", finding_id)]
    if len(arns) != 1 or ":subnet/" not in arns[0]:
        raise RecordError(finding_id, "Resources", arns, "one subnet with its ARN")
    return arns[0].rpartition("/")[2]


def _time(found: Mapping[str, Any], field: str, finding_id: str) -> datetime:
    text = identifier(found, field, finding_id)
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise RecordError(finding_id, field, text, "a time such as 2026-01-31T12:00:00.000Z") from error
