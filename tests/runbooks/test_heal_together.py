"""Concurrent heals, heals that somebody interferes with, and heals after undos."""

import time
from collections.abc import Callable

import pytest

from sandbox.server import Sandbox
from tests.support.heals import Deployment, Vpc, status, step, steps
from tests.support.ledgers import LedgerTable, heal_id
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.fixture
def patient(deployment: Deployment) -> Deployment:
    """Return a deployment in which waiting runs look only once a second, to save CPU time."""
    deployment.automation.knobs.time_scale = 0.1
    return deployment


@pytest.mark.timeout(900)
def test_fifty_subnets_are_healed_by_fifty_runs_at_once(
    patient: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """All fifty concurrent runs succeed with one endpoint and one heal for each of five route tables."""
    deployment = patient
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


def test_config_does_not_heal_what_was_undone_until_a_person_does(deployment: Deployment, vpc: Vpc) -> None:
    """The state UNDONE blocks AWS Config's heals, even after a manual heal that failed."""
    deployment.undo(deployment.heal(vpc.subnet)["AutomationExecutionId"])
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet, StartedBy="CONFIG")
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "UNDONE" in run["FailureMessage"]
    deployment.sandbox.faults.deny("ec2", "CreateVpcEndpoint", times=1)
    assert status(deployment.heal(vpc.subnet)) == "Failed"
    assert status(deployment.heal(vpc.subnet, StartedBy="CONFIG")) == "Failed"
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert status(deployment.heal(vpc.subnet, StartedBy="CONFIG")) == "Success"


def test_payload_of_the_function_can_be_an_object(deployment: Deployment, vpc: Vpc) -> None:
    """AWS does not document the type of the output Payload, so no step depends on it. It is text in other tests."""
    assert not deployment.automation.knobs.payload_as_object
    deployment.automation.knobs.payload_as_object = True
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")


def test_run_waits_for_the_one_that_claimed_the_table(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable
) -> None:
    """A run waits for the run that holds the claim and succeeds once the table is healed."""
    vpc.subnets.append(builder.subnet(vpc.id, vpc.table))
    second: list[str] = []
    deployment.sandbox.faults.before(
        "ec2", "CreateVpcEndpoint", lambda: second.append(deployment.start(vpc.subnets[1]))
    )
    deployment.sandbox.faults.before(
        "ec2",
        "ModifyVpcEndpoint",
        lambda: wait_until(lambda: deployment.sandbox.calls.of("ssm", "GetAutomationExecution")),
    )
    assert status(deployment.heal(vpc.subnet)) == "Success"
    run = deployment.automation.wait(second[0])
    assert (status(run), steps(run)[-2:]) == ("Success", ["decideChange", "done"])
    assert len(ledger.items("RUN#")) == 1


def test_run_that_loses_the_claim_looks_again(deployment: Deployment, vpc: Vpc, ledger: LedgerTable) -> None:
    """Three runs claim the table right before this one does, and end: it does not fail, and heals."""
    numbers = iter(range(100, 103))

    def claim() -> None:
        expires = int(time.time()) + 3600
        where = {"subnetId": vpc.subnet, "vpcId": vpc.id, "expiresAt": expires}
        ledger.write(f"TABLE#{vpc.table}", state="CLAIMED", runId=heal_id(next(numbers)), **where)

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", claim, times=3)
    run = deployment.heal(vpc.subnet)
    assert (status(run), step(run, "seeTurn")["ParentStepDetails"]["Iteration"]) == ("Success", 4)


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until a condition is true, for at most one minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_claim_of_a_run_that_does_not_end_is_respected_until_it_expires(
    deployment: Deployment, vpc: Vpc, ledger: LedgerTable
) -> None:
    """The second run fails after 100 looks and names the owner of the claim; after the claim expires, a run heals the table."""
    with deployment.automation.killing(before="create", status="InProgress"):
        first = deployment.start(vpc.subnet)
        wait_until(lambda: ledger.item(f"TABLE#{vpc.table}"))
        run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert f"step confirmPlan failed: ClaimHeldError: timed out: run {first} is still changing" in run["FailureMessage"]
    assert step(run, "seeTurn")["ParentStepDetails"]["Iteration"] == 100
    ledger.write(f"TABLE#{vpc.table}", expiresAt=1)
    assert status(deployment.heal(vpc.subnet)) == "Success"


def take_away(deployment: Deployment, vpc: Vpc) -> None:
    """Remove the association as another tool would."""
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint["VpcEndpointId"], RemoveRouteTableIds=[vpc.table])


def test_reverted_heal_is_not_repeated_for_a_day_or_until_an_undo(deployment: Deployment, vpc: Vpc) -> None:
    """After somebody removes the association, a second heal is blocked and makes no change.

    The blocker's fix works: after an undo, a person can heal the table again.
    """
    healed = deployment.heal(vpc.subnet)
    assert status(healed) == "Success"
    take_away(deployment, vpc)
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]
    assert status(deployment.undo(healed["AutomationExecutionId"])) == "Success"
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]


def test_heal_is_not_repeated_after_its_endpoint_was_deleted(deployment: Deployment, vpc: Vpc) -> None:
    """A deleted endpoint blocks the next heal just as a removed association does."""
    deployment.heal(vpc.subnet)
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint["VpcEndpointId"]])
    deployment.ec2.describe_vpc_endpoints()
    deployment.ec2.describe_vpc_endpoints()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.endpoints(vpc.id)) == ("Failed", [])
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]


def test_endpoint_that_another_tool_makes_meanwhile_is_used(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """If another tool creates and associates an endpoint after the plan, the run only verifies it."""
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert "associate" not in steps(run)


def test_route_that_already_exists_leads_to_verify(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """If another tool associates its endpoint just before the change, RouteAlreadyExists is not a failure."""
    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)
    assert "RouteAlreadyExists" in step(run, "associate")["FailureMessage"]
    assert (status(run), step(run, "associate")["StepStatus"]) == ("Success", "Failed")
    assert sorted(map(len, deployment.associations(vpc.id).values())) == [0, 1]


def test_association_that_fails_for_another_reason_fails_the_run(deployment: Deployment, vpc: Vpc) -> None:
    """If the change is denied, the run fails with the error of the step and of the verification."""
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "UnauthorizedOperation" in step(run, "associate")["FailureMessage"]
    assert "NotCuredError" in run["FailureMessage"]


def test_two_vpcs_at_once_get_an_endpoint_each(patient: Deployment, builder: Builder, sandbox: Sandbox) -> None:
    """Client tokens of different VPCs do not collide."""
    deployment = patient
    both = [Vpc(builder, tables=2) for _ in range(2)]
    runs = [
        deployment.start(subnet_id) for pair in zip(*(vpc.subnets for vpc in both), strict=True) for subnet_id in pair
    ]
    assert {status(deployment.automation.wait(run_id, 120)) for run_id in runs} == {"Success"}
    for vpc in both:
        assert list(deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]
    assert all(call.error is None for call in sandbox.calls.of("ec2", "CreateVpcEndpoint"))
