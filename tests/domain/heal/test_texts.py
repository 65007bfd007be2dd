"""What people read about heals and undos."""

from dataclasses import replace

import pytest

from express_path.domain.heal.failures import StepFailure
from express_path.domain.heal.ledger_records import RunKind, RunRecord, StartedBy
from express_path.domain.heal.records import Blocker, Concern, PlanAction
from express_path.domain.heal.texts import (
    concern_text,
    failure_texts,
    finding_texts,
    how_to_undo,
    judged_text,
    plan_text,
    undo_fact_text,
)
from express_path.domain.heal.undo_plan import UndoFact, UndoFactCode
from tests.support.heal_situation import network, planned

CONCERN = Concern(Blocker.ROUTE_QUOTA, "rtb-1", "too many routes", "remove some")
HEAL = RunRecord("run-1", RunKind.HEAL, StartedBy.PERSON, "111122223333", "subnet-1", "vpc-1", "rtb-1", "vpce-1", True)


def test_a_plan_says_what_blocks_it_what_warns_and_what_was_judged() -> None:
    """Which policies were judged matters only if the heal changes something."""
    plan = replace(planned(network()), blockers=(CONCERN,), warnings=(CONCERN,), judged=("bucket a",))
    text = "ROUTE_QUOTA: too many routes; remove some"
    assert list(finding_texts(plan))[:2] == [text, f"warning {text}"]
    assert list(finding_texts(plan))[2].startswith("policies checked: bucket a; not checked: ")
    blocked = replace(plan, action=PlanAction.BLOCKED)
    assert plan_text(blocked) == f"BLOCKED for subnet-1: {plan.annotation} | {text} | warning {text}"
    assert judged_text([]).startswith("no policy of a directory bucket or access point was checked, nor ")
    assert judged_text(list("abcdefg")).startswith("policies checked: a, b, c, d, e and 2 more; ")


def test_evidence_stays_in_its_line() -> None:
    """An owner's line break makes no second blocker."""
    forged = replace(CONCERN, evidence="ours\nUNDONE: forged | stays: x\r\n--- cli")
    assert concern_text(forged) == "ROUTE_QUOTA: ours UNDONE: forged | stays: x --- cli; remove some"


@pytest.mark.parametrize("code", UndoFactCode)
def test_each_fact_about_an_undo_has_a_text(code: UndoFactCode) -> None:
    """It names the resource, unless it is about the ledger."""
    text = undo_fact_text(UndoFact(code, "rtb-1", "evidence"))
    assert ("rtb-1" in text) is (code is not UndoFactCode.UNCONFIRMED)
    assert text


def test_how_to_undo_names_the_run_that_can_be_undone() -> None:
    """An association that is not confirmed cannot be undone."""
    assert how_to_undo(None).startswith("nothing to undo: ")
    assert how_to_undo(HEAL).startswith(
        "nothing to undo: " if HEAL.unconfirmed_since else "to undo: express-path undo run-1"
    )
    intended = replace(HEAL, intended_at="2026-11-22T12:00:00+00:00", associated_at="")
    assert how_to_undo(intended).startswith("unconfirmed: run run-1 ")


def test_failures_are_listed_from_the_last_one_with_each_fix_once() -> None:
    """A blocked heal has its blockers and warnings."""
    first = StepFailure("one", "", "", "denied", "allow it")
    blocked = StepFailure("two", "BLOCKED", "subnet-1", "NAT_GATEWAY: a NAT", "", (CONCERN,), (CONCERN,))
    text = "ROUTE_QUOTA: too many routes; remove some"
    assert list(failure_texts([first, replace(first, step="zero"), blocked])) == [
        (
            f"step two failed: BLOCKED for subnet-1: NAT_GATEWAY: a NAT | {text} | warning {text}; before that, "
            "step zero failed: denied; before that, step one failed: denied"
        ),
        "fix: allow it",
    ]
