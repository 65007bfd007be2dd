"""What the plan function answers to the steps of the heal: JSON in which each text is one that a step may select."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from express_path.adapters.serialization import verdict_answer
from express_path.domain.heal.claims import CLAIM_SECONDS, Election, Next, client_token
from express_path.domain.heal.ledger import TableRecord, TableState
from express_path.domain.heal.records import Finding, HealSettings, Plan

UNDO = "to undo: express-path undo {run_id}, or start RemoveS3ExpressGatewayEndpoint with RunId={run_id}"
NOTHING_TO_UNDO = "nothing to undo: no heal associated the route table"
NONE = "NONE"
"""Stands for a run that does not exist, where an attribute value must not be empty."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that a run would make: on which record, as it was seen, and at what time.

    void_run is the run whose claim on the table no longer counts, because that run has ended; empty for none.
    finished_endpoint_id is the endpoint that the interrupted run of the record associated.
    """

    record: TableRecord
    now: datetime
    void_run: str = ""
    finished_endpoint_id: str = ""


def timestamp(now: datetime) -> str:
    """A time in ISO 8601, as the ledger has it."""
    return now.isoformat(timespec="milliseconds")


def plan_answer(plan: Plan, next_step: Next, settings: HealSettings, claim: Claim) -> dict[str, Any]:
    """A plan as JSON, with what claiming its route table takes; what does not apply is an empty string."""
    return {
        **plan_fields(plan),
        "next": next_step.value,
        "endpointId": plan.endpoint_id or claim.finished_endpoint_id,
        "accountId": plan.verdict.account_id,
        "ledgerTable": settings.ledger_table,
        "now": timestamp(claim.now),
        "healRun": claim.record.heal_run_id,
        **_claim(claim),
    }


def plan_fields(plan: Plan) -> dict[str, Any]:
    """What a plan says by itself, as JSON; what does not apply is an empty string."""
    return {
        "action": plan.action.value,
        "subnetId": plan.verdict.subnet_id,
        "vpcId": plan.verdict.vpc_id,
        "routeTableId": plan.verdict.route_table_id or "",
        "endpointId": plan.endpoint_id or "",
        "serviceName": plan.service_name,
        "ipAddressType": plan.ip_address_type,
        "blockers": [_finding(each) for each in plan.blockers],
        "warnings": [_finding(each) for each in plan.warnings],
        "patches": dict(plan.patches),
        "verdict": verdict_answer(plan.verdict),
        "summary": summary(plan),
    }


def _claim(claim: Claim) -> dict[str, str]:
    """The record as it was seen, in the form of the attributes that the claim compares and writes."""
    record, seconds = claim.record, int(claim.now.timestamp())
    return {
        "seenRun": record.run_id or NONE,
        "seenState": record.state.value if record.state else NONE,
        "stateBefore": TableState.UNDONE.value if record.is_undone else NONE,
        "voidRun": claim.void_run or NONE,
        "nowSeconds": str(seconds),
        "expiresAt": str(seconds + CLAIM_SECONDS),
    }


def confirm_answer(
    plan: Plan, next_step: Next, election: Election, now: datetime, *, needs_approval: bool
) -> dict[str, Any]:
    """What a run does now that the table is its own, and the generations of an election in the VPC."""
    return {
        "next": next_step.value,
        "needsApproval": str(needs_approval).lower(),
        "seenGeneration": str(election.ledger_generation),
        "generation": str(election.generation),
        "nowSeconds": str(int(now.timestamp())),
        "summary": summary(plan),
    }


def elected_answer(plan: Plan, next_step: Next, election: Election, settings: HealSettings) -> dict[str, Any]:
    """All that CreateVpcEndpoint takes, by the token of the elected creator."""
    return {
        "next": next_step.value,
        "serviceName": plan.service_name,
        "policy": settings.policy,
        "ipAddressType": plan.ip_address_type,
        "clientToken": client_token(election, plan.verdict.vpc_id, plan, settings.policy),
        "generation": str(election.generation),
    }


def target_answer(plan: Plan, next_step: Next, now: datetime, *, created: bool) -> dict[str, Any]:
    """The endpoint to associate; created: this run created it."""
    return {
        "next": next_step.value,
        "endpointId": plan.endpoint_id or "",
        "createdEndpoint": created,
        "now": timestamp(now),
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {"name": finding.blocker.value, "evidence": finding.evidence, "cure": finding.cure}


def summary(plan: Plan) -> str:
    """A plan in one line, with every blocker and warning by name and what to do about it."""
    line = f"{plan.action} for {plan.verdict.subnet_id}: {plan.verdict.annotation}"
    line += "".join(f" | {each.blocker}: {each.evidence}; {each.cure}" for each in plan.blockers)
    return line + "".join(f" | warning {each.blocker}: {each.evidence}; {each.cure}" for each in plan.warnings)
