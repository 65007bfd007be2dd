"""express-path undo: shows the changes, asks, runs the real runbook, and says what was undone."""

import pytest

from tests.support.command import invoke
from tests.support.heals import Deployment, Vpc
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def test_it_shows_the_changes_and_makes_them(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """The table, endpoint, and new paths are printed before any change, and the changes after. In a pipe, --yes is needed."""
    healed = deployment.ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = deployment.associations(vpc.id)
    changes = [
        f"  {vpc.table} will no longer use {endpoint}",
        f"  {endpoint} will be deleted: a heal created it, and no other route table uses it",
        f"  {vpc.subnet} will use {vpc.nat} (NAT_GATEWAY)",
    ]
    refused = invoke(["undo", healed])
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert refused.stdout.splitlines()[-3:] == changes
    assert list(deployment.associations(vpc.id)) == [endpoint]
    result = invoke(["undo", healed, "--yes"])
    assert result.exit_code == 0, result.stderr
    planned, _, done = result.stdout.partition("undo: ")
    assert planned.splitlines()[-3:] == changes
    assert done.splitlines()[-2:] == [f"undone: {vpc.table} no longer uses {endpoint}", f"deleted: {endpoint}"]
    assert deployment.endpoints(vpc.id) == []


@pytest.mark.usefixtures("deployment")
def test_an_unknown_run_is_refused_in_one_line() -> None:
    """One line says what was found and which command lists heals."""
    run_id = "00000000-0000-0000-0000-000000000000"
    result = invoke(["undo", run_id, "--yes"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert f"step makePlan failed: UndoError: run {run_id} cannot be undone: the ledger has" in line
    assert "express-path heals" in line


def test_an_endpoint_that_stays_is_named(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """An endpoint that is not deleted is named with the reason."""
    theirs = builder.endpoint(vpc.id)
    result = invoke(["undo", deployment.ledger.heal(builder, vpc.id, vpc.table, endpoint_id=theirs), "--yes"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"kept: {theirs} stays: no heal created it"
