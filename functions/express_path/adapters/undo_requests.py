"""The undo runbook's requests to the plan function, and the answers: plain JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from express_path.adapters.heal_requests import one_of
from express_path.adapters.ledger import timestamp
from express_path.domain.heal.undo import FailedDeletion, Undo
from express_path.errors import EventError


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


_FIELDS = ("action", "contract", "dryRun", "runId", "startedBy", "undoRunId", "unsuccessful")


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """One request: heal_run_id is the heal to undo, and run_id the run that undoes it. A dry run records nothing."""

    action: UndoAction
    heal_run_id: str
    run_id: str
    failed_deletions: tuple[FailedDeletion, ...] = ()
    dry_run: bool = False


def is_undo(event: object) -> bool:
    """Return whether an event is a request of the undo runbook."""
    return isinstance(event, Mapping) and event.get("action") in tuple(UndoAction)


def parse_undo_request(event: Mapping[str, Any]) -> UndoRequest:
    """Read a request. Raise EventError that names the invalid field."""
    unknown = sorted(set(event) - set(_FIELDS), key=str)
    if unknown:
        raise EventError(str(unknown[0]), event[unknown[0]], "one of the fields " + ", ".join(_FIELDS))
    return UndoRequest(
        UndoAction(event["action"]),
        heal_run_id=_run_id(event, "undoRunId"),
        run_id=_run_id(event, "runId"),
        failed_deletions=_failed_deletions(event),
        dry_run=one_of(event, "dryRun", ["false", "true"]) == "true",
    )


def _run_id(event: Mapping[str, Any], field: str) -> str:
    found = event.get(field)
    if not isinstance(found, str) or not found:
        raise EventError(field, found, "the id of an automation execution")
    return found


def _failed_deletions(event: Mapping[str, Any]) -> tuple[FailedDeletion, ...]:
    """Return the list Unsuccessful of DeleteVpcEndpoints, which Automation may pass as a list or as JSON text.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_UnsuccessfulItem.html
    """
    found = event.get("unsuccessful") or []
    try:
        items = json.loads(found) if isinstance(found, str) else found
        return tuple(
            FailedDeletion(item["ResourceId"], item["Error"]["Code"], item["Error"]["Message"]) for item in items
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise EventError("unsuccessful", found, "the list Unsuccessful of ec2:DeleteVpcEndpoints") from error


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What an answer contains in addition to the change."""

    ledger_table: str
    now: datetime


def undo_answer(undo: Undo, action: str, context: AnswerContext, moves: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what to change next, as JSON; moves say where the traffic of each subnet will go."""
    heal = undo.heal
    return {
        "action": action,
        "undoRunId": heal.run_id,
        "accountId": heal.account_id,
        "subnetId": heal.subnet_id,
        "vpcId": heal.vpc_id,
        "routeTableId": heal.route_table_id,
        "endpointId": heal.endpoint_id,
        "ledgerTable": context.ledger_table,
        "now": timestamp(context.now),
        "summary": " | ".join((*_lines(undo), *moves)),
    }


def _lines(undo: Undo) -> list[str]:
    heal = undo.heal
    table = "will no longer use" if undo.associated else "does not use"
    lines = [f"{heal.route_table_id} {table} {heal.endpoint_id}"]
    if heal.unconfirmed_since:
        lines.append("the ledger does not confirm that the heal associated the route table")
    if undo.deletes:
        lines.append(f"{heal.endpoint_id} will be deleted: a heal created it, and no other route table uses it")
    elif undo.is_live:
        lines.append(f"{heal.endpoint_id} stays: {undo.kept}")
    else:
        lines.append(f"{heal.endpoint_id} was already deleted")
    return lines
