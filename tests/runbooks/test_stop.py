"""Heals while somebody has stopped them: no run starts a change, no run fails, and undo works."""

import json
from typing import Any

import pytest

from express_path.domain.heal.ledger_records import STOP_ID
from tests.support.heals import FUNCTION, Approval, Deployment, Run, Vpc, status, steps
from tests.support.ledgers import LEDGER, TIME, LedgerTable
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def stop(ledger: LedgerTable) -> None:
    """Write the item that stops all heals."""
    ledger.write(STOP_ID, stoppedAt=TIME, by="arn:aws:iam::123456789012:user/ann", reason="INC-1234")


def start(ledger: LedgerTable) -> None:
    """Delete the item that stops all heals."""
    ledger.dynamodb.delete_item(TableName=LEDGER, Key={"id": {"S": STOP_ID}})


def heal_that_is_stopped_before(deployment: Deployment, subnet_id: str, action: str) -> Run:
    """Stop all heals right before a step of this heal asks the function, and return the run with the changes after it."""

    def plan(event: dict[str, Any]) -> dict[str, Any]:
        if event["action"] == action:
            stop(deployment.ledger)
            deployment.sandbox.calls.clear()
        return deployment.plan(event)

    deployment.automation.functions.register(FUNCTION, plan)
    run = deployment.heal(subnet_id)
    deployment.automation.functions.register(FUNCTION, deployment.plan)
    return run


@pytest.mark.parametrize(
    ("action", "leaves_endpoint"),
    [("plan", False), ("turn", False), ("confirm", False), ("elected", False), ("target", True)],
)
def test_no_change_starts_after_the_stop(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable, action: str, *, leaves_endpoint: bool
) -> None:
    """Whichever check comes next, the run ends without a failure. After a start, the next heal finishes the work."""
    run = heal_that_is_stopped_before(deployment, vpc.subnet, action)
    assert (status(run), steps(run)[-1]) == ("Success", "stopped"), run.get("FailureMessage")
    assert deployment.changes() == []
    assert list(deployment.associations(vpc.id).values()) == ([[]] if leaves_endpoint else [])
    start(ledger)
    again = deployment.heal(vpc.subnet)
    assert status(again) == "Success", again.get("FailureMessage")
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]


def test_the_run_says_who_stopped_it(deployment: Deployment, vpc: Vpc, ledger: LedgerTable) -> None:
    """The summary of the plan has the time, the person, and the reason. A dry run still shows the plan."""
    stop(ledger)
    run = deployment.heal(vpc.subnet)
    [summary] = run["Outputs"]["plan.Summary"]
    assert summary.startswith(f"STOPPED: arn:aws:iam::123456789012:user/ann stopped all heals at {TIME}: INC-1234")
    [plan] = deployment.heal(vpc.subnet, DryRun="true")["Outputs"]["plan.Details"]
    assert json.loads(plan)["action"] == "CREATE_AND_ASSOCIATE"


def test_nobody_is_asked_to_approve(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In mode APPROVAL, the runbook ends without a message to the approvers."""
    approval = Approval(deployment, monkeypatch.setenv)
    stop(ledger)
    run = approval.run(vpc.subnet)
    assert (status(run), steps(run)[-1]) == ("Success", "stopped"), run.get("FailureMessage")
    assert approval.messages() == []
    assert ledger.item(f"TABLE#{vpc.table}") == {}


def test_undo_works_while_heals_are_stopped(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable
) -> None:
    """The route table and the endpoint are as they were before the heal."""
    run_id = ledger.heal(builder, vpc.id, vpc.table)
    stop(ledger)
    undone = deployment.undo(run_id)
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert deployment.endpoints(vpc.id) == []
