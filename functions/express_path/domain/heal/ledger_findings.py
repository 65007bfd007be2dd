"""What the ledger has against a heal: an undo, an association that others took away, an approval that is missing."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from express_path.domain.heal.ledger import ApprovalState, StartedBy, TableRecord, TableState
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.resources import RouteTable

LOOP_BREAKER = timedelta(hours=24)
"""Within this time after a heal, an association that someone took away is not made again."""


def ledger_findings(
    table: RouteTable, record: TableRecord, now: datetime, started_by: StartedBy, *, needs_approval: bool
) -> Iterator[Finding]:
    """What the record of a route table has against healing it now."""
    yield from _reverted(table, record, now)
    if started_by is StartedBy.CONFIG and record.is_undone:
        yield Finding(
            Blocker.UNDONE,
            f"the last heal of {table.id} was undone",
            "start the heal by hand (StartedBy=PERSON); after that, AWS Config heals the table again",
        )
    if needs_approval and not is_approved(record, now):
        yield Finding(
            Blocker.APPROVAL_REQUIRED,
            f"the stack's RemediationMode is APPROVAL, and {_approval(record, now)}",
            "start the runbook that asks the approvers first (stack output ApprovalDocumentName)",
        )


def is_approved(record: TableRecord, now: datetime) -> bool:
    """Whether one heal of a route table is approved and not made yet."""
    approval = record.approval
    return (
        approval is not None
        and approval.state is ApprovalState.APPROVED
        and approval.is_current(round(now.timestamp()))
    )


def _approval(record: TableRecord, now: datetime) -> str:
    """What became of the last request to approve a heal."""
    if record.approval is None:
        return f"no heal of {record.route_table_id} was ever approved"
    if record.approval.state is ApprovalState.APPROVED and not is_approved(record, now):
        return f"the approval of run {record.approval.run_id} has expired"
    return f"the last request, run {record.approval.run_id}, is {record.approval.state}"


def _reverted(table: RouteTable, record: TableRecord, now: datetime) -> Iterator[Finding]:
    """Someone took the association away after a heal: two writers must not fight over one route table."""
    healed = changed_at(record)
    if (
        record.state is TableState.HEALED
        and healed
        and now - healed < LOOP_BREAKER
        and all(route.target_id != record.endpoint_id for route in table.routes)
    ):
        yield Finding(
            Blocker.REVERTED_BY_OTHERS,
            f"run {record.heal_run_id} healed {table.id} at {record.changed_at}, and its association with "
            f"{record.endpoint_id} is gone",
            f"find out who removed it; to heal before 24 hours are over, undo that run (express-path undo "
            f"{record.heal_run_id}) and start the heal by hand",
        )


def changed_at(record: TableRecord) -> datetime | None:
    """When a heal or an undo last wrote the record; None where it holds no time with a time zone."""
    try:
        changed = datetime.fromisoformat(record.changed_at)
    except ValueError:
        return None
    return changed.astimezone(UTC) if changed.tzinfo else None
