"""Approval of a heal: whether to ask for it, and how long a request and an approval count."""

from enum import StrEnum

from express_path.domain.heal.ledger import Approval, ApprovalState, StartedBy, TableRecord
from express_path.domain.heal.records import Action, Blocker, Finding, Plan

ANSWER_SECONDS = 86_400
"""How long the approvers have to answer; the timeout of the runbook's step that asks them."""
REQUEST_SECONDS = ANSWER_SECONDS + 3_600
"""How long a request counts: longer than the approvers have to answer and all steps until their answer is recorded."""
APPROVED_SECONDS = 3_600
"""How long an approval counts, for one heal."""

_OPEN = frozenset({ApprovalState.REQUESTED, ApprovalState.APPROVED})


class Ask(StrEnum):
    """What a run that may ask for approval does next."""

    ASK = "ASK"
    PENDING = "PENDING"
    """Nothing: another run has asked about this route table and goes on."""
    DONE = "DONE"
    """Nothing: the subnet needs no heal, or this is a dry run."""


def open_request(approval: Approval | None, run_id: str, now: int) -> str:
    """The other run whose request or approval counts at a time, in seconds since 1970; empty if there is none.

    It is void once that run has ended, which Systems Manager knows.
    """
    if approval is None or approval.state not in _OPEN or approval.run_id == run_id or not approval.is_current(now):
        return ""
    return approval.run_id


def denial(record: TableRecord, started_by: StartedBy) -> Finding | None:
    """Why AWS Config may not ask about a route table again: the approvers said no, or nothing, the last time."""
    approval = record.approval
    if started_by is not StartedBy.CONFIG or approval is None or approval.state is not ApprovalState.DENIED:
        return None
    return Finding(
        Blocker.APPROVAL_DENIED,
        f"nobody approved the heal of {record.route_table_id} that run {approval.run_id} asked for",
        "start the runbook that asks the approvers by hand (StartedBy=PERSON)",
    )


def next_step(plan: Plan, *, dry_run: bool, is_pending: bool) -> Ask:
    """What a run does after its plan, which is not blocked unless this is a dry run."""
    if dry_run or plan.action is Action.NOTHING_TO_DO:
        return Ask.DONE
    return Ask.PENDING if is_pending else Ask.ASK
