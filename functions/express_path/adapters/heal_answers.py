"""The plan function's answers to the steps of a heal: JSON whose values a runbook's step can select."""

from datetime import datetime
from typing import Any

from express_path.adapters.ledger import timestamp
from express_path.adapters.serialization import verdict_answer
from express_path.domain.heal.claims import Election, NextStep, client_token
from express_path.domain.heal.ledger import RunRecord, TableRecord
from express_path.domain.heal.records import NONE, Finding, HealSettings, Plan
from express_path.errors import BlockedError

UNDO = "to undo: express-path undo {run_id}, or start RemoveS3ExpressGatewayEndpoint with RunId={run_id}"
NOTHING_TO_UNDO = "nothing to undo: no heal associated the route table"
WAIT_PAUSE, NO_PAUSE = "PT10S", "PT1S"
"""How long a run sleeps before it looks again whether it can claim a route table, and before it goes on (ISO 8601)."""
WAITING = {"next": NextStep.WAIT.value, "pause": WAIT_PAUSE}
"""The answer to a run that cannot claim its route table now."""
UNCONFIRMED = (
    "unconfirmed: run {run_id} started to associate the route table, and whether it succeeded is not recorded, so it "
    "cannot be undone; express-path undo {run_id} says what to look for"
)


def plan_answer(
    plan: Plan,
    next_step: NextStep,
    settings: HealSettings,
    record: TableRecord,
    now: datetime,
    finished_endpoint_id: str = "",
) -> dict[str, Any]:
    """Return a plan as JSON, with the record of its route table; what does not apply is an empty string.

    finished_endpoint_id is the endpoint that the record's run associated before it was interrupted.
    """
    return {
        **plan_fields(plan),
        "next": next_step.value,
        "endpointId": plan.endpoint_id or finished_endpoint_id,
        "accountId": plan.verdict.account_id,
        "ledgerTable": settings.ledger_table,
        "now": timestamp(now),
        **seen(record),
    }


def turn_answer(next_step: NextStep) -> dict[str, str]:
    """Return whether a run can claim a route table now, and how long it sleeps before it goes on."""
    return dict(WAITING) if next_step is NextStep.WAIT else {"next": next_step.value, "pause": NO_PAUSE}


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
        "blockers": [_finding(blocker) for blocker in plan.blockers],
        "warnings": [_finding(warning) for warning in plan.warnings],
        "patches": dict(plan.patches),
        "fingerprint": plan.fingerprint,
        "verdict": verdict_answer(plan.verdict),
        "summary": summary(plan),
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


def how_to_undo(heal: RunRecord | None) -> str:
    """Return how to undo the last heal that started to associate a route table; None if there is no such heal."""
    if heal is None:
        return NOTHING_TO_UNDO
    return (UNCONFIRMED if heal.unconfirmed_since else UNDO).format(run_id=heal.run_id)


def _finding(finding: Finding) -> dict[str, str]:
    return {"name": finding.blocker.value, "evidence": finding.evidence, "cure": finding.cure}


def blocked_error(plan: Plan) -> BlockedError:
    """Return the error that fails a step whose plan is blocked."""
    blockers = [found.blocker.value for found in plan.blockers]
    return BlockedError(
        summary(plan), plan.patches, plan.verdict.subnet_id, plan.verdict.route_table_id or "", blockers
    )


def summary(plan: Plan) -> str:
    """Return a plan in one line, with every blocker and warning by name and what to do about it."""
    line = f"{plan.action} for {plan.verdict.subnet_id}: {plan.verdict.annotation}"
    line += "".join(f" | {found.blocker}: {found.evidence}; {found.cure}" for found in plan.blockers)
    return line + "".join(f" | warning {found.blocker}: {found.evidence}; {found.cure}" for found in plan.warnings)
