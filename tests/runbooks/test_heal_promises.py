"""Heals do not fight other tools, their outputs say how to undo them, and an approval skips no check."""

import pytest

from tests.runbooks.test_heal_together import take_away
from tests.support.heals import Deployment, Vpc, status
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder


def test_interrupted_heal_is_not_repeated_after_others_revert_it(deployment: Deployment, vpc: Vpc) -> None:
    """If somebody removes the association of a heal that two runs made, the next run is blocked."""
    with deployment.automation.killing(during="associate"):
        deployment.heal(vpc.subnet)
    deployment.heal(vpc.subnet)
    take_away(deployment, vpc)
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]


def test_dry_run_while_the_calendar_is_closed_outputs_its_plan(
    deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outputs have the plan with its blocker, as in every dry run."""
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "changes")
    deployment.automation.knobs.closed_calendars.add("changes")
    run = deployment.heal(vpc.subnet, DryRun="true")
    assert any("CHANGE_CALENDAR_CLOSED" in text for texts in run["Outputs"].values() for text in texts)


def test_outputs_say_how_to_undo(deployment: Deployment, vpc: Vpc) -> None:
    """The outputs name the undo runbook and the id of the run."""
    run = deployment.heal(vpc.subnet)
    outputs = " ".join(text for texts in run["Outputs"].values() for text in texts)
    assert "RemoveS3ExpressGatewayEndpoint" in outputs
    assert run["AutomationExecutionId"] in outputs


def test_heal_that_is_blocked_since_it_was_approved_changes_nothing(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A blocker that appears after the approval still blocks the heal, and the approval remains valid."""
    monkeypatch.setenv("REMEDIATION_MODE", "APPROVAL")
    endpoint = builder.endpoint(vpc.id)
    deployment.approve(vpc.subnet, vpc.table)
    builder.tag(endpoint, "aws:cloudformation:stack-name", "network")
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()[2:]) == ("Failed", [])
    assert "OWNED_BY_IAC" in run["FailureMessage"]
    builder.ec2.delete_tags(Resources=[endpoint], Tags=[{"Key": "aws:cloudformation:stack-name"}])
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert ledger.item(f"TABLE#{vpc.table}")["approvalState"] == "USED"
