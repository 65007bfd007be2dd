"""Heals that run at the same time, wait for each other, or come right after an undo."""

import time
from collections.abc import Callable

import pytest

from tests.support.heals import Deployment, Vpc, run_id_of, status, step, steps
from tests.support.ledgers import LedgerTable, heal_id
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until a condition is true, for at most one minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_fifty_subnets_are_healed_by_fifty_runs_at_once(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """All fifty concurrent runs succeed with one endpoint and one heal for each of five route tables."""
    deployment.automation.knobs.time_scale = 0.1  # waiting runs look only once a second, to save processor time
    vpc = Vpc(builder, tables=5, subnets=10)
    deployment.sandbox.ec2.knobs.pending_describes = 20
    runs = [deployment.start(subnet_id) for subnet_id in vpc.subnets]
    ended = [deployment.automation.wait(run_id, 800) for run_id in runs]
    assert [run.get("FailureMessage") for run in ended if status(run) != "Success"] == []
    [(endpoint, tables)] = deployment.associations(vpc.id).items()
    assert tables == sorted(vpc.tables)
    assert all(call.error is None for call in deployment.sandbox.calls.of("ec2", "CreateVpcEndpoint"))
    assert len(deployment.sandbox.calls.of("ec2", "ModifyVpcEndpoint")) == len(vpc.tables)
    assert ledger.item(f"VPC#{vpc.id}")["createdIds"] == [endpoint]
    assert {item["state"] for item in ledger.items("TABLE#")} == {"HEALED"}
    assert sorted(item["routeTableId"] for item in ledger.items("RUN#")) == sorted(vpc.tables)


def test_run_waits_for_the_one_that_claimed_the_table(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable
) -> None:
    """A run waits for the run that holds the claim and succeeds once the table is healed."""
    neighbor, second = builder.subnet(vpc.id, vpc.table), list[str]()
    faults = deployment.sandbox.faults
    faults.before("ec2", "CreateVpcEndpoint", lambda: second.append(deployment.start(neighbor)))
    looks = deployment.sandbox.calls
    faults.before("ec2", "ModifyVpcEndpoint", lambda: wait_until(lambda: looks.of("ssm", "GetAutomationExecution")))
    assert status(deployment.heal(vpc.subnet)) == "Success"
    run = deployment.automation.wait(second[0])
    assert (status(run), steps(run)[-2:]) == ("Success", ["decideChange", "done"])
    assert len(ledger.items("RUN#")) == 1


def test_run_that_loses_the_claim_looks_again(deployment: Deployment, vpc: Vpc, ledger: LedgerTable) -> None:
    """Three runs claim the table right before this one does, and end: it does not fail, and heals."""
    numbers = iter(range(100, 103))

    def claim() -> None:
        where = {"subnetId": vpc.subnet, "vpcId": vpc.id, "expiresAt": int(time.time()) + 3600}
        ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(next(numbers)), **where)

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", claim, times=3)
    run = deployment.heal(vpc.subnet)
    assert (status(run), step(run, "seeTurn")["ParentStepDetails"]["Iteration"]) == ("Success", 4)


def test_claim_of_a_run_that_does_not_end_is_respected_until_it_expires(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable
) -> None:
    """The second run fails after 100 checks and names the owner of the claim; after the claim expires, a run heals the table."""
    with deployment.automation.killing(before="create", status="InProgress"):
        first = deployment.start(vpc.subnet)
        wait_until(lambda: ledger.item(f"TABLE#{vpc.table}"))
        run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert f"step confirmPlan failed: timed out: run {first} is still changing" in run["FailureMessage"]
    assert step(run, "seeTurn")["ParentStepDetails"]["Iteration"] == 100
    ledger.write(f"TABLE#{vpc.table}", expiresAt=1)
    assert status(deployment.heal(vpc.subnet)) == "Success"


@pytest.mark.long
def test_one_stale_response_after_an_undo_changes_nothing(deployment: Deployment, vpc: Vpc) -> None:
    """A heal right after an undo succeeds even if a read still shows the deleted endpoint or its route."""
    healed = run_id_of(deployment.heal(vpc.subnet))
    with deployment.sandbox.observed_reads() as observed:
        deployment.undo(healed)
        before = len(observed.reads)
        healed = run_id_of(deployment.heal(vpc.subnet))
    stale_reads = [(read.operation, read.nth) for read in observed.reads[before:] if read.differs]
    assert len(stale_reads) > 3
    for operation, nth in stale_reads:
        with deployment.sandbox.stale_reads(operation, nth) as observation:
            deployment.undo(healed)
            run = deployment.heal(vpc.subnet)
        healed = run_id_of(run)
        assert status(run) == "Success", (operation, nth, run.get("FailureMessage"))
        assert len(observation.given) == 1
        assert list(deployment.associations(vpc.id).values()) == [[vpc.table]], (operation, nth)
