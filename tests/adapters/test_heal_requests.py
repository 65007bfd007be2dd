"""What the runbook may ask, and the answers that its steps select from."""

import json
from typing import Any

import pytest

from express_path.adapters.heal_requests import HealRequest, parse_request, plan_answer, summary, undo_answer
from express_path.domain.evidence import Evidence
from express_path.domain.healing import Blocker, Plan
from express_path.domain.undo import Refusal, Undo
from express_path.errors import EventError
from tests.domain.heal.situation import TO_NAT, network, planned
from tests.domain.make import endpoint, route

PLAN = {"action": "plan", "subnetId": "subnet-1"}
UNDO = {"action": "plan", "undoRunId": "run-1"}
REFUSED = {"ResourceId": "vpce-1", "Error": {"Code": "OperationNotPermitted", "Message": "no"}}
REFUSAL = Refusal("vpce-1", "OperationNotPermitted", "no")
TEXTS = {
    "action",
    "subnetId",
    "vpcId",
    "routeTableId",
    "endpointId",
    "serviceName",
    "policy",
    "ipAddressType",
    "clientToken",
    "unfinished",
    "ruleName",
    "healedAt",
    "summary",
}
PLANS = {
    "nothing": planned(network(TO_NAT, route("pl-express", "vpce-express"), endpoints=(endpoint(),))),
    "associate": planned(network(endpoints=(endpoint(),))),
    "create": planned(network()),
    "blocked": planned(network(), Evidence(dns_support=False, calendar_open=False)),
    "warned": planned(network(), Evidence(dns_support=False), warn_only=frozenset({Blocker.DNS_ATTRIBUTES})),
}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (PLAN, HealRequest("plan", "subnet-1")),
        ({**PLAN, "action": "verify"}, HealRequest("verify", "subnet-1")),
        ({**PLAN, "dryRun": "true"}, HealRequest("plan", "subnet-1", dry_run=True)),
        ({**PLAN, "dryRun": True}, HealRequest("plan", "subnet-1", dry_run=True)),
        ({**PLAN, "dryRun": False}, HealRequest("plan", "subnet-1")),
        ({**PLAN, "dryRun": "false", "calendarState": "OPEN"}, HealRequest("plan", "subnet-1")),
        ({**PLAN, "calendarState": "CLOSED"}, HealRequest("plan", "subnet-1", calendar_open=False)),
        ({**PLAN, "policyParameter": "/p"}, HealRequest("plan", "subnet-1", policy_parameter="/p")),
        ({**PLAN, "policyParameter": "", "dryRun": "", "calendarState": ""}, HealRequest("plan", "subnet-1")),
        ({**PLAN, "policyParameter": None, "undoRunId": None}, HealRequest("plan", "subnet-1")),
        (UNDO, HealRequest("plan", "", undo_run_id="run-1")),
        ({**UNDO, "disassociated": True}, HealRequest("plan", "", undo_run_id="run-1", disassociated=True)),
        ({**UNDO, "unsuccessful": []}, HealRequest("plan", "", undo_run_id="run-1")),
        ({**UNDO, "unsuccessful": "[]"}, HealRequest("plan", "", undo_run_id="run-1")),
        ({**UNDO, "unsuccessful": ""}, HealRequest("plan", "", undo_run_id="run-1")),
        ({**UNDO, "unsuccessful": [REFUSED]}, HealRequest("plan", "", undo_run_id="run-1", refusals=(REFUSAL,))),
        (
            {**UNDO, "unsuccessful": json.dumps([REFUSED])},
            HealRequest("plan", "", undo_run_id="run-1", refusals=(REFUSAL,)),
        ),
    ],
)
def test_question_is_read(event: dict[str, Any], expected: HealRequest) -> None:
    """Empty and absent mean the default: Automation passes every parameter, if only as an empty string."""
    assert parse_request(event) == expected


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({}, "action"),
        ({"subnetId": "subnet-1"}, "action"),
        ({**PLAN, "action": ""}, "action"),
        ({**PLAN, "action": "heal"}, "action"),
        ({**PLAN, "action": "PLAN"}, "action"),
        ({**PLAN, "action": ["plan"]}, "action"),
        ({**PLAN, "action": True}, "action"),
        ({"action": "plan"}, "subnetId"),
        ({"action": "verify"}, "subnetId"),
        ({"action": "verify", "undoRunId": "run-1"}, "subnetId"),
        ({**PLAN, "subnetId": ""}, "subnetId"),
        ({**PLAN, "subnetId": "vpc-1"}, "subnetId"),
        ({**PLAN, "subnetId": 1}, "subnetId"),
        ({**PLAN, "subnetId": ["subnet-1"]}, "subnetId"),
        ({**PLAN, "dryRun": "yes"}, "dryRun"),
        ({**PLAN, "dryRun": "True"}, "dryRun"),
        ({**PLAN, "dryRun": 1}, "dryRun"),
        ({**PLAN, "calendarState": "open"}, "calendarState"),
        ({**PLAN, "policyParameter": {"Statement": []}}, "policyParameter"),
        ({**PLAN, "undoRunId": 5}, "undoRunId"),
        ({**UNDO, "unsuccessful": [{"ResourceId": "vpce-1"}]}, "unsuccessful"),
        ({**UNDO, "unsuccessful": "vpce-1"}, "unsuccessful"),
        ({**UNDO, "unsuccessful": 5}, "unsuccessful"),
        ({**UNDO, "disassociated": "yes"}, "disassociated"),
        ({**PLAN, "subnetID": "subnet-1"}, "subnetID"),
        ({**PLAN, "dryrun": "true"}, "dryrun"),
    ],
)
def test_wrong_question_is_refused_by_field(event: dict[str, Any], field: str) -> None:
    """Nothing is guessed: an unknown field, above all a misspelt dryRun, is an error that names it."""
    with pytest.raises(EventError) as raised:
        parse_request(event)
    assert (raised.value.field, raised.value.found) == (field, event.get(field))


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_answer_has_every_field_that_steps_select(plan: Plan) -> None:
    """A selector must find something, so what does not apply is an empty string; all of it is JSON."""
    answer = json.loads(json.dumps(plan_answer(plan, "my-rule", "2026-11-21T12:00:00+00:00")))
    assert {key for key, value in answer.items() if isinstance(value, str)} == TEXTS
    assert set(answer) - TEXTS == {"blockers", "warnings", "patches", "verdict"}
    assert (answer["ruleName"], answer["healedAt"]) == ("my-rule", "2026-11-21T12:00:00+00:00")
    assert answer["action"] == plan.action


