"""Read the requests of the heal's steps to the plan function: plain JSON, read strictly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from express_path.domain.heal.ledger import StartedBy
from express_path.domain.network.ids import wrong_form
from express_path.errors import ContractError, EventError

CONTRACT = "1"
"""The version of the contract between runbooks and function: what requests and answers contain.

It changes with every change that a runbook of the version before would not understand.
"""


def check_contract(event: Mapping[str, Any]) -> None:
    """Raise ContractError if a step of a runbook of another version sends a request.

    A run keeps the version of the runbook with which it started, and the function may be updated before the run ends.
    """
    found = event.get("contract")
    if found != CONTRACT:
        raise ContractError(found, CONTRACT)


class HealAction(StrEnum):
    """The steps of a heal that need an answer, in their order."""

    PLAN = "plan"
    TURN = "turn"
    CONFIRM = "confirm"
    ELECTED = "elected"
    TARGET = "target"
    ASSOCIATED = "associated"
    VERIFY = "verify"


CLAIMED = frozenset(HealAction) - {HealAction.PLAN, HealAction.VERIFY}
"""The steps that name the route table which their run has claimed or will claim."""
_FIELDS = frozenset(
    {
        *("action", "confirmedPlan", "contract", "dryRun", "routeTableId", "runId", "seenRun", "seenState"),
        *("startedAt", "startedBy", "subnetId", "vpcId"),
    }
)
_OPTIONAL = frozenset({"routeTableId", "runId", "startedBy", "dryRun"})


@dataclass(frozen=True, slots=True)
class HealRequest:
    """One request of the runbook.

    In a dry run, a blocked plan is the answer; else it is an error. run_id is the run that sends the request,
    route_table_id the route table that it claims, empty before there is a plan. seen_run and seen_state are the last run
    and the state that the ledger had for that table when the run made its plan; vpc_id is its VPC, and started_at the
    time of that plan. confirmed_plan is the fingerprint of the plan that the run confirmed after its claim. They are
    empty in most requests.
    """

    action: HealAction
    subnet_id: str
    dry_run: bool = False
    run_id: str = ""
    started_by: StartedBy = StartedBy.PERSON
    route_table_id: str = ""
    vpc_id: str = ""
    seen_run: str = ""
    seen_state: str = ""
    started_at: str = ""
    confirmed_plan: str = ""


EXPLAIN_FAILURE = "explainFailure"
"""The last step of a run of any runbook that failed."""


@dataclass(frozen=True, slots=True)
class FailureRequest:
    """A run that failed asks for the message that names its failed steps."""

    run_id: str
    action: str = EXPLAIN_FAILURE


def is_failure(event: Mapping[str, Any]) -> bool:
    """Return whether an event is the request of a run that failed."""
    return event.get("action") == EXPLAIN_FAILURE


def parse_failure_request(event: Mapping[str, Any]) -> FailureRequest:
    """Read a request. Raise EventError that names the invalid field."""
    unknown = sorted(set(event) - {"action", "contract", "runId"}, key=str)
    if unknown:
        raise EventError(str(unknown[0]), event[unknown[0]], "one of the fields action, contract, runId")
    run_id = _text(event, "runId")
    if not run_id:
        raise EventError("runId", event.get("runId"), "the id of an automation execution")
    return FailureRequest(run_id)


def parse_heal_request(event: Mapping[str, Any]) -> HealRequest:
    """Read a request. Raise EventError that names the invalid field."""
    unknown = sorted(set(event) - _FIELDS)
    if unknown:
        raise EventError(unknown[0], event[unknown[0]], "one of the fields " + ", ".join(sorted(_FIELDS)))
    action = HealAction(one_of(event, "action", [action.value for action in HealAction]))
    return HealRequest(
        action,
        _id(event, "subnetId"),
        dry_run=one_of(event, "dryRun", ["false", "true"]) == "true",
        run_id=_text(event, "runId"),
        started_by=StartedBy(one_of(event, "startedBy", [starter.value for starter in StartedBy])),
        route_table_id=_id(event, "routeTableId") if action in CLAIMED else "",
        vpc_id=_id(event, "vpcId") if action is HealAction.TURN else "",
        seen_run=_text(event, "seenRun"),
        seen_state=_text(event, "seenState"),
        started_at=_text(event, "startedAt"),
        confirmed_plan=_text(event, "confirmedPlan"),
    )


def _id(event: Mapping[str, Any], field: str) -> str:
    found = event.get(field)
    allowed = wrong_form(found if isinstance(found, str) else "", field)
    if not isinstance(found, str) or allowed:
        raise EventError(field, found, allowed)
    return found


def _text(event: Mapping[str, Any], field: str) -> str:
    found = event.get(field) or ""
    if not isinstance(found, str):
        raise EventError(field, found, "a string, or nothing")
    return found


def one_of(event: Mapping[str, Any], field: str, allowed: Sequence[str]) -> str:
    """Return a field that must be one of the allowed words; an optional one that is absent or empty means the first.

    Automation passes booleans as such.
    """
    found = event.get(field)
    word = str(found).lower() if isinstance(found, bool) else found or (allowed[0] if field in _OPTIONAL else None)
    if not isinstance(word, str) or word not in allowed:
        raise EventError(field, found, " or ".join(allowed))
    return word
