"""The plan function's answers to the steps of a heal: JSON whose values a runbook's step can select."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from express_path.adapters.serialization import verdict_answer
from express_path.domain.heal.claims import CLAIM_SECONDS, Election, NextStep, client_token
from express_path.domain.heal.ledger import Marks, RunRecord, TableRecord, TableState
from express_path.domain.heal.records import NONE, Finding, HealSettings, Plan
from express_path.errors import BlockedError

UNDO = "to undo: express-path undo {run_id}, or start RemoveS3ExpressGatewayEndpoint with RunId={run_id}"
NOTHING_TO_UNDO = "nothing to undo: no heal associated the route table"
WAIT_PAUSE, NO_PAUSE = "PT10S", "PT1S"
"""How long a run sleeps before it looks again whether it can claim a route table, and before it goes on (ISO 8601)."""
UNCONFIRMED = (
    "unconfirmed: run {run_id} started to associate the route table, and whether it succeeded is not recorded, so it "
    "cannot be undone; express-path undo {run_id} says what to look for"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that a run would make at a time, on the record that it read.

    void_run is the run whose claim on the table no longer counts, because that run has ended; empty if there is none.
    """

    record: TableRecord
    now: datetime
    void_run: str = ""


def timestamp(now: datetime) -> str:
    """Return a time in ISO 8601, as the ledger stores it."""
    return now.isoformat(timespec="milliseconds")


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


def turn_answer(next_step: NextStep, claim: Claim) -> dict[str, str]:
    """Return whether a run can claim a route table now, and the attributes that the claim compares and writes."""
    seconds = int(claim.now.timestamp())
    return {
        "next": next_step.value,
        "pause": WAIT_PAUSE if next_step is NextStep.WAIT else NO_PAUSE,
        **seen(claim.record),
        "stateBefore": TableState.UNDONE.value if claim.record.is_undone else NONE,
        "voidRun": claim.void_run or NONE,
        "now": timestamp(claim.now),
        "nowSeconds": str(seconds),
        "expiresAt": str(seconds + CLAIM_SECONDS),
    }


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


def confirm_answer(
    plan: Plan, next_step: NextStep, election: Election, now: datetime, *, needs_approval: bool
) -> dict[str, Any]:
    """Return what a run does after it claimed the table, and the generations of an election in the VPC."""
    return {
        "next": next_step.value,
        "needsApproval": str(needs_approval).lower(),
        "fingerprint": plan.fingerprint or NONE,
        "seenGeneration": str(election.ledger_generation),
        "generation": str(election.generation),
        "nowSeconds": str(int(now.timestamp())),
        "summary": summary(plan),
    }


def elected_answer(
    plan: Plan, next_step: NextStep, election: Election, settings: HealSettings, now: datetime
) -> dict[str, Any]:
    """Return the arguments of CreateVpcEndpoint, with the client token of the elected run."""
    return {
        "next": next_step.value,
        "serviceName": plan.service_name,
        "policy": settings.policy,
        "ipAddressType": plan.ip_address_type,
        "clientToken": client_token(election, plan.verdict.vpc_id, plan, settings.policy),
        "generation": str(election.generation),
        "now": timestamp(now),
    }


def target_answer(plan: Plan, next_step: NextStep, now: datetime, marks: Marks, *, created: bool) -> dict[str, Any]:
    """Return the endpoint to associate, with its owner, its policy, and the table's owner; created: by this run."""
    return {
        "endpointOwner": marks.endpoint_owner or NONE,
        "tableOwner": marks.table_owner or NONE,
        "policy": marks.policy or NONE,
        "next": next_step.value,
        "endpointId": plan.endpoint_id or "",
        "createdEndpoint": created,
        "now": timestamp(now),
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
