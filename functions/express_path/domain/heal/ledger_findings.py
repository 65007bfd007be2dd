"""What the ledger blocks: heals after an undo, after others removed the association, or without an approval."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from express_path.domain.heal.approvals import is_approved
from express_path.domain.heal.ledger import ApprovalState, StartedBy, TableRecord, TableState
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.resources import RouteTable

LOOP_BREAKER = timedelta(hours=24)
"""For this long after a heal, an association that somebody removed is not made again."""


def ledger_findings(
    table: RouteTable, record: TableRecord, now: datetime, started_by: StartedBy, approval_of: str = ""
) -> Iterator[Finding]:
    """Yield what the record of a route table blocks now.

    approval_of is the fingerprint of the plan if the heal needs an approval.
    """
    yield from _reverted(table, record, now)
    if started_by is StartedBy.CONFIG and record.is_undone:
        yield Finding(
            Blocker.UNDONE,
            f"the last heal of {table.id} was undone",
            "start the heal yourself (StartedBy=PERSON); after that, AWS Config heals the table again",
        )
    if approval_of and not is_approved(record, approval_of, now):
        yield Finding(
            Blocker.APPROVAL_REQUIRED,
            f"the stack's RemediationMode is APPROVAL, and {_why_not_approved(record, now)}",
            "start the approval runbook instead (stack output ApprovalDocumentName)",
        )


def _why_not_approved(record: TableRecord, now: datetime) -> str:
    """Return why the last request to approve a heal does not approve this one, in words."""
    approval = record.approval
    if approval is None:
        return f"no heal of {record.route_table_id} has been approved"
    if approval.state is not ApprovalState.APPROVED:
        return f"the last request, run {approval.run_id}, is {approval.state}"
    if not approval.is_current(round(now.timestamp())):
        return f"the approval of run {approval.run_id} has expired"
    return (
        f"the plan has changed since the approval of run {approval.run_id}: another endpoint, another policy, or other "
        f"subnets in {record.route_table_id}"
    )


def _reverted(table: RouteTable, record: TableRecord, now: datetime) -> Iterator[Finding]:
    """Yield a finding if somebody removed the association after a heal, so that two tools do not fight over it."""
    healed = changed_at(record)
    if (
        record.state is TableState.HEALED
        and healed
        and now - healed < LOOP_BREAKER
        and all(route.target_id != record.endpoint_id for route in table.routes)
    ):
        yield Finding(
            Blocker.REVERTED_BY_OTHERS,
            f"run {record.heal_run_id} healed {table.id} at {record.changed_at}, and somebody removed its association "
            f"with {record.endpoint_id}",
            f"find out who removed it; to heal again within 24 hours, undo that run (express-path undo "
            f"{record.heal_run_id}) and start the heal yourself",
        )


def changed_at(record: TableRecord) -> datetime | None:
    """Return when a heal or an undo last wrote the record; None if it has no time with a time zone."""
    try:
        changed = datetime.fromisoformat(record.changed_at)
        return changed.astimezone(UTC) if changed.tzinfo else None
    except (ValueError, OverflowError):
        return None
