"""Heals that run at the same time, are interrupted, fail, or get late answers. The fault matrix has every step."""

import time
from collections.abc import Callable

import pytest

from sandbox.ssm.knobs import Trouble
from tests.support.heals import HEAL, Deployment, Run, Vpc, status, step, steps
from tests.support.ledgers import LedgerTable, heal_id
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

UPDATE = "UpdateItem"
CHANGES = {
    "claim": [UPDATE],
    "elect": [UPDATE],
    "recordCreation": [UPDATE],
    "create": ["CreateVpcEndpoint"],
    "recordCreated": [UPDATE],
    "recordIntent": [UPDATE, UPDATE],
    "associate": ["ModifyVpcEndpoint"],
    "recordAssociated": [UPDATE],
    "verify": [UPDATE, UPDATE],
}
"""The steps that change something, with their calls. What a killed run leaves behind depends only on these."""


def run_id_of(run: Run) -> str:
    """Return the id of a run."""
    return str(run["AutomationExecutionId"])


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until a condition is true, for at most one minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- several runs at once --------------------------------------------------------------------------------------------


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
    """The second run fails after 100 looks and names the owner of the claim; after the claim expires, a run heals the table."""
    with deployment.automation.killing(before="create", status="InProgress"):
        first = deployment.start(vpc.subnet)
        wait_until(lambda: ledger.item(f"TABLE#{vpc.table}"))
        run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert f"step confirmPlan failed: ClaimHeldError: waited in vain: run {first} is changing" in run["FailureMessage"]
    assert step(run, "seeTurn")["ParentStepDetails"]["Iteration"] == 100
    ledger.write(f"TABLE#{vpc.table}", expiresAt=1)
    assert status(deployment.heal(vpc.subnet)) == "Success"


# --- interruptions, failures, and late answers ------------------------------------------------------------------------


def outcome(deployment: Deployment, vpc: Vpc) -> dict[str, object]:
    """Return what a heal leaves behind, without the ids that differ between runs."""
    [(endpoint, tables)] = deployment.associations(vpc.id).items()
    [described] = deployment.endpoints(vpc.id)
    table, record = (deployment.ledger.item(key) for key in (f"TABLE#{vpc.table}", f"VPC#{vpc.id}"))
    run = deployment.ledger.item(f"RUN#{table['healRunId']}")
    return {
        "network": (tables == [vpc.table], described["Tags"]),
        "table": (table["state"], table["endpointId"] == endpoint),
        "vpc": (record["generation"], record["createdIds"] == [endpoint], "deletedIds" in record),
        "run": (run["kind"], run["endpointId"] == endpoint, "associatedAt" in run),
    }


HEALED: dict[str, object] = {
    "network": (True, [{"Key": "express-path:managed", "Value": "true"}]),
    "table": ("HEALED", True),
    "vpc": ("1", True, False),
    "run": ("HEAL", True, True),
}
"""The outcome of an undisturbed heal."""
UNCONFIRMED: dict[str, object] = HEALED | {"run": ("HEAL", True, False)}
"""The outcome if the run that associated the table was killed before it could confirm that."""


def test_undisturbed_heal_changes_what_the_others_are_killed_at(deployment: Deployment, vpc: Vpc) -> None:
    """The test below kills a run at every change of a normal run."""
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert [name for name in steps(run) if name in CHANGES] == list(CHANGES)
    calls = deployment.sandbox.calls.mutating()
    changed = [call.operation for call in calls if call.service in ("ec2", "dynamodb")]
    assert changed == [operation for operations in CHANGES.values() for operation in operations]
    assert outcome(deployment, vpc) == HEALED


@pytest.mark.parametrize("name", CHANGES)
def test_next_run_finishes_the_work_of_a_killed_run(deployment: Deployment, vpc: Vpc, name: str) -> None:
    """After a run is killed at any of its changes, the next run succeeds at once."""
    with deployment.automation.killing(during=name):
        killed = deployment.heal(vpc.subnet)
    assert status(killed) == "Cancelled"
    if name == "associate":
        with deployment.automation.killing(before="plan"):  # a run that finishes the work can be killed, too
            assert status(deployment.heal(vpc.subnet)) == "Cancelled"
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert outcome(deployment, vpc) == (UNCONFIRMED if name == "associate" else HEALED)
    if name == "associate":
        undone = deployment.undo(run_id_of(killed))
        assert (status(undone), "BLOCKED" in undone["FailureMessage"]) == ("Failed", True)


def test_failed_heal_names_the_error_of_aws_and_releases_its_claim(deployment: Deployment, vpc: Vpc) -> None:
    """The verification fails too, but the message also has the cause. The next run succeeds without waiting."""
    deployment.sandbox.faults.fail("ec2", "ModifyVpcEndpoint", "RouteLimitExceeded", 400, times=1)
    run = deployment.heal(vpc.subnet)
    assert (status(run), steps(run)[-1]) == ("Failed", "fail")
    for text in (
        "step verifyPath failed: NotCuredError",
        "step associate failed: ",
        "RouteLimitExceeded",
        "L-93826ACB",
    ):
        assert text in run["FailureMessage"]
    assert deployment.ledger.item(f"TABLE#{vpc.table}")["state"] == "FAILED"
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert outcome(deployment, vpc) == HEALED


def test_heal_goes_on_if_the_record_of_its_intention_is_written_twice(deployment: Deployment, vpc: Vpc) -> None:
    """Automation repeats the write if the answer is lost; the condition does not fail on the run's own item."""
    for name in ("recordCreation", "recordIntent", "recordAssociated"):
        with deployment.automation.disturbing(HEAL, name, Trouble.TWICE) as disturbance:
            run = deployment.heal(vpc.subnet)
        assert (status(run), disturbance.met) == ("Success", True), run.get("FailureMessage")
        undone = deployment.undo(run_id_of(run))
        assert status(undone) == "Success", undone.get("FailureMessage")


def test_one_stale_response_of_any_read_changes_nothing(deployment: Deployment, builder: Builder) -> None:
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
        assert outcome(deployment, vpc) == HEALED, (operation, nth)


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
