"""What the steps of a heal may ask."""

from typing import Any

import pytest

from express_path.adapters.heal_steps import CLAIMED, HealAction, HealRequest, parse_heal_request
from express_path.domain.heal.ledger import StartedBy
from express_path.errors import RecordError

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
def test_question_is_read(event: dict[str, Any], expected: HealRequest) -> None:
    """Empty and absent mean the default: Automation passes every input, if only as an empty string."""
    assert parse_heal_request(event) == expected


@pytest.mark.parametrize("action", HealAction)
def test_questions_about_a_claimed_table_name_it(action: HealAction) -> None:
    """Only the first question and the last one are about the subnet alone."""
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
        ({"subnetId": "subnet-1"}, "action"),
        ({**PLAN, "action": ""}, "action"),
        ({**PLAN, "action": "heal"}, "action"),
        ({**PLAN, "action": "PLAN"}, "action"),
        ({**PLAN, "action": ["plan"]}, "action"),
        ({**PLAN, "action": True}, "action"),
        ({"action": "plan"}, "subnetId"),
        ({**PLAN, "subnetId": ""}, "subnetId"),
        ({**PLAN, "subnetId": "vpc-1"}, "subnetId"),
        ({**PLAN, "subnetId": 1}, "subnetId"),
        ({**PLAN, "subnetId": ["subnet-1"]}, "subnetId"),
        ({**PLAN, "dryRun": "yes"}, "dryRun"),
        ({**PLAN, "dryRun": "True"}, "dryRun"),
        ({**PLAN, "dryRun": 1}, "dryRun"),
        ({**PLAN, "startedBy": "config"}, "startedBy"),
        ({**PLAN, "runId": 5}, "runId"),
        ({**CONFIRM, "routeTableId": "subnet-1"}, "routeTableId"),
        ({**CONFIRM, "routeTableId": None}, "routeTableId"),
        ({**PLAN, "subnetID": "subnet-1"}, "subnetID"),
        ({**PLAN, "dryrun": "true"}, "dryrun"),
    ],
)
def test_wrong_question_is_refused_by_field(event: dict[str, Any], field: str) -> None:
    """Nothing is guessed: an unknown field, above all a misspelt dryRun, is an error that names it."""
    with pytest.raises(RecordError) as raised:
        parse_heal_request(event)
    assert (raised.value.field, raised.value.found) == (field, event.get(field))
