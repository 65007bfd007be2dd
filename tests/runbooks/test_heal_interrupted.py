"""Heals that are killed, and heals that EC2 tells old news: the end is that of an undisturbed heal."""

from typing import Any

import pytest
import yaml

from tests.support.heals import HEAL, RUNBOOKS, Deployment, Vpc, status, steps
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

DOCUMENT: dict[str, Any] = yaml.safe_load((RUNBOOKS / f"{HEAL}.yaml").read_text(encoding="utf-8"))
ACTIONS = {step["name"]: step["action"] for step in DOCUMENT["mainSteps"]}
SELDOM = {
    *("awaitTurn", "turn", "decideAgain", "claimAgain"),
    *("awaitTurnAgain", "turnAgain", "decideLast", "claimLast"),
    *("useApproval", "finishRun", "finishTable", "recordFailed", "done"),
}
"""The steps that an ordinary heal does not take."""
ORDINARY = [name for name in ACTIONS if name not in SELDOM]
CHANGES = [name for name in ORDINARY if ACTIONS[name] == "aws:executeAwsApi"]
ASKING = [name for name in ORDINARY if ACTIONS[name] == "aws:invokeLambdaFunction"]
"""The steps after which there is something new; scripts and branches only read what the step before them answered."""


def outcome(deployment: Deployment, ledger: LedgerTable, vpc: Vpc) -> dict[str, object]:
    """What a heal leaves, without the ids that differ from run to run."""
    [(endpoint, tables)] = deployment.associations(vpc.id).items()
    [described] = deployment.endpoints(vpc.id)
    table, record = ledger.item(f"TABLE#{vpc.table}"), ledger.item(f"VPC#{vpc.id}")
    run = ledger.item(f"RUN#{table['healRunId']}")
    return {
        "associated": tables == [vpc.table],
        "tags": described["Tags"],
        "state": (table["state"], table["endpointId"] == endpoint),
        "created": (record["generation"], record["createdIds"] == [endpoint], "deletedIds" in record),
        "history": (run["kind"], run["endpointId"] == endpoint, {"associatedAt", "finishedAt"} <= run.keys()),
    }


HEALED = {
    "associated": True,
    "tags": [{"Key": "express-path:managed", "Value": "true"}],
    "state": ("HEALED", True),
    "created": ("1", True, False),
    "history": ("HEAL", True, True),
}
"""The outcome of an undisturbed heal."""


def test_undisturbed_heal_takes_the_steps_at_which_the_others_are_killed(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable
) -> None:
    """The parameters of the tests below leave no step of an ordinary run out, save scripts and branches."""
    assert steps(deployment.heal(vpc.subnet)) == ORDINARY
    others = {ACTIONS[name] for name in ORDINARY} - {ACTIONS[name] for name in [*ASKING, *CHANGES]}
    assert others == {"aws:executeScript", "aws:branch"}
    assert outcome(deployment, ledger, vpc) == HEALED


@pytest.mark.parametrize(
    ("when", "name"), [*(("before", name) for name in [*ASKING, *CHANGES]), *(("during", name) for name in CHANGES)]
)
def test_next_run_finishes_the_work_of_one_that_was_killed(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable, when: str, name: str
) -> None:
    """At whatever step a run dies, the next one needs no patience and no help."""
    with deployment.automation.killing(**{when: name}):
        assert status(deployment.heal(vpc.subnet)) == "Cancelled"
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert outcome(deployment, ledger, vpc) == HEALED


@pytest.mark.parametrize(
    ("when", "name"), [("before", "finishRun"), ("during", "finishRun"), ("during", "finishTable")]
)
def test_run_that_finishes_anothers_work_may_be_killed_too(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable, when: str, name: str
) -> None:
    """The third run ends what the first two began."""
    with deployment.automation.killing(during="associate"):
        deployment.heal(vpc.subnet)
    with deployment.automation.killing(**{when: name}):
        assert status(deployment.heal(vpc.subnet)) == "Cancelled"
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert outcome(deployment, ledger, vpc) == HEALED


def test_failed_heal_gives_up_its_claim(deployment: Deployment, vpc: Vpc, ledger: LedgerTable) -> None:
    """The next run need not wait, and nothing was changed."""
    deployment.sandbox.faults.deny("ec2", "CreateVpcEndpoint", times=1)
    run = deployment.heal(vpc.subnet)
    assert (status(run), ledger.item(f"TABLE#{vpc.table}")["state"]) == ("Failed", "FAILED")
    assert "UnauthorizedOperation" in run["FailureMessage"]
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert outcome(deployment, ledger, vpc) == HEALED


def test_one_stale_answer_of_any_read_changes_nothing(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """Each read of a heal that a missed change could deceive is deceived once."""
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


def test_one_stale_answer_after_an_undo_changes_nothing(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """A heal right after an undo: a read that still shows the endpoint, or its route, deceives nobody."""
    vpc = Vpc(builder)
    healed = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    with deployment.sandbox.observed_reads() as observed:
        deployment.undo(healed)
        before = len(observed.reads)
        healed = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    deceived = [(read.operation, read.nth) for read in observed.reads[before:] if read.differs]
    assert len(deceived) > 3
    for operation, nth in deceived:
        with deployment.sandbox.stale_reads(operation, nth) as observation:
            deployment.undo(healed)
            run = deployment.heal(vpc.subnet)
        healed = run["AutomationExecutionId"]
        assert status(run) == "Success", (operation, nth, run.get("FailureMessage"))
        assert len(observation.given) == 1
        assert list(deployment.associations(vpc.id).values()) == [[vpc.table]], (operation, nth)
        assert ledger.item(f"TABLE#{vpc.table}")["state"] == "HEALED"
