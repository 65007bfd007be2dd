"""Heals that are killed, or that read stale data from EC2, end with the same result as an undisturbed heal."""

import pytest

from tests.support.heals import HEAL, Deployment, Vpc, all_steps, status, steps
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

STEPS = all_steps(HEAL)
UPDATE = ("dynamodb", "UpdateItem")
CALLS = {
    **{name: [UPDATE] for name in ("claim", "elect", "recordCreation", "recordAssociated")},
    **{name: [UPDATE, UPDATE] for name in ("recordIntent", "verify")},
} | {
    name: [(step["inputs"]["Service"], step["inputs"]["Api"])]
    for name, step in STEPS.items()
    if step["action"] == "aws:executeAwsApi"
}
RARE = {
    *("recordFailed", "fail", "stopped"),
}
"""The steps that a normal heal does not take."""
NORMAL = [name for name in STEPS if name not in RARE]
CHANGES = [name for name in NORMAL if name in CALLS]
"""The steps that change something: what a killed run leaves behind depends only on which of them it took."""


def outcome(deployment: Deployment, ledger: LedgerTable, vpc: Vpc) -> dict[str, object]:
    """Return what a heal leaves behind, without the ids that differ between runs."""
    [(endpoint, tables)] = deployment.associations(vpc.id).items()
    [described] = deployment.endpoints(vpc.id)
    table, record = ledger.item(f"TABLE#{vpc.table}"), ledger.item(f"VPC#{vpc.id}")
    run = ledger.item(f"RUN#{table['healRunId']}")
    return {
        "associated": tables == [vpc.table],
        "tags": described["Tags"],
        "state": (table["state"], table["endpointId"] == endpoint),
        "created": (record["generation"], record["createdIds"] == [endpoint], "deletedIds" in record),
        "history": (run["kind"], run["endpointId"] == endpoint, "associatedAt" in run),
    }


HEALED: dict[str, object] = {
    "associated": True,
    "tags": [{"Key": "express-path:managed", "Value": "true"}],
    "state": ("HEALED", True),
    "created": ("1", True, False),
    "history": ("HEAL", True, True),
}
"""The outcome of an undisturbed heal."""
UNCONFIRMED: dict[str, object] = HEALED | {"history": ("HEAL", True, False)}
"""The outcome if the run that associated the table was killed before it could confirm that."""


def test_undisturbed_heal_takes_the_steps_at_which_the_others_are_killed(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable
) -> None:
    """The tests below kill a run after every change of a normal run. Its other steps only read."""
    deployment.sandbox.calls.clear()
    assert steps(deployment.heal(vpc.subnet)) == NORMAL
    assert {STEPS[name]["action"] for name in NORMAL if name not in CHANGES} == {
        *("aws:invokeLambdaFunction", "aws:executeScript", "aws:branch", "aws:sleep", "aws:loop")
    }
    changed = [(call.service, call.operation) for call in deployment.sandbox.calls.mutating()]
    assert [call for call in changed if call[0] not in ("ssm", "lambda")] == [
        call for name in CHANGES for call in CALLS[name]
    ]
    assert outcome(deployment, ledger, vpc) == HEALED


@pytest.mark.parametrize(("when", "name"), [("before", NORMAL[0]), *(("during", name) for name in CHANGES)])
def test_next_run_finishes_the_work_of_a_killed_run(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable, when: str, name: str
) -> None:
    """After a run is killed at any step, the next run succeeds at once.

    A run that is killed between two changes leaves the same behind as one that is killed during the first of them.
    """
    with deployment.automation.killing(**{when: name}):
        assert status(deployment.heal(vpc.subnet)) == "Cancelled"
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert outcome(deployment, ledger, vpc) == (UNCONFIRMED if name == "associate" else HEALED)


@pytest.mark.parametrize("when", ["before", "during"])
def test_run_that_finishes_the_work_of_another_can_be_killed_too(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable, when: str
) -> None:
    """The third run finishes what the first two began."""
    with deployment.automation.killing(during="associate"):
        deployment.heal(vpc.subnet)
    with deployment.automation.killing(**{when: "plan"}):
        assert status(deployment.heal(vpc.subnet)) == "Cancelled"
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert outcome(deployment, ledger, vpc) == UNCONFIRMED


def test_failed_heal_releases_its_claim(deployment: Deployment, vpc: Vpc, ledger: LedgerTable) -> None:
    """The next run succeeds without waiting for the claim to expire."""
    deployment.sandbox.faults.deny("ec2", "CreateVpcEndpoint", times=1)
    run = deployment.heal(vpc.subnet)
    assert (status(run), ledger.item(f"TABLE#{vpc.table}")["state"]) == ("Failed", "FAILED")
    assert "UnauthorizedOperation" in run["FailureMessage"]
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert outcome(deployment, ledger, vpc) == HEALED


def test_one_stale_response_of_any_read_changes_nothing(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """Each read for which stale data would differ is stale once, and the result is the same."""
    with deployment.sandbox.observed_reads() as observed:
        deployment.heal(Vpc(builder).subnet)
    assert len(observed.differing) >= 3
    for operation, nth in observed.differing:
        vpc = Vpc(builder)
        with deployment.sandbox.stale_reads(operation, nth) as observation:
            run = deployment.heal(vpc.subnet)
        assert status(run) == "Success", (operation, nth, run.get("FailureMessage"))
        assert len(observation.given) == 1
        assert outcome(deployment, ledger, vpc) == HEALED, (operation, nth)


def test_one_stale_response_after_an_undo_changes_nothing(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """A heal right after an undo succeeds even if a read still shows the deleted endpoint or its route."""
    vpc = Vpc(builder)
    healed = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    with deployment.sandbox.observed_reads() as observed:
        deployment.undo(healed)
        before = len(observed.reads)
        healed = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    stale_reads = [(read.operation, read.nth) for read in observed.reads[before:] if read.differs]
    assert len(stale_reads) > 3
    for operation, nth in stale_reads:
        with deployment.sandbox.stale_reads(operation, nth) as observation:
            deployment.undo(healed)
            run = deployment.heal(vpc.subnet)
        healed = run["AutomationExecutionId"]
        assert status(run) == "Success", (operation, nth, run.get("FailureMessage"))
        assert len(observation.given) == 1
        assert list(deployment.associations(vpc.id).values()) == [[vpc.table]], (operation, nth)
        assert ledger.item(f"TABLE#{vpc.table}")["state"] == "HEALED"
