"""express-path undo: shows the changes, prompts, then runs."""

from itertools import count

import pytest

from sandbox.server import Sandbox
from tests.cli.heal.healing_stack import LOOK, invoke_at_terminal, reported_run_id
from tests.support.command import invoke
from tests.support.heals import Deployment, Vpc, status
from tests.support.network import Builder

pytestmark = pytest.mark.slow


@pytest.fixture
def healed(deployment: Deployment, builder: Builder, vpc: Vpc) -> str:
    """Return the id of a heal's run in the ledger."""
    return deployment.ledger.heal(builder, vpc.id, vpc.table)


def endpoint_of(deployment: Deployment, vpc: Vpc) -> str:
    """Return the endpoint of a VPC."""
    [endpoint] = deployment.endpoints(vpc.id)
    return str(endpoint["VpcEndpointId"])


def test_it_shows_the_changes_and_makes_them(deployment: Deployment, vpc: Vpc, healed: str) -> None:
    """The table, endpoint, and new paths are printed before any change, and the changes after."""
    endpoint = endpoint_of(deployment, vpc)
    result = invoke(["undo", healed, "--yes"])
    assert result.exit_code == 0, result.stderr
    planned, _, done = result.stdout.partition("undo: ")
    for line in (
        f"  {vpc.table} will no longer use {endpoint}",
        f"  {endpoint} will be deleted: a heal created it, and no other route table uses it",
        f"  {vpc.subnet} will use {vpc.nat} (NAT_GATEWAY)",
    ):
        assert line in planned.splitlines()
    assert done.splitlines()[-2:] == [
        f"undone: {vpc.table} no longer uses {endpoint}",
        f"deleted: {endpoint}",
    ]
    assert deployment.endpoints(vpc.id) == []


def test_an_endpoint_that_stays_is_named(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """An endpoint that is not deleted is named with the reason."""
    theirs = builder.endpoint(vpc.id)
    result = invoke(["undo", deployment.ledger.heal(builder, vpc.id, vpc.table, endpoint_id=theirs), "--yes"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"kept: {theirs} stays: no heal created it"


def test_it_asks_after_the_plan(deployment: Deployment, vpc: Vpc, healed: str) -> None:
    """At a terminal, every answer but yes changes nothing."""
    result = invoke_at_terminal(["undo", healed], "\n")
    assert result.returncode == 1, result.stderr
    shown, question, _ = result.stdout.partition("Undo it now?")
    assert question
    assert f"{vpc.subnet} will use {vpc.nat}" in shown
    assert len(deployment.endpoints(vpc.id)) == 1


def test_without_a_terminal_it_shows_the_changes_and_makes_none(deployment: Deployment, vpc: Vpc, healed: str) -> None:
    """In a pipe, --yes is required."""
    result = invoke(["undo", healed])
    assert result.exit_code == 2
    assert f"{vpc.table} will no longer use" in result.stdout
    assert "--yes" in result.stderr
    assert len(deployment.endpoints(vpc.id)) == 1


@pytest.mark.usefixtures("deployment")
def test_an_unknown_run_is_refused_in_one_line() -> None:
    """One line says what was found and which command lists heals."""
    result = invoke(["undo", "00000000-0000-0000-0000-000000000000", "--yes"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert (
        "step makePlan failed: UndoError: run 00000000-0000-0000-0000-000000000000 cannot be undone: the ledger has"
        in line
    )
    assert "express-path heals" in line


def test_an_undo_that_cannot_be_followed_continues(
    sandbox: Sandbox, deployment: Deployment, vpc: Vpc, healed: str
) -> None:
    """The output has the run's id and how to follow it."""
    starts = count(1)
    sandbox.faults.before(
        "ssm", "StartAutomationExecution", lambda: sandbox.faults.deny(*LOOK) if next(starts) == 2 else None, times=2
    )
    lost = invoke(["undo", healed, "--yes"])
    run_id = reported_run_id(lost.stdout, "undo")
    assert (lost.exit_code, len(lost.stderr.splitlines())) == (2, 1)
    sandbox.faults.clear()
    assert status(deployment.automation.wait(run_id)) == "Success"
    assert deployment.endpoints(vpc.id) == []
