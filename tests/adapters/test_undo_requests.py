"""Questions of the runbook that undoes, and the answers."""

from datetime import UTC, datetime
from typing import Any

import pytest

from express_path.adapters.heal_steps import (
    AnswerContext,
    UndoAction,
    UndoRequest,
    is_undo,
    parse_undo_request,
    undo_answer,
)
from express_path.domain.heal.ledger import RunKind, RunRecord, StartedBy
from express_path.domain.heal.undo import FailedDeletion, Undo
from express_path.errors import RecordError

EVENT = {"action": "planUndo", "undoRunId": "run-1", "runId": "run-2", "startedBy": "PERSON"}
REFUSED = [{"ResourceId": "vpce-1", "Error": {"Code": "OperationNotPermitted", "Message": "no"}}]
HEAL = RunRecord("run-1", RunKind.HEAL, StartedBy.PERSON, "111122223333", "subnet-1", "vpc-1", "rtb-1", "vpce-1", True)


@pytest.mark.parametrize("event", [None, [], "planUndo", 7, {}, {"action": ["planUndo"]}, {"action": "plan"}])
def test_other_events_are_no_undo(event: object) -> None:
    """Whatever else may come, the answer is no, and no error."""
    assert not is_undo(event)


@pytest.mark.parametrize("action", UndoAction)
def test_question(action: UndoAction) -> None:
    """Each action is one, with the heal and the run that asks."""
    event = {**EVENT, "action": action.value}
    assert is_undo(event)
    assert parse_undo_request(event) == UndoRequest(action, "run-1", "run-2")


@pytest.mark.parametrize("given", [REFUSED, str(REFUSED).replace("'", '"')], ids=["list", "text"])
def test_what_was_not_deleted(given: object) -> None:
    """The list Unsuccessful as such, or as the text that Automation may make of it."""
    request = parse_undo_request({**EVENT, "action": "deletedByUndo", "unsuccessful": given})
    assert request.failed_deletions == (FailedDeletion("vpce-1", "OperationNotPermitted", "no"),)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"undoRunId": ""}, "undoRunId"),
        ({"runId": None}, "runId"),
        ({"runId": ["run-2"]}, "runId"),
        ({"unsuccessful": "nonsense"}, "unsuccessful"),
        ({"unsuccessful": "[" * 100_000}, "unsuccessful"),
        ({"unsuccessful": [{"ResourceId": "vpce-1"}]}, "Error"),
        ({"subnetId": "subnet-1"}, "subnetId"),
        ({7: "seven"}, "7"),
    ],
)
def test_fields_that_cannot_be_understood(changed: dict[Any, Any], field: str) -> None:
    """The error names the field."""
    with pytest.raises(RecordError) as raised:
        parse_undo_request({**EVENT, **changed})
    assert raised.value.field == field


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_answer_holds_what_the_steps_need() -> None:
    """Text only, as a step's output is one, and never empty."""
    undo = Undo(HEAL, associated=True, is_live=True)
    answer = undo_answer(
        undo, undo.change, AnswerContext("ledger", NOW), ("subnet-1 will then take nat-1 (NAT_GATEWAY)",)
    )
    assert all(isinstance(value, str) and value for value in answer.values())
    assert (answer["action"], answer["ledgerTable"]) == ("DISASSOCIATE", "ledger")
    assert answer["summary"].split(" | ") == [
        "rtb-1 will no longer use vpce-1",
        "vpce-1 will be deleted: a heal created it, and no other route table uses it",
        "subnet-1 will then take nat-1 (NAT_GATEWAY)",
    ]


@pytest.mark.parametrize(
    ("undo", "lines"),
    [
        (Undo(HEAL, associated=False, is_live=False), ["rtb-1 does not use vpce-1", "vpce-1 was already deleted"]),
        (
            Undo(HEAL, associated=False, is_live=True, kept="rtb-2 uses it"),
            ["rtb-1 does not use vpce-1", "vpce-1 stays: rtb-2 uses it"],
        ),
    ],
)
def test_summary_says_what_is_left(undo: Undo, lines: list[str]) -> None:
    """One line for the association, one for the endpoint."""
    assert undo_answer(undo, undo.change, AnswerContext("ledger", NOW))["summary"].split(" | ") == lines
