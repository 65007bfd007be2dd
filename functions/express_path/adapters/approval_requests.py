"""The approval runbook's requests to the plan function, and the answers: plain JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from express_path.adapters.heal_answers import summary, timestamp
from express_path.adapters.heal_requests import HealAction, parse_heal_request
from express_path.domain.heal.approval_message import approval_message
from express_path.domain.heal.approvals import APPROVED_SECONDS, REQUEST_SECONDS, ApprovalStep
from express_path.domain.heal.ledger import StartedBy
from express_path.domain.heal.records import NONE, HealSettings, Plan

PLAN_APPROVAL = "planApproval"
"""The action of the approval runbook's request; its other fields are those of the heal's first request."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """The request whether to ask for approval of the heal of a subnet; run_id is the run that would ask."""

    subnet_id: str
    dry_run: bool
    run_id: str
    started_by: StartedBy
    action: str = PLAN_APPROVAL


def is_approval(event: object) -> bool:
    """Return whether an event is a request of the approval runbook."""
    return isinstance(event, Mapping) and event.get("action") == PLAN_APPROVAL


def parse_approval_request(event: Mapping[str, Any]) -> ApprovalRequest:
    """Read a request. Raise EventError that names the invalid field."""
    found = parse_heal_request({**event, "action": HealAction.PLAN.value})
    return ApprovalRequest(found.subnet_id, found.dry_run, found.run_id, found.started_by)


def approval_answer(
    plan: Plan, step: ApprovalStep, settings: HealSettings, moved: Sequence[str], now: datetime, void_run: str
) -> dict[str, Any]:
    """Return what to ask, whom, and how long the request and an approval are valid; what does not apply is NONE."""
    asks = step is ApprovalStep.ASK
    seconds = int(now.timestamp())
    return {
        "next": step.value,
        "summary": summary(plan),
        "routeTableId": plan.verdict.route_table_id or NONE,
        "message": approval_message(plan, moved) if asks else NONE,
        "approvers": list(settings.approvers) or [NONE],
        "topicArn": settings.approval_topic_arn or NONE,
        "healDocument": settings.heal_document or NONE,
        "ledgerTable": settings.ledger_table,
        "now": timestamp(now),
        "nowSeconds": str(seconds),
        "expiresAt": str(seconds + REQUEST_SECONDS),
        "approvedSeconds": str(APPROVED_SECONDS),
        "voidRun": void_run or NONE,
        "fingerprint": plan.fingerprint or NONE,
    }
