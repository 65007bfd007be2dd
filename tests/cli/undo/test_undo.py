"""express-path undo: shows the changes, asks, runs the real runbook, and says what was undone."""

import pytest

from tests.cli.heal.healing_stack import make_stack
from tests.support.command import invoke
from tests.support.heals import Deployment, Vpc
from tests.support.ledgers import TIME
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def test_it_shows_the_changes_and_makes_them(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """The table, endpoint, and new paths are printed before any change, and the changes after. In a pipe, --yes is needed."""
    healed = deployment.ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = deployment.associations(vpc.id)
    about = f"account 123456789012 us-east-1: {vpc.table}, healed 2026-11-22T12:00 by run {healed}: "
    planned = [
        f"{about}to undo",
        f"  {vpc.table} will no longer use {endpoint}",
        f"  {endpoint} will be deleted: a heal created it, and no other route table uses it",
        f"  {vpc.subnet} will use {vpc.nat} (NAT_GATEWAY)",
    ]
    refused = invoke(["undo", healed])
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert refused.stdout.splitlines() == planned
    builder.tag(vpc.table, "Name", "data-private")
    for named in ("data-private", vpc.table, vpc.id):
        shown = invoke(["undo", named, "--dry-run"])
        assert (shown.exit_code, "1 heal: 1 to undo\n" in shown.stdout) == (0, True), shown.stderr
    assert list(deployment.associations(vpc.id)) == [endpoint]
    result = invoke(["undo", healed, "--yes"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        *planned,
        "after the undo:",
        f"{about}undone",
        f"  {vpc.table} no longer uses {endpoint}",
        f"  deleted: {endpoint}",
        "1 heal: 1 undone",
    ]
    assert deployment.endpoints(vpc.id) == []
    again = invoke(["undo", healed, "--yes"])
    assert (again.exit_code, "1 heal: 1 undone earlier\n" in again.stdout) == (0, True)
    make_stack(deployment.sandbox, deployment, "other")  # with the same ledger: nothing says which of them is right
    result = invoke(["undo", healed, "--yes"])
    assert (result.exit_code, "express-path, other (select one with --stack)" in result.stderr) == (2, True)
    chosen = invoke(["undo", healed, "--yes", "--stack", "other"])
    assert (chosen.exit_code, "1 heal: 1 undone earlier\n" in chosen.stdout) == (0, True)


@pytest.mark.usefixtures("deployment")
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("00000000-0000-0000-0000-000000000000",), "no ledger here has the heal of run 0000"),
        (("data-private",), "no heal of data-private can be undone (express-path heals"),
        ((), "give either runs or --since (express-path heals"),
        (("--since", "yesterday"), "ISO 8601"),
        (("--since", "2999-01-01T00:00+14:00"), "is in the future (use a time in the past: it is 20"),
        (("--since", "2026-11-22", "--account", "111122223333"), "--ou and --account need --organization"),
    ],
)
def test_bad_values_are_one_line(words: tuple[str, ...], hint: str) -> None:
    """The line says what to give instead."""
    result = invoke(["undo", *words])
    [line] = result.stderr.splitlines()
    assert (result.exit_code, hint in line) == (2, True)


def test_an_endpoint_that_stays_is_named(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """An endpoint that is not deleted is named with the reason."""
    theirs = builder.endpoint(vpc.id)
    result = invoke(["undo", deployment.ledger.heal(builder, vpc.id, vpc.table, endpoint_id=theirs), "--yes"])
    assert result.exit_code == 0, result.stderr
    assert f"  kept: {theirs} stays: no heal created it\n" in result.stdout


def test_the_heal_that_created_the_endpoint_is_undone_last(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """So it deletes the endpoint, which no later heal of the VPC uses anymore."""
    deployment.ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = deployment.associations(vpc.id)
    deployment.ledger.heal(builder, vpc.id, builder.table(vpc.id), 2, endpoint)
    shown = invoke(["undo", "--since", "2026-11-22", "--yes"]).stdout
    assert f"{vpc.table} no longer uses {endpoint}\n  deleted: " in shown


def test_what_the_ledger_does_not_confirm_is_not_undone(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """The runbook says what to look for in CloudTrail, and the status is 1. For a run that changed no table, it is not started."""
    healed = deployment.ledger.heal(builder, vpc.id, vpc.table)
    deployment.ledger.write(f"RUN#{healed}", associatedAt=None, createdEndpoint=None)
    result = invoke(["undo", healed, "--yes"])
    assert (result.exit_code, "CloudTrail" in result.stdout) == (1, True)
    deployment.ledger.write(f"RUN#{healed}", intendedAt=None, creationIntendedAt=TIME)
    result = invoke(["undo", healed, "--yes"])
    assert (result.exit_code, "1 without a change of a route table" in result.stdout) == (0, True)
    assert deployment.changes() == []
