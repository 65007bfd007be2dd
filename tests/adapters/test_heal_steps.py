"""What the steps of the runbooks may ask the plan function, and the answers that they select from."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from express_path.adapters.heal_steps import (
    CLAIMED,
    NONE,
    ApprovalAction,
    HealAction,
    HealRequest,
    UndoAction,
    UndoRequest,
    parse_approval_request,
    parse_heal_request,
    parse_undo_request,
    plan_answer,
    undo_answer,
)
from express_path.domain.heal.claims import NextStep
from express_path.domain.heal.ledger import RunKind, RunRecord, StartedBy, TableRecord, TableState
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import Blocker, HealSettings, Plan
from express_path.domain.heal.undo import Undo, UndoFact, UndoFactCode
from express_path.errors import RecordError
from tests.support.heal_situation import TO_NAT, network, planned
from tests.support.make import endpoint, route

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

# --- heals -----------------------------------------------------------------------------------------------------------

PLAN = {"action": "plan", "subnetId": "subnet-1"}
CONFIRM = {"action": "confirm", "subnetId": "subnet-1", "routeTableId": "rtb-1", "runId": "run-1"}
PLANNED = HealRequest(HealAction.PLAN, "subnet-1")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (PLAN, PLANNED),
        ({**PLAN, "action": "verify"}, HealRequest(HealAction.VERIFY, "subnet-1")),
        ({**PLAN, "dryRun": "true"}, HealRequest(HealAction.PLAN, "subnet-1", dry_run=True)),
        ({**PLAN, "dryRun": True}, HealRequest(HealAction.PLAN, "subnet-1", dry_run=True)),
        ({**PLAN, "dryRun": False}, PLANNED),
        ({**PLAN, "dryRun": "", "startedBy": "", "runId": "", "routeTableId": ""}, PLANNED),
        ({**PLAN, "runId": None}, PLANNED),
        ({**PLAN, "startedBy": "CONFIG"}, HealRequest(HealAction.PLAN, "subnet-1", started_by=StartedBy.CONFIG)),
        (CONFIRM, HealRequest(HealAction.CONFIRM, "subnet-1", run_id="run-1", route_table_id="rtb-1")),
    ],
)
def test_request_of_a_heal(event: dict[str, Any], expected: HealRequest) -> None:
    """Empty and absent mean the default: Automation passes every input, if only as an empty string."""
    assert parse_heal_request(event) == expected


@pytest.mark.parametrize("action", HealAction)
def test_requests_about_a_claimed_table_name_it(action: HealAction) -> None:
    """Only the first request and the last one are about the subnet alone."""
    event = {**CONFIRM, "action": action.value}
    event.pop("routeTableId")
    assert (action in CLAIMED) is (action not in (HealAction.PLAN, HealAction.VERIFY))
    if action in CLAIMED:
        with pytest.raises(RecordError, match="routeTableId"):
            parse_heal_request(event)
    else:
        assert parse_heal_request(event).action is action


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({}, "action"),
        ({**PLAN, "action": ""}, "action"),
        ({**PLAN, "action": "PLAN"}, "action"),
        ({**PLAN, "action": ["plan"]}, "action"),
        ({**PLAN, "action": True}, "action"),
        ({"action": "plan"}, "subnetId"),
        ({**PLAN, "subnetId": ""}, "subnetId"),
        ({**PLAN, "subnetId": "vpc-1"}, "subnetId"),
        ({**PLAN, "subnetId": ["subnet-1"]}, "subnetId"),
        ({**PLAN, "dryRun": "yes"}, "dryRun"),
        ({**PLAN, "dryRun": 1}, "dryRun"),
        ({**PLAN, "startedBy": "config"}, "startedBy"),
        ({**PLAN, "runId": 5}, "runId"),
        ({**CONFIRM, "routeTableId": "subnet-1"}, "routeTableId"),
        ({**CONFIRM, "routeTableId": None}, "routeTableId"),
        ({**PLAN, "dryrun": "true"}, "dryrun"),
    ],
)
def test_wrong_request_is_refused_by_field(event: dict[str, Any], field: str) -> None:
    """Nothing is guessed: an unknown field, above all a misspelt dryRun, is an error that names it."""
    with pytest.raises(RecordError) as raised:
        parse_heal_request(event)
    assert (raised.value.field, raised.value.found) == (field, event.get(field))


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


# --- approvals -------------------------------------------------------------------------------------------------------


def test_requests_of_the_approval_runbook() -> None:
    """They have the fields of a heal's requests; the last one has the fingerprint of the plan that was shown."""
    plan = {**PLAN, "action": "planApproval", "runId": "run-1", "startedBy": "CONFIG", "fingerprint": "hash"}
    asked = replace(
        PLANNED, action=ApprovalAction.PLAN, run_id="run-1", started_by=StartedBy.CONFIG, fingerprint="hash"
    )
    assert parse_approval_request(plan) == asked
    with pytest.raises(RecordError, match="routeTableId"):
        parse_approval_request({**plan, "action": "approved"})


