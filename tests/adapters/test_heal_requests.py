"""What the steps of the runbooks may ask the plan function."""

from typing import Any

import pytest

from express_path.adapters.heal_requests import (
    ApprovalPlanRequest,
    ConfirmRequest,
    ElectedRequest,
    HealAction,
    HealStepRequest,
    PlanRequest,
    TurnRequest,
    UndoAction,
    UndoRequest,
    VerifyRequest,
    parse_approval_request,
    parse_heal_request,
    parse_undo_request,
)
from express_path.domain.heal.ledger_records import StartedBy
from express_path.errors import RecordError

# --- heals -----------------------------------------------------------------------------------------------------------

PLAN = {"action": "plan", "subnetId": "subnet-1"}
CONFIRM = {"action": "confirm", "subnetId": "subnet-1", "routeTableId": "rtb-1", "runId": "run-1"}
TURN = {**CONFIRM, "action": "turn", "vpcId": "vpc-1", "seenRun": "run-0", "seenState": "HEALED"}
ELECTED = {**CONFIRM, "action": "elected", "startedAt": "2026-11-21T12:00:00+00:00", "confirmedPlan": "hash"}
PLANNED = PlanRequest(subnet_id="subnet-1")
TABLE = {"subnet_id": "subnet-1", "run_id": "run-1", "route_table_id": "rtb-1"}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (PLAN, PLANNED),
        ({**PLAN, "action": "verify"}, VerifyRequest(subnet_id="subnet-1")),
        ({**PLAN, "dryRun": "true"}, PlanRequest(subnet_id="subnet-1", dry_run=True)),
        ({**PLAN, "dryRun": True}, PlanRequest(subnet_id="subnet-1", dry_run=True)),
        ({**PLAN, "dryRun": False}, PLANNED),
        ({**PLAN, "dryRun": "", "startedBy": "", "runId": "", "routeTableId": ""}, PLANNED),
        ({**PLAN, "runId": None}, PLANNED),
        ({**PLAN, "startedBy": "CONFIG"}, PlanRequest(subnet_id="subnet-1", started_by=StartedBy.CONFIG)),
        (CONFIRM, ConfirmRequest(**TABLE)),
        (TURN, TurnRequest(**TABLE, vpc_id="vpc-1", seen_run="run-0", seen_state="HEALED")),
        (ELECTED, ElectedRequest(**TABLE, started_at=ELECTED["startedAt"], confirmed_plan="hash")),
    ],
)
def test_request_of_a_heal(event: dict[str, Any], expected: HealStepRequest) -> None:
    """Empty and absent mean the default: Automation passes every input, if only as an empty string."""
    assert parse_heal_request(event) == expected


@pytest.mark.parametrize("action", HealAction)
def test_requests_about_a_claimed_table_name_it(action: HealAction) -> None:
    """Only the first request and the last one are about the subnet alone."""
    event = {**TURN, "action": action.value}
    assert parse_heal_request(event).action is action
    event.pop("routeTableId")
    if action in (HealAction.PLAN, HealAction.VERIFY):
        assert parse_heal_request(event).action is action
    else:
        with pytest.raises(RecordError, match="routeTableId"):
            parse_heal_request(event)


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


# --- approvals -------------------------------------------------------------------------------------------------------


def test_requests_of_the_approval_runbook() -> None:
    """They have the fields of a heal's requests; the last one has the fingerprint of the plan that was shown."""
    plan = {**PLAN, "action": "planApproval", "runId": "run-1", "startedBy": "CONFIG", "fingerprint": "hash"}
    asked = ApprovalPlanRequest(
        subnet_id="subnet-1", run_id="run-1", started_by=StartedBy.CONFIG, shown_fingerprint="hash"
    )
    assert parse_approval_request(plan) == asked
    with pytest.raises(RecordError, match="routeTableId"):
        parse_approval_request({**plan, "action": "approved"})


# --- undos -----------------------------------------------------------------------------------------------------------

EVENT = {"action": "planUndo", "undoRunId": "run-1", "runId": "run-2", "startedBy": "PERSON"}


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
