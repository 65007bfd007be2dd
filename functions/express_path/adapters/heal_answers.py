"""The answers to the steps of the runbooks: plain JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from express_path.adapters.ledger import Write, ledger_time
from express_path.adapters.serialization import verdict_answer
from express_path.domain.heal.approvals import ApprovalStep, approval_message
from express_path.domain.heal.claims import Election, NextStep, client_token
from express_path.domain.heal.ledger_records import RunRecord, Stop, TableRecord
from express_path.domain.heal.records import NONE, Concern, HealSettings, Plan, PlanAction
from express_path.domain.heal.texts import how_to_undo, one_line, plan_text, undo_fact_text
from express_path.domain.heal.undo_plan import UndoFact, UndoPlan
from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import BlockedError

WAITING = {"next": NextStep.WAIT.value}
"""The answer to a run that cannot claim its route table now."""


def plan_answer(
    plan: Plan,
    next_step: NextStep,
    settings: HealSettings,
    record: TableRecord,
    now: datetime,
    finished_endpoint_id: str = "",
) -> dict[str, Any]:
    """Return a plan as JSON, with the record of its route table; what does not apply is an empty string.

    details is the plan for programs, and summary the same for people. The other fields are what later steps need.
    finished_endpoint_id is the endpoint that the record's run associated before it was interrupted.
    """
    return {
        "details": plan_fields(plan),
        "summary": plan_text(plan),
        # Of a blocked plan, people make the change.
        "patch": "\n".join(plan.patches.values()) if plan.action is PlanAction.BLOCKED else "",
        "next": next_step.value,
        "action": plan.action.value,
        "vpcId": plan.verdict.vpc_id,
        "routeTableId": plan.verdict.route_table_id or "",
        "endpointId": plan.endpoint_id or finished_endpoint_id,
        "ledgerTable": settings.ledger_table,
        "now": ledger_time(now),
        **seen(record),
    }


def turn_answer(next_step: NextStep, *writes: Write) -> dict[str, Any]:
    """Return whether a run can claim a route table now, by these writes."""
    return {"next": next_step.value, "ledger": list(writes)}


def stopped_answer(stop: Stop, subnet_id: str) -> dict[str, Any]:
    """Return the answer to any step before a change if somebody stopped all heals. What does not apply is NONE."""
    names = (
        *(
            "vpcId",
            "routeTableId",
            "endpointId",
            "patch",
            "ledgerTable",
            "seenRun",
        ),
        *(
            "seenState",
            "now",
            "fingerprint",
            "policy",
            "serviceName",
            "ipAddressType",
            "clientToken",
            "generation",
            "message",
            "topicArn",
            "healDocument",
        ),
    )
    answer = {
        "next": NextStep.STOPPED.value,
        "action": NextStep.STOPPED.value,
        "details": {
            "action": NextStep.STOPPED.value,
            "subnetId": subnet_id,
            "routeTableId": NONE,
            "blockers": [],
            "stop": {"by": stop.by, "at": stop.stopped_at, "reason": stop.reason},
        },
        "summary": str(stop),
        "approvers": [NONE],
        "ledger": [],
    }
    return dict.fromkeys(names, NONE) | answer


def plan_fields(plan: Plan) -> dict[str, Any]:
    """Return the plan itself as JSON; what does not apply is an empty string."""
    return {
        "action": plan.action.value,
        "subnetId": plan.verdict.subnet_id,
        "vpcId": plan.verdict.vpc_id,
        "routeTableId": plan.verdict.route_table_id or "",
        "endpointId": plan.endpoint_id or "",
        "serviceName": plan.service_name,
        "ipAddressType": plan.ip_address_type,
        "blockers": [_concern(blocker) for blocker in plan.blockers],
        "warnings": [_concern(warning) for warning in plan.warnings],
        "judged": list(plan.judged),
        "patches": dict(plan.patches),
        "fingerprint": plan.fingerprint,
        "verdict": verdict_answer(plan.verdict),
    }


def seen(record: TableRecord) -> dict[str, str]:
    """Return the run and the state of a record, which show whether it changed."""
    return {"seenRun": record.run_id or NONE, "seenState": record.state.value if record.state else NONE}


def elected_answer(plan: Plan, next_step: NextStep, election: Election, settings: HealSettings) -> dict[str, Any]:
    """Return the arguments of CreateVpcEndpoint, with the client token of the elected run."""
    return {
        "next": next_step.value,
        "serviceName": plan.service_name,
        "policy": settings.policy,
        "ipAddressType": plan.ip_address_type,
        "clientToken": client_token(election, plan.verdict.vpc_id, plan, settings.policy),
        "generation": str(election.generation),
    }


def verify_answer(
    verdict: Verdict, endpoint_id: str, heal: RunRecord | None, writes: Sequence[Write]
) -> dict[str, Any]:
    """Return the verdict after a heal as JSON, and the last heal that started to associate the route table.

    undoRunId of the details is that heal's run, empty if it is not confirmed, because then it cannot be undone.
    """
    return {
        **verdict_answer(verdict),
        "details": {
            "verdict": verdict_answer(verdict),
            "endpointId": endpoint_id,
            "undoRunId": "" if heal is None or heal.unconfirmed_since else heal.run_id,
        },
        "undo": how_to_undo(heal),
        "ledger": list(writes),
    }


def _concern(concern: Concern) -> dict[str, str]:
    return {
        "code": concern.code.value,
        "resource": concern.resource,
        "evidence": concern.evidence,
        "fix": concern.fix,
    }


def check_not_blocked(plan: Plan) -> None:
    """Raise BlockedError, which fails the step, if the plan is blocked."""
    if plan.action is PlanAction.BLOCKED:
        raise BlockedError(plan_fields(plan), plan_text(plan))


def approval_answer(plan: Plan, step: ApprovalStep, settings: HealSettings, moved: Sequence[str]) -> dict[str, Any]:
    """Return what to ask, and whom; what does not apply is NONE."""
    asks = step is ApprovalStep.ASK
    return {
        "details": plan_fields(plan),
        "next": step.value,
        "summary": plan_text(plan),
        "routeTableId": plan.verdict.route_table_id or NONE,
        "message": approval_message(plan, moved) if asks else NONE,
        "approvers": list(settings.approvers) or [NONE],
        "topicArn": settings.approval_topic_arn or NONE,
        "healDocument": settings.heal_document or NONE,
        "ledgerTable": settings.ledger_table,
        "fingerprint": plan.fingerprint or NONE,
    }


def undo_answer(
    undo: UndoPlan, action: str, ledger_table: str, now: datetime, moves: tuple[UndoFact, ...] = ()
) -> dict[str, Any]:
    """Return what to change next, as JSON; moves say where the traffic of each subnet will go.

    details is that for programs, and summary the same for people. The other fields are what later steps need.
    """
    heal, facts = undo.heal, [*undo.facts(), *moves]
    return {
        "details": {
            "action": action,
            "undoRunId": heal.run_id,
            "subnetId": heal.subnet_id,
            "routeTableId": heal.route_table_id,
            "endpointId": heal.endpoint_id,
            "facts": [asdict(fact) for fact in facts],
        },
        "summary": one_line(map(undo_fact_text, facts)),
        "action": action,
        "vpcId": heal.vpc_id,
        "routeTableId": heal.route_table_id,
        "endpointId": heal.endpoint_id,
        "ledgerTable": ledger_table,
        "now": ledger_time(now),
    }
