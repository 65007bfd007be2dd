"""The answers that the steps of the runbooks select from."""

import json
from datetime import UTC, datetime

import pytest

from express_path.adapters.heal_answers import plan_answer, undo_answer
from express_path.domain.heal.claims import NextStep
from express_path.domain.heal.ledger_records import (
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    TableState,
)
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import NONE, Blocker, HealSettings, Plan
from express_path.domain.heal.undo_plan import UndoFact, UndoFactCode, UndoPlan
from tests.support.heal_situation import TO_NAT, network, planned
from tests.support.make import endpoint, route

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SETTINGS = HealSettings(ledger_table="ledger")
NEW = TableRecord("rtb-1")
PLANS = {
    "nothing": planned(network(TO_NAT, route("pl-express", "vpce-express"), endpoints=(endpoint(),))),
    "associate": planned(network(endpoints=(endpoint(),))),
    "create": planned(network()),
    "blocked": planned(network(), Evidence(dns_support=False, calendar_open=False)),
    "warned": planned(network(), Evidence(dns_support=False), warn_only=frozenset({Blocker.DNS_ATTRIBUTES})),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_answer_has_every_field_that_steps_select(plan: Plan) -> None:
    """A selector must find something, so what does not apply is an empty string; all of it is JSON."""
    answer = json.loads(json.dumps(plan_answer(plan, NextStep.CLAIM, SETTINGS, NEW, NOW)))
    others = {key for key, value in answer.items() if not isinstance(value, str)}
    assert others == {"details"}
    assert (answer["action"], answer["next"], answer["ledgerTable"]) == (plan.action, "CLAIM", "ledger")
    found = (plan.verdict.vpc_id, plan.verdict.route_table_id, plan.endpoint_id or "")
    for fields in (answer, answer["details"]):
        assert tuple(fields[name] for name in ("vpcId", "routeTableId", "endpointId")) == found
    assert answer["details"]["serviceName"] == plan.service_name


def test_answer_has_the_record_and_the_endpoint_of_an_interrupted_heal() -> None:
    """The run claims the table only if the record is still as it was seen; nothing that it passes on is empty."""
    new = plan_answer(PLANS["create"], NextStep.CLAIM, SETTINGS, NEW, NOW)
    assert (new["seenRun"], new["seenState"]) == (NONE, NONE)
    record = TableRecord("rtb-1", TableState.UNDONE, "undo-1", heal_run_id="run-1", undo_run_id="undo-1")
    answer = plan_answer(PLANS["create"], NextStep.FINISH, SETTINGS, record, NOW, "vpce-1")
    assert (answer["seenRun"], answer["seenState"], answer["endpointId"]) == ("undo-1", "UNDONE", "vpce-1")


def test_answer_shows_concerns_and_verdict() -> None:
    """Each concern has a code, a resource, evidence, and what to do; the verdict is that before the heal. The summary is one line."""
    answer = plan_answer(PLANS["blocked"], NextStep.DONE, SETTINGS, NEW, NOW)
    expected = [
        {"code": concern.code, "resource": concern.resource, "evidence": concern.evidence, "fix": concern.fix}
        for concern in PLANS["blocked"].blockers
    ]
    details = answer["details"]
    assert details["blockers"] == expected
    assert [concern["resource"] for concern in expected] == ["vpc-1", "ChangeCalendarName"]
    assert (details["verdict"]["compliance"], details["verdict"]["reason"]) == ("NON_COMPLIANT", "NAT_GATEWAY")
    assert details["verdict"]["path"] == [{"kind": "NAT_GATEWAY", "id": "nat-1", "destination": "0.0.0.0/0"}]
    line = answer["summary"]
    assert line.startswith("BLOCKED for subnet-1: NAT_GATEWAY")
    assert "\n" not in line
    assert all(f"| {found['code']}: {found['evidence']}; {found['fix']}" in line for found in expected)
    warned = plan_answer(PLANS["warned"], NextStep.CLAIM, SETTINGS, NEW, NOW)
    assert [found["code"] for found in warned["details"]["warnings"]] == ["DNS_ATTRIBUTES"]
    assert "| warning DNS_ATTRIBUTES: " in warned["summary"]


HEAL = RunRecord("run-1", RunKind.HEAL, StartedBy.PERSON, "111122223333", "subnet-1", "vpc-1", "rtb-1", "vpce-1", True)


@pytest.mark.parametrize(
    ("undo", "moves", "lines"),
    [
        (
            UndoPlan(HEAL, associated=True, is_live=True),
            (UndoFact(UndoFactCode.MOVE, "subnet-1", "use nat-1 (NAT_GATEWAY)"),),
            [
                "rtb-1 will no longer use vpce-1",
                "vpce-1 will be deleted: a heal created it, and no other route table uses it",
                "subnet-1 will use nat-1 (NAT_GATEWAY)",
            ],
        ),
        (
            UndoPlan(HEAL, associated=False, is_live=False),
            (),
            ["rtb-1 does not use vpce-1", "vpce-1 was already deleted"],
        ),
        (
            UndoPlan(HEAL, associated=False, is_live=True, kept="rtb-2 uses it"),
            (),
            ["rtb-1 does not use vpce-1", "vpce-1 stays: rtb-2 uses it"],
        ),
    ],
    ids=["all of it", "nothing left", "endpoint stays"],
)
def test_answer_to_an_undo(undo: UndoPlan, moves: tuple[UndoFact, ...], lines: list[str]) -> None:
    """What later steps need is text, and never empty; the details and the summary say what is left to do."""
    answer = undo_answer(undo, undo.change, "ledger", NOW, moves)
    details = answer.pop("details")
    assert all(isinstance(value, str) and value for value in answer.values())
    assert [fact["code"] for fact in details["facts"]] == [fact.code for fact in (*undo.facts(), *moves)]
    assert (answer["action"], answer["ledgerTable"]) == (undo.change, "ledger")
    assert answer["summary"].split(" | ") == lines
