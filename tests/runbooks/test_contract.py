"""A run whose runbook has another version of the contract than the plan function fails clearly and changes nothing."""

import copy
import json
from typing import Any

import pytest

from express_path.adapters import heal_steps
from express_path.adapters.heal_steps import CONTRACT
from tests.runbooks.fault_matrix import Bench
from tests.support.heals import APPROVED, HEAL, UNDO, Deployment, Run, Vpc, runbook, status
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

OLD = "Old"
"""The name of a document of an earlier version."""


def publish_earlier(deployment: Deployment, name: str, version: str | None) -> None:
    """Create a document as the runbook of another version has it; None: from before there were versions."""
    document: dict[str, Any] = copy.deepcopy(runbook(name))
    outer = document["mainSteps"]
    for step in [*outer, *(inner for loop in outer for inner in loop["inputs"].get("Steps", []))]:
        if step["action"] == "aws:invokeLambdaFunction":
            payload = step["inputs"]["InputPayload"]
            payload.pop("contract")
            payload |= {"contract": version} if version else {}
    deployment.ssm.create_document(
        Name=OLD, Content=json.dumps(document), DocumentFormat="JSON", DocumentType="Automation"
    )


def assert_names_versions(run: Run, found: str, expected: str) -> None:
    """Check that a run failed, and that its message has both versions and what to do."""
    assert status(run) == "Failed"
    for text in (f"ContractError: the run's runbook has {found}", f"version '{expected}'", "start the run again"):
        assert text in run["FailureMessage"], run["FailureMessage"]


@pytest.mark.parametrize(("version", "found"), [(None, "no version"), ("0", "version '0'")])
@pytest.mark.parametrize("name", [HEAL, UNDO, APPROVED])
def test_runbook_of_another_version_is_refused(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc, name: str, version: str | None, found: str
) -> None:
    """The first step fails, and the last one, which every version may ask, says why."""
    healed = Vpc(builder)
    given = {"RunId": ledger.heal(builder, healed.id, healed.table)} if name == UNDO else {"SubnetId": vpc.subnet}
    publish_earlier(deployment, name, version)
    deployment.sandbox.calls.clear()
    assert_names_versions(deployment.automation.execute(OLD, given | deployment.given), found, CONTRACT)
    assert deployment.changes() == []


def test_run_that_waits_for_another_run_during_an_update(
    deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run keeps the version with which it started: its next look fails, and nothing is changed."""

    def update(_document: str, step: str) -> None:
        if step == "seeTurn":
            monkeypatch.setattr(heal_steps, "CONTRACT", "next")

    deployment.automation.knobs.before_step = update
    deployment.sandbox.calls.clear()
    assert_names_versions(deployment.heal(vpc.subnet), f"version '{CONTRACT}'", "next")
    assert deployment.changes() == []


def test_run_that_waits_for_approval_during_an_update(
    deployment: Deployment, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An approval that comes after the update heals nothing, and the next run asks again."""
    deployment.publish(APPROVED)
    bench = Bench(deployment, builder, monkeypatch)
    bench.require_approval()

    def update(_document: str, step: str) -> None:
        if step == "seeApproval":
            monkeypatch.setattr(heal_steps, "CONTRACT", "next")

    deployment.automation.knobs.before_step = update
    deployment.sandbox.calls.clear()
    assert_names_versions(bench.ask(), f"version '{CONTRACT}'", "next")
    assert deployment.changes() == []
    deployment.automation.knobs.before_step = None
    monkeypatch.setattr(heal_steps, "CONTRACT", CONTRACT)
    assert status(bench.ask()) == "Success"
