"""What the steps of the runbooks ask the plan function: a record for each step, read strictly."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from express_path.domain.heal.ledger_records import StartedBy
from express_path.errors import ContractError, RecordError
from express_path.fields import Description, identifier, optional_free_text, optional_identifier

CONTRACT = "1"
"""The version of the contract between runbooks and function: what requests and answers contain.

It changes with every change that a runbook of the version before would not understand.
"""


def check_contract(event: Description) -> None:
    """Raise ContractError if a step of a runbook of another version sends a request.

    A run keeps the version of the runbook with which it started, and the function may be updated before the run ends.
    """
    version = event.get("contract")
    if version != CONTRACT:
        raise ContractError(version, CONTRACT)


_REQUEST = "request"
"""What errors call a request."""

# --- heals and their approvals ----------------------------------------------------------------------------------------


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


@dataclass(frozen=True, kw_only=True)
class HealRequest:
    """What every step of a heal and of its approval says.

    run_id is the run that sends the request. In a dry run, a blocked plan is the answer; else it is an error.
    """

    action: ClassVar[HealAction | ApprovalAction]
    subnet_id: str
    run_id: str = ""
    started_by: StartedBy = StartedBy.PERSON
    dry_run: bool = False


class PlanRequest(HealRequest):
    """Asks what a heal would change."""

    action = HealAction.PLAN


@dataclass(frozen=True, kw_only=True)
class TableRequest(HealRequest):
    """A request of a run that has claimed, or will claim, a route table, or that asks to approve its change."""

    route_table_id: str


@dataclass(frozen=True, kw_only=True)
class TurnRequest(TableRequest):
    """Asks whether the run can claim its route table now.

    vpc_id is the VPC of the table. seen_run and seen_state are the last run and the state that the ledger had for the
    table when the run made its plan.
    """

    action: ClassVar[HealAction | ApprovalAction] = HealAction.TURN
    vpc_id: str
    seen_run: str = ""
    seen_state: str = ""


class ConfirmRequest(TableRequest):
    """Asks what the run changes, now that it has claimed its route table."""

    action = HealAction.CONFIRM


@dataclass(frozen=True, kw_only=True)
class ChangeRequest(TableRequest):
    """A request right before a change.

    started_at is the time of the run's plan, and confirmed_plan the fingerprint of the plan that it confirmed after its claim.
    """

    started_at: str = ""
    confirmed_plan: str = ""


class ElectedRequest(ChangeRequest):
    """Asks which run's client token creates the endpoint, unless the endpoint exists by now."""

    action = HealAction.ELECTED


class TargetRequest(ChangeRequest):
    """Asks which endpoint to associate with the route table."""

    action = HealAction.TARGET


class AssociatedRequest(TableRequest):
    """Asks whether the route table uses the endpoint."""

    action = HealAction.ASSOCIATED


class VerifyRequest(HealRequest):
    """Asks for the verdict after the heal."""

    action = HealAction.VERIFY


@dataclass(frozen=True, kw_only=True)
class ApprovalPlanRequest(HealRequest):
    """Asks whether the run must ask for an approval, whom, and what.

    shown_fingerprint is that of the plan that approvers see; it is empty before there is a plan.
    """

    action: ClassVar[HealAction | ApprovalAction] = ApprovalAction.PLAN
    shown_fingerprint: str = ""


class ApprovedRequest(TableRequest):
    """Asks how to record that an approver approved."""

    action = ApprovalAction.APPROVED


class UnapprovedRequest(TableRequest):
    """Asks whether an approver rejected the heal, and how to record that."""

    action = ApprovalAction.UNAPPROVED


HealStepRequest = (
    PlanRequest | TurnRequest | ConfirmRequest | ElectedRequest | TargetRequest | AssociatedRequest | VerifyRequest
)
ApprovalRequest = ApprovalPlanRequest | ApprovedRequest | UnapprovedRequest

