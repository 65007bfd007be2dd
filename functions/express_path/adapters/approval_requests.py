"""The approval runbook's requests to the plan function, and the answers: plain JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from express_path.adapters.heal_answers import summary
from express_path.adapters.heal_requests import HealAction, parse_heal_request
from express_path.domain.heal.approvals import ApprovalStep, approval_message
from express_path.domain.heal.ledger import StartedBy
from express_path.domain.heal.records import NONE, HealSettings, Plan
from express_path.errors import EventError


class ApprovalAction(StrEnum):
    """The steps of the approval runbook that need an answer, in their order.

    PLAN: must the run ask, whom, and what? APPROVED: how to record that an approver approved?
    """

    PLAN = "planApproval"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One request about the heal of a subnet; run_id is the run that asks the approvers.

    fingerprint is that of the plan that the run will show them, empty if it has no plan yet. route_table_id is the route
    table of an approved plan.
    """

    action: ApprovalAction
    subnet_id: str
    dry_run: bool
    run_id: str
    started_by: StartedBy
    route_table_id: str = ""
    fingerprint: str = ""


def is_approval(event: object) -> bool:
    """Return whether an event is a request of the approval runbook."""
    return isinstance(event, Mapping) and event.get("action") in tuple(ApprovalAction)


def parse_approval_request(event: Mapping[str, Any]) -> ApprovalRequest:
    """Read a request. Raise EventError that names the invalid field."""
    action, fingerprint = ApprovalAction(event["action"]), event.get("fingerprint") or ""
    if not isinstance(fingerprint, str):
        raise EventError("fingerprint", fingerprint, "a string, or nothing")
    others = {name: value for name, value in event.items() if name != "fingerprint"}
    # The other fields are those of a heal: of its first request, or of one that names a route table.
    as_heal = HealAction.PLAN if action is ApprovalAction.PLAN else HealAction.CONFIRM
    found = parse_heal_request({**others, "action": as_heal.value})
    return ApprovalRequest(
        action, found.subnet_id, found.dry_run, found.run_id, found.started_by, found.route_table_id, fingerprint
    )


def approval_answer(plan: Plan, step: ApprovalStep, settings: HealSettings, moved: Sequence[str]) -> dict[str, Any]:
    """Return what to ask, and whom; what does not apply is NONE."""
    asks = step is ApprovalStep.ASK
    return {
        "next": step.value,
        "summary": summary(plan),
        "routeTableId": plan.verdict.route_table_id or NONE,
        "message": approval_message(plan, moved) if asks else NONE,
        "approvers": list(settings.approvers) or [NONE],
        "topicArn": settings.approval_topic_arn or NONE,
        "healDocument": settings.heal_document or NONE,
        "ledgerTable": settings.ledger_table,
        "fingerprint": plan.fingerprint or NONE,
    }