def test_answer_shows_findings_and_verdict() -> None:
    """Each finding has its name, evidence and cure; the verdict is that before the heal."""
    answer = plan_answer(PLANS["blocked"], "my-rule", "")
    assert [each["name"] for each in answer["blockers"]] == ["DNS_ATTRIBUTES", "CHANGE_CALENDAR_CLOSED"]
    assert all(set(each) == {"name", "evidence", "cure"} for each in answer["blockers"])
    assert [each["name"] for each in plan_answer(PLANS["warned"], "my-rule", "")["warnings"]] == ["DNS_ATTRIBUTES"]
    assert (answer["verdict"]["compliance"], answer["verdict"]["reason"]) == ("NON_COMPLIANT", "NAT_GATEWAY")
    assert answer["verdict"]["path"] == [{"kind": "NAT_GATEWAY", "id": "nat-1", "destination": "0.0.0.0/0"}]


def test_summary_names_every_blocker_with_its_cure() -> None:
    """One line that a failure message can hold."""
    line = summary(PLANS["blocked"])
    assert line.startswith("BLOCKED for subnet-1: NAT_GATEWAY")
    assert "\n" not in line
    for each in PLANS["blocked"].blockers:
        assert f"| {each.blocker}: {each.evidence}; {each.cure}" in line


@pytest.mark.parametrize(
    ("disassociate", "delete_endpoint", "action"),
    [(True, False, "DISASSOCIATE"), (False, True, "DELETE_ENDPOINT"), (False, False, "UNTAG")],
)
def test_undo_says_what_comes_next(disassociate: bool, delete_endpoint: bool, action: str) -> None:
    """One word that the runbook branches on."""
    undo = Undo("rtb-1", "vpce-1", disassociate=disassociate, delete_endpoint=delete_endpoint)
    assert undo_answer(undo) == {"routeTableId": "rtb-1", "endpointId": "vpce-1", "action": action}
