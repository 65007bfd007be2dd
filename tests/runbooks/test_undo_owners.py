"""An undo leaves alone what somebody's infrastructure code has taken over since the heal."""

import json
from collections.abc import Callable

import pytest

from tests.support.heals import Deployment, Vpc, status, steps
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

STACK_ID = "aws:cloudformation:stack-id"
Change = Callable[[], object]


@pytest.fixture
def healed(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the id of a heal's run and the endpoint that it created. OwnerTags is by=terraform."""
    monkeypatch.setenv("OWNER_TAGS", "by=terraform")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    [endpoint] = deployment.associations(vpc.id)
    return str(run["AutomationExecutionId"]), endpoint


def takeovers(builder: Builder, vpc: Vpc, endpoint: str) -> dict[str, Change]:
    """Return what somebody may do to the endpoint or the route table, by what the undo then says."""
    policy = json.dumps({"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}]})
    return {
        f"{endpoint} has the tag by=terraform": lambda: builder.tag(endpoint, "by", "terraform"),
        f"{vpc.table} has the tag by=terraform": lambda: builder.tag(vpc.table, "by", "terraform"),
        f"{endpoint} has the tag {STACK_ID}=arn": lambda: builder.memory.create_tags([endpoint], {STACK_ID: "arn"}),
        f"{vpc.table} has the tag {STACK_ID}=arn": lambda: builder.memory.create_tags([vpc.table], {STACK_ID: "arn"}),
        f"somebody replaced the policy of {endpoint}": lambda: builder.ec2.modify_vpc_endpoint(
            VpcEndpointId=endpoint, PolicyDocument=policy
        ),
    }


def described(deployment: Deployment, vpc: Vpc) -> str:
    """Return everything that EC2 describes of a VPC's route tables and endpoints."""
    return json.dumps([deployment.tables(vpc.id), deployment.endpoints(vpc.id)], default=str)


@pytest.mark.parametrize("index", range(5))
def test_undo_of_what_somebody_took_over_is_blocked(
    deployment: Deployment, builder: Builder, vpc: Vpc, healed: tuple[str, str], index: int
) -> None:
    """The run names what was found and what to do, and changes nothing, however late somebody takes over."""
    run_id, endpoint = healed
    [found, take_over] = list(takeovers(builder, vpc, endpoint).items())[index]
    claims: list[str] = []

    def when_recorded() -> None:
        """Take over right before the undo records that it starts, which is after its plan and its claim."""
        claims.append("")
        if len(claims) == 2:
            take_over()

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", when_recorded, times=2)
    undone = deployment.undo(run_id)
    now = described(deployment, vpc)
    assert (status(undone), "disassociate" in steps(undone)) == ("Failed", False)
    blocked = f"step checkClaim failed: UndoBlockedError: BLOCKED: run {run_id} cannot be undone: {found}"
    assert blocked in undone["FailureMessage"]
    again = deployment.undo(run_id)
    assert (status(again), found in again["FailureMessage"], "claim" in steps(again)) == ("Failed", True, False)
    assert (deployment.associations(vpc.id), described(deployment, vpc)) == ({endpoint: [vpc.table]}, now)


def test_endpoint_that_somebody_takes_over_before_its_deletion_stays(
    deployment: Deployment, builder: Builder, vpc: Vpc, healed: tuple[str, str]
) -> None:
    """The association is already removed when Terraform adopts the endpoint, so only the endpoint stays."""
    run_id, endpoint = healed
    updates = iter(range(100))

    def take_over() -> None:
        if next(updates) == 3:  # the association is gone, and the deletion is next
            builder.tag(endpoint, "by", "terraform")

    deployment.sandbox.faults.before("dynamodb", "UpdateItem", take_over, times=4)
    undone = deployment.undo(run_id)
    assert (status(undone), "deleteEndpoint" in steps(undone)) == ("Success", False), undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_endpoint_whose_policy_changed_between_two_heals_stays(deployment: Deployment, builder: Builder) -> None:
    """A later heal saw the new policy, so its undo removes its association. The endpoint is no longer the heals' own."""
    vpc = Vpc(builder, tables=2)
    assert status(deployment.heal(vpc.subnets[0])) == "Success"
    [endpoint] = deployment.associations(vpc.id)
    statement = {"Sid": "Ours", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, PolicyDocument=json.dumps({"Statement": [statement]}))
    builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, RemoveRouteTableIds=[vpc.tables[0]])
    later = deployment.heal(vpc.subnets[1])
    assert status(later) == "Success", later.get("FailureMessage")
    undone = deployment.undo(later["AutomationExecutionId"])
    assert (status(undone), "deleteEndpoint" in steps(undone)) == ("Success", False), undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_owner_of_before_the_heal_does_not_block(
    deployment: Deployment, builder: Builder, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A route table of CloudFormation is healed, and the heal can be undone."""
    monkeypatch.setenv("OWNER_TAGS", "by=terraform")
    builder.memory.create_tags([vpc.table], {STACK_ID: "arn"})
    run = deployment.heal(vpc.subnet)
    assert status(deployment.undo(run["AutomationExecutionId"])) == "Success"
    assert deployment.endpoints(vpc.id) == []


def test_undo_needs_only_the_settings_about_owners(
    deployment: Deployment, builder: Builder, vpc: Vpc, healed: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another setting may be invalid. With AdoptIacOwned, owners do not block, and an owned endpoint is not deleted."""
    run_id, endpoint = healed
    builder.tag(endpoint, "by", "terraform")
    monkeypatch.setenv("WARN_ONLY", "nonsense")
    monkeypatch.setenv("ADOPT_IAC_OWNED", "true")
    undone = deployment.undo(run_id)
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {endpoint: []}