_HEAL_FIELDS = frozenset(
    {
        *("action", "confirmedPlan", "contract", "dryRun", "routeTableId", "runId", "seenRun", "seenState"),
        *("startedAt", "startedBy", "subnetId", "vpcId"),
    }
)
_APPROVAL_FIELDS = _HEAL_FIELDS | {"fingerprint"}
_OPTIONAL = frozenset({"startedBy", "dryRun"})


def parse_heal_request(event: Description) -> HealStepRequest:
    """Read the request of a step of a heal. Raise RecordError that names the invalid field."""
    _check_fields(event, _HEAL_FIELDS)
    action = HealAction(_one_of(event, "action", tuple(HealAction)))
    if action is HealAction.PLAN:
        return PlanRequest(**_heal(event))
    if action is HealAction.VERIFY:
        return VerifyRequest(**_heal(event))
    about_table = _heal(event) | {"route_table_id": identifier(event, "routeTableId", _REQUEST)}
    if action is HealAction.TURN:
        return TurnRequest(
            **about_table,
            vpc_id=identifier(event, "vpcId", _REQUEST),
            seen_run=optional_free_text(event, "seenRun", _REQUEST),
            seen_state=optional_free_text(event, "seenState", _REQUEST),
        )
    if action is HealAction.CONFIRM:
        return ConfirmRequest(**about_table)
    if action is HealAction.ASSOCIATED:
        return AssociatedRequest(**about_table)
    change = ElectedRequest if action is HealAction.ELECTED else TargetRequest
    return change(
        **about_table,
        started_at=optional_free_text(event, "startedAt", _REQUEST),
        confirmed_plan=optional_free_text(event, "confirmedPlan", _REQUEST),
    )


def parse_approval_request(event: Description) -> ApprovalRequest:
    """Read the request of a step that asks for an approval. Raise RecordError that names the invalid field."""
    _check_fields(event, _APPROVAL_FIELDS)
    action = ApprovalAction(event["action"])
    if action is ApprovalAction.PLAN:
        return ApprovalPlanRequest(**_heal(event), shown_fingerprint=optional_free_text(event, "fingerprint", _REQUEST))
    about_table = _heal(event) | {"route_table_id": identifier(event, "routeTableId", _REQUEST)}
    return ApprovedRequest(**about_table) if action is ApprovalAction.APPROVED else UnapprovedRequest(**about_table)


def _heal(event: Description) -> dict[str, Any]:
    """Return the fields of a HealRequest."""
    return {
        "subnet_id": identifier(event, "subnetId", _REQUEST),
        "dry_run": _one_of(event, "dryRun", ["false", "true"]) == "true",
        "run_id": optional_identifier(event, "runId", _REQUEST),
        "started_by": StartedBy(_one_of(event, "startedBy", tuple(StartedBy))),
    }


# --- undos ------------------------------------------------------------------------------------------------------------


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


# --- failures ---------------------------------------------------------------------------------------------------------

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


def _check_fields(event: Description, allowed: frozenset[str]) -> None:
    """Raise RecordError for a field that no step of the runbook sends: a misspelled one must not be ignored."""
    unknown = sorted(set(event) - allowed, key=str)
    if unknown:
        raise RecordError(
            _REQUEST, str(unknown[0]), event[unknown[0]], "one of the fields " + ", ".join(sorted(allowed))
        )


def _one_of(event: Description, field: str, allowed: Sequence[str]) -> str:
    """Return a field that must be one of the allowed words; an optional one that is absent or empty means the first.

    Automation passes booleans as such.
    """
    value = event.get(field)
    if isinstance(value, bool):
        word: object = str(value).lower()
    elif not value and field in _OPTIONAL:
        word = allowed[0]
    else:
        word = value
    if not isinstance(word, str) or word not in allowed:
        raise RecordError(_REQUEST, field, value, " or ".join(allowed))
    return word