# --- undos -----------------------------------------------------------------------------------------------------------

EVENT = {"action": "planUndo", "undoRunId": "run-1", "runId": "run-2", "startedBy": "PERSON"}
HEAL = RunRecord("run-1", RunKind.HEAL, StartedBy.PERSON, "111122223333", "subnet-1", "vpc-1", "rtb-1", "vpce-1", True)


@pytest.mark.parametrize("action", UndoAction)
def test_request_of_an_undo(action: UndoAction) -> None:
    """Each action is one, with the heal and the run that asks."""
    event = {**EVENT, "action": action.value}
    assert parse_undo_request(event) == UndoRequest(action, "run-1", "run-2")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"undoRunId": ""}, "undoRunId"),
        ({"runId": None}, "runId"),
        ({"runId": ["run-2"]}, "runId"),
        ({"subnetId": "subnet-1"}, "subnetId"),
        ({7: "seven"}, "7"),
    ],
)
def test_wrong_request_of_an_undo_is_refused_by_field(changed: dict[Any, Any], field: str) -> None:
    """The error names the field."""
    with pytest.raises(RecordError) as raised:
        parse_undo_request({**EVENT, **changed})
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("undo", "moves", "lines"),
    [
        (
            Undo(HEAL, associated=True, is_live=True),
            (UndoFact(UndoFactCode.MOVE, "subnet-1", "use nat-1 (NAT_GATEWAY)"),),
            [
                "rtb-1 will no longer use vpce-1",
                "vpce-1 will be deleted: a heal created it, and no other route table uses it",
                "subnet-1 will use nat-1 (NAT_GATEWAY)",
            ],
        ),
        (Undo(HEAL, associated=False, is_live=False), (), ["rtb-1 does not use vpce-1", "vpce-1 was already deleted"]),
        (
            Undo(HEAL, associated=False, is_live=True, kept="rtb-2 uses it"),
            (),
            ["rtb-1 does not use vpce-1", "vpce-1 stays: rtb-2 uses it"],
        ),
    ],
    ids=["all of it", "nothing left", "endpoint stays"],
)
def test_answer_to_an_undo(undo: Undo, moves: tuple[UndoFact, ...], lines: list[str]) -> None:
    """What later steps need is text, and never empty; the details and the summary say what is left to do."""
    answer = undo_answer(undo, undo.change, "ledger", NOW, moves)
    details = answer.pop("details")
    assert all(isinstance(value, str) and value for value in answer.values())
    assert [fact["code"] for fact in details["facts"]] == [fact.code for fact in (*undo.facts(), *moves)]
    assert (answer["action"], answer["ledgerTable"]) == (undo.change, "ledger")
    assert answer["summary"].split(" | ") == lines
