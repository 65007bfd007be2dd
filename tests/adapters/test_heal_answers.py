"""The answers that the steps of a heal select from."""

import json
from datetime import UTC, datetime

import pytest

from express_path.adapters.heal_steps import NO_PAUSE, NONE, WAIT_PAUSE, plan_answer, summary, turn_answer
from express_path.domain.heal.claims import NextStep
from express_path.domain.heal.ledger import TableRecord, TableState
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import Blocker, HealSettings, Plan
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
    assert others == {"blockers", "warnings", "patches", "verdict"}
    assert (answer["action"], answer["next"], answer["ledgerTable"]) == (plan.action, "CLAIM", "ledger")


def test_answer_has_the_record_and_the_endpoint_of_an_interrupted_heal() -> None:
    """The run claims the table only if the record is still as it was seen; nothing that it passes on is empty."""
    new = plan_answer(PLANS["create"], NextStep.CLAIM, SETTINGS, NEW, NOW)
    assert (new["seenRun"], new["seenState"]) == (NONE, NONE)
    record = TableRecord("rtb-1", TableState.UNDONE, "undo-1", heal_run_id="run-1", undo_run_id="undo-1")
    answer = plan_answer(PLANS["create"], NextStep.FINISH, SETTINGS, record, NOW, "vpce-1")
    assert (answer["seenRun"], answer["seenState"], answer["endpointId"]) == ("undo-1", "UNDONE", "vpce-1")


def test_only_a_run_that_waits_sleeps() -> None:
    """The loop sleeps as long as the answer says."""
    assert turn_answer(NextStep.WAIT)["pause"] == WAIT_PAUSE
    assert turn_answer(NextStep.CLAIM)["pause"] == NO_PAUSE


def test_answer_shows_findings_and_verdict() -> None:
    """Each finding has its name, evidence and cure; the verdict is that before the heal."""
    answer = plan_answer(PLANS["blocked"], NextStep.DONE, SETTINGS, NEW, NOW)
    assert [finding["name"] for finding in answer["blockers"]] == ["DNS_ATTRIBUTES", "CHANGE_CALENDAR_CLOSED"]
    assert all(set(finding) == {"name", "evidence", "cure"} for finding in answer["blockers"])
    warned = plan_answer(PLANS["warned"], NextStep.CLAIM, SETTINGS, NEW, NOW)
    assert [finding["name"] for finding in warned["warnings"]] == ["DNS_ATTRIBUTES"]
    assert (answer["verdict"]["compliance"], answer["verdict"]["reason"]) == ("NON_COMPLIANT", "NAT_GATEWAY")
    assert answer["verdict"]["path"] == [{"kind": "NAT_GATEWAY", "id": "nat-1", "destination": "0.0.0.0/0"}]


def test_summary_names_every_blocker_with_its_cure() -> None:
    """One line that a failure message can hold."""
    line = summary(PLANS["blocked"])
    assert line.startswith("BLOCKED for subnet-1: NAT_GATEWAY")
    assert "\n" not in line
    for finding in PLANS["blocked"].blockers:
        assert f"| {finding.blocker}: {finding.evidence}; {finding.cure}" in line
