"""Approval of a heal: whether to ask for it, what it approves, and how long a request and an approval are valid."""

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from express_path.domain.heal.ledger import Approval, ApprovalState, StartedBy, TableRecord, policy_hash
from express_path.domain.heal.records import Action, Blocker, Finding, Plan

ANSWER_SECONDS = 86_400
"""How long the approvers have to answer, in seconds: the timeout of the runbook's approval step."""
REQUEST_SECONDS = ANSWER_SECONDS + 3_600
"""How long a request is valid, in seconds: until the approvers' answer is recorded."""
APPROVED_SECONDS = 3_600
"""How long an approval is valid, in seconds. It is valid for one heal."""

_OPEN = frozenset({ApprovalState.REQUESTED, ApprovalState.APPROVED})


def plan_fingerprint(table_id: str, subnet_ids: Iterable[str], endpoint_id: str, policy: str) -> str:
    """Return a hash of what approvers approve: a route table, its subnets, the endpoint, and the endpoint's policy.

    endpoint_id is empty if a heal creates the endpoint, or has created it: these are not told apart, because approved
    heals of several route tables share the endpoint that the first one creates.
    """
    approved = [table_id, sorted(subnet_ids), endpoint_id, policy_hash(policy)]
    return hashlib.sha256(json.dumps(approved).encode()).hexdigest()


def is_approved(record: TableRecord, fingerprint: str, now: datetime) -> bool:
    """Return whether this plan for a route table is approved, and the approval is not used yet."""
    approval = record.approval
    return (
        approval is not None
        and approval.state is ApprovalState.APPROVED
        and approval.fingerprint == fingerprint
        and approval.is_current(round(now.timestamp()))
    )


class ApprovalStep(StrEnum):
    """What a run that may ask for approval does next."""

    ASK = "ASK"
    ASK_AGAIN = "ASK_AGAIN"
    """Plan again: another run recorded a request first."""
    PENDING = "PENDING"
    """Nothing: another run has asked about this route table and is still running."""
    DONE = "DONE"
    """Nothing: the subnet needs no heal, or this is a dry run."""


def open_request(approval: Approval | None, run_id: str, now: int) -> str:
    """Return the other run whose request or approval is valid; empty if there is none.

    now is in seconds since 1970. A request also ends with its run; Systems Manager shows whether that has ended.
    """
    if approval is None or approval.state not in _OPEN or approval.run_id == run_id or not approval.is_current(now):
        return ""
    return approval.run_id


def denial(record: TableRecord, started_by: StartedBy) -> Finding | None:
    """Return why AWS Config must not ask about a route table again: an approver rejected the last request."""
    approval = record.approval
    if started_by is not StartedBy.CONFIG or approval is None or approval.state is not ApprovalState.DENIED:
        return None
    return Finding(
        Blocker.APPROVAL_DENIED,
        f"the heal of {record.route_table_id} that run {approval.run_id} requested was rejected",
        "to ask again, start the approval runbook yourself (StartedBy=PERSON)",
    )


def next_step(plan: Plan, *, dry_run: bool, is_pending: bool) -> ApprovalStep:
    """Return what a run does after its plan, which is not blocked unless this is a dry run."""
    if dry_run or plan.action is Action.NOTHING_TO_DO:
        return ApprovalStep.DONE
    return ApprovalStep.PENDING if is_pending else ApprovalStep.ASK
