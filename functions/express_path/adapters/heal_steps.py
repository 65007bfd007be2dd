"""What the steps of the runbooks ask the plan function, and the answers: plain JSON, read strictly."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from express_path.adapters.ledger import Write, ledger_time
from express_path.adapters.serialization import verdict_answer
from express_path.domain.heal.approvals import ApprovalStep, approval_message
from express_path.domain.heal.claims import Election, NextStep, client_token
from express_path.domain.heal.ledger import RunRecord, StartedBy, Stop, TableRecord
from express_path.domain.heal.records import NONE, Action, Concern, HealSettings, Plan
from express_path.domain.heal.texts import how_to_undo, one_line, plan_text, undo_fact_text
from express_path.domain.heal.undo import Undo, UndoFact
from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import BlockedError, ContractError, RecordError
from express_path.fields import (
    Description,
    identifier,
    optional_free_text,
    optional_identifier,
)

CONTRACT = "1"
"""The version of the contract between runbooks and function: what requests and answers contain.

It changes with every change that a runbook of the version before would not understand.
"""


def check_contract(event: Description) -> None:
    """Raise ContractError if a step of a runbook of another version sends a request.

    A run keeps the version of the runbook with which it started, and the function may be updated before the run ends.
    """
    found = event.get("contract")
    if found != CONTRACT:
        raise ContractError(found, CONTRACT)


_REQUEST = "request"
"""What errors call a request."""


class HealAction(StrEnum):
    """The steps of a heal that need an answer, in their order."""

    PLAN = "plan"
    TURN = "turn"
    CONFIRM = "confirm"
    ELECTED = "elected"
    TARGET = "target"
    ASSOCIATED = "associated"
    VERIFY = "verify"


class ApprovalAction(StrEnum):
    """The steps of the approval runbook that need an answer, in their order.

    PLAN: must the run ask, whom, and what? APPROVED: how to record that an approver approved? UNAPPROVED: did an approver
    reject, and how to record that?
    """

    PLAN = "planApproval"
    APPROVED = "approved"
    UNAPPROVED = "unapproved"


CLAIMED = frozenset(HealAction) - {HealAction.PLAN, HealAction.VERIFY}
"""The steps that name the route table which their run has claimed or will claim."""
_FIELDS = frozenset(
    {
        *("action", "confirmedPlan", "contract", "dryRun", "routeTableId", "runId", "seenRun", "seenState"),
        *("startedAt", "startedBy", "subnetId", "vpcId"),
    }
)
_OPTIONAL = frozenset({"startedBy", "dryRun"})


@dataclass(frozen=True, slots=True)
class HealRequest:
    """One request of the runbook that heals, or of the one that asks for approval first.

    In a dry run, a blocked plan is the answer; else it is an error. run_id is the run that sends the request,
    route_table_id the route table that it claims or that was approved, empty before there is a plan. seen_run and
    seen_state are the last run and the state that the ledger had for that table when the run made its plan; vpc_id is its
    VPC, and started_at the time of that plan. fingerprint is that of the plan that the run confirmed after its claim, or
    will show to approvers. They are empty in most requests.
    """

    action: HealAction | ApprovalAction
    subnet_id: str
    dry_run: bool = False
    run_id: str = ""
    started_by: StartedBy = StartedBy.PERSON
    route_table_id: str = ""
    vpc_id: str = ""
    seen_run: str = ""
    seen_state: str = ""
    started_at: str = ""
    fingerprint: str = ""


EXPLAIN_FAILURE = "explainFailure"
"""The last step of a run of any runbook that failed."""


@dataclass(frozen=True, slots=True)
class FailureRequest:
    """A run that failed asks for the message that names its failed steps."""

    run_id: str
    action: str = EXPLAIN_FAILURE


def parse_failure_request(event: Description) -> FailureRequest:
    """Read a request. Raise RecordError that names the invalid field."""
    _check_fields(event, frozenset({"action", "contract", "runId"}))
    return FailureRequest(identifier(event, "runId", _REQUEST))


def parse_heal_request(event: Description) -> HealRequest:
    """Read a request. Raise RecordError that names the invalid field."""
    _check_fields(event, _FIELDS)
    action = HealAction(_one_of(event, "action", tuple(HealAction)))
    return HealRequest(
        action,
        identifier(event, "subnetId", _REQUEST),
        dry_run=_one_of(event, "dryRun", ["false", "true"]) == "true",
        run_id=optional_identifier(event, "runId", _REQUEST),
        started_by=StartedBy(_one_of(event, "startedBy", tuple(StartedBy))),
        route_table_id=identifier(event, "routeTableId", _REQUEST) if action in CLAIMED else "",
        vpc_id=identifier(event, "vpcId", _REQUEST) if action is HealAction.TURN else "",
        seen_run=optional_free_text(event, "seenRun", _REQUEST),
        seen_state=optional_free_text(event, "seenState", _REQUEST),
        started_at=optional_free_text(event, "startedAt", _REQUEST),
        fingerprint=optional_free_text(event, "confirmedPlan", _REQUEST),
    )


def _check_fields(event: Description, allowed: frozenset[str]) -> None:
    """Raise RecordError for a field that the request does not have: a misspelled one must not be ignored."""
    unknown = sorted(set(event) - allowed, key=str)
    if unknown:
        raise RecordError(
            _REQUEST, str(unknown[0]), event[unknown[0]], "one of the fields " + ", ".join(sorted(allowed))
        )


def _one_of(event: Description, field: str, allowed: Sequence[str]) -> str:
    """Return a field that must be one of the allowed words; an optional one that is absent or empty means the first.

    Automation passes booleans as such.
    """
    found = event.get(field)
    word = str(found).lower() if isinstance(found, bool) else found or (allowed[0] if field in _OPTIONAL else None)
    if not isinstance(word, str) or word not in allowed:
        raise RecordError(_REQUEST, field, found, " or ".join(allowed))
    return word


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
        "patch": "\n".join(plan.patches.values()) if plan.action is Action.BLOCKED else "",
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
    if plan.action is Action.BLOCKED:
        raise BlockedError(plan_fields(plan), plan_text(plan))


class UndoAction(StrEnum):
    """The steps of an undo that need an answer, in their order.

    PLAN: what is there to undo? TURN: can the run claim the route table? CHECK: must the association still be removed?
    REST: was it removed, and must the endpoint be deleted? CONFIRM: must it still be deleted, after the ledger recorded
    that? DELETED: was it deleted?
    """

    PLAN = "planUndo"
    TURN = "turnOfUndo"
    CHECK = "checkUndo"
    REST = "restOfUndo"
    CONFIRM = "confirmUndo"
    DELETED = "deletedByUndo"


_UNDO_FIELDS = frozenset({"action", "contract", "dryRun", "runId", "startedBy", "undoRunId"})


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """One request: heal_run_id is the heal to undo, and run_id the run that undoes it. A dry run records nothing."""

    action: UndoAction
    heal_run_id: str
    run_id: str
    dry_run: bool = False


def parse_undo_request(event: Description) -> UndoRequest:
    """Read a request. Raise RecordError that names the invalid field."""
    _check_fields(event, _UNDO_FIELDS)
    return UndoRequest(
        UndoAction(event["action"]),
        heal_run_id=identifier(event, "undoRunId", _REQUEST),
        run_id=identifier(event, "runId", _REQUEST),
        dry_run=_one_of(event, "dryRun", ["false", "true"]) == "true",
    )


def undo_answer(
    undo: Undo, action: str, ledger_table: str, now: datetime, moves: tuple[UndoFact, ...] = ()
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


def parse_approval_request(event: Description) -> HealRequest:
    """Read a request. Raise RecordError that names the invalid field."""
    action, fingerprint = ApprovalAction(event["action"]), optional_free_text(event, "fingerprint", _REQUEST)
    others = {name: value for name, value in event.items() if name != "fingerprint"}
    # The other fields are those of a heal: of its first request, or of one that names a route table.
    as_heal = HealAction.PLAN if action is ApprovalAction.PLAN else HealAction.CONFIRM
    found = parse_heal_request({**others, "action": as_heal.value})
    return replace(found, action=action, fingerprint=fingerprint)


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
