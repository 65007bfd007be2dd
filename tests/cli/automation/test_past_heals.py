"""The state of past heals."""

from dataclasses import replace

import pytest

from express_path.domain.heal.ledger_records import (
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
)
from express_path_cli.automation.past_heals import HealState, History, PastHeal, past_heals
from tests.support.make import ACCOUNT

NOON, ONE = "2026-11-22T12:00:00+00:00", "2026-11-22T13:00:00+00:00"
HEAL = RunRecord(
    "run-1",
    RunKind.HEAL,
    StartedBy.PERSON,
    ACCOUNT,
    "subnet-1",
    "vpc-1",
    "rtb-1",
    "vpce-1",
    started_at=NOON,
    intended_at=NOON,
    associated_at=NOON,
    finished_at=NOON,
)
UNDO = replace(HEAL, run_id="undo-1", kind=RunKind.UNDO, finished_at=ONE, heal_run_id="run-1")


def past(*runs: RunRecord, last: str = "run-1") -> list[PastHeal]:
    """Return the heals of a history in which the given run was the last to associate rtb-1."""
    return past_heals(History({run.run_id: run for run in runs}, {"rtb-1": TableRecord("rtb-1", heal_run_id=last)}))


@pytest.mark.parametrize(
    ("run", "state", "can_be_undone"),
    [
        (HEAL, HealState.HEALED, True),
        (replace(HEAL, finished_at=""), HealState.UNFINISHED, True),
        (replace(HEAL, undo_run_id="undo-1"), HealState.UNDONE, False),
        (replace(HEAL, associated_at="", created_endpoint=True, finished_at=""), HealState.UNFINISHED, True),
        (replace(HEAL, associated_at=""), HealState.UNCONFIRMED, False),
        (
            replace(HEAL, intended_at="", associated_at="", finished_at="", creation_intended_at=NOON),
            HealState.UNCONFIRMED,
            False,
        ),
    ],
    ids=["healed", "interrupted", "undone", "only created", "intended", "creation intended"],
)
def test_state_of_a_heal(run: RunRecord, state: HealState, *, can_be_undone: bool) -> None:
    """The state follows from the ledger's items of the run."""
    [found] = past(run, UNDO)
    assert (found.state, found.can_be_undone) == (state, can_be_undone)


def test_heal_that_a_later_one_replaced() -> None:
    """A replaced heal names the later one; a heal that only created an endpoint is not replaced."""
    [found] = past(HEAL, last="run-2")
    assert (found.state, found.later_run_id, found.can_be_undone) == (HealState.REPLACED, "run-2", False)
    [created] = past(replace(HEAL, associated_at="", created_endpoint=True), last="run-2")
    assert created.state is HealState.HEALED
    for unknown in ({}, {"rtb-1": TableRecord("rtb-1")}):
        assert [heal.state for heal in past_heals(History({"run-1": HEAL}, unknown))] == [HealState.HEALED]


def test_runs_that_changed_nothing_and_undos_are_left_out() -> None:
    """Only runs that can be undone are heals."""
    assert past(replace(HEAL, intended_at="", associated_at=""), UNDO) == []


def test_order_and_selection() -> None:
    """Heals are sorted, latest first."""
    older, newer = replace(HEAL, run_id="run-2"), replace(HEAL, run_id="run-3", started_at=ONE)
    other = replace(HEAL, run_id="run-4", vpc_id="vpc-0")
    history = History({run.run_id: run for run in (older, newer, other)}, {})
    assert [heal.run.run_id for heal in past_heals(history)] == ["run-3", "run-4", "run-2"]
