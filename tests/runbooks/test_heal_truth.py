"""An undo takes away only what a heal confirmed: its call succeeded, and it read the change back."""

import json
from typing import Any

import pytest

from sandbox.ssm.knobs import Trouble
from tests.support.heals import FUNCTION, HEAL, Deployment, Run, Vpc, status, steps
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def described(deployment: Deployment, vpc: Vpc) -> str:
    """Return everything that EC2 describes of a VPC's route tables and endpoints."""
    return json.dumps([deployment.tables(vpc.id), deployment.endpoints(vpc.id)], default=str)


def check_blocked(deployment: Deployment, vpc: Vpc, run_id: str, event: str = "ModifyVpcEndpoint") -> None:
    """Undo a run: nothing changes, and the message names the CloudTrail event, the resources, and the run."""
    before = described(deployment, vpc)
    undone = deployment.undo(run_id)
    assert (status(undone), described(deployment, vpc)) == ("Failed", before)
    resource = vpc.table if event == "ModifyVpcEndpoint" else vpc.id
    for text in (f"BLOCKED: run {run_id} cannot be undone", "CloudTrail", event, resource, f"contains {run_id}"):
        assert text in undone["FailureMessage"], text


def run_id_of(run: Run) -> str:
    """Return the id of a run."""
    return str(run["AutomationExecutionId"])


@pytest.mark.parametrize("when", ["after the run", "during the call"])
def test_association_that_a_person_made_stays(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable, when: str
) -> None:
    """A team has an endpoint, the heal's call is denied, and a person associates the route table.

    If the person is fast enough, the path is COMPLIANT and the run succeeds. A later run records that the route table
    is healed, and still not that the first one made the change.
    """
    endpoint = builder.endpoint(vpc.id)

    def associate() -> None:
        builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table])

    if when == "during the call":
        deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", associate)
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint", times=1)
    run = deployment.heal(vpc.subnet)
    assert status(run) == ("Failed" if when == "after the run" else "Success")
    check_blocked(deployment, vpc, run_id_of(run))
    if when == "after the run":
        associate()
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert ledger.item(f"TABLE#{vpc.table}")["state"] == "HEALED"
    check_blocked(deployment, vpc, run_id_of(run))
    assert deployment.associations(vpc.id) == {endpoint: [vpc.table]}


@pytest.mark.parametrize("trouble", [Trouble.NO_ANSWER, Trouble.KILLED])
def test_association_without_an_answer_is_never_confirmed(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable, trouble: Trouble
) -> None:
    """The call may have taken effect. The next run records HEALED at the table and nothing at the first run."""
    builder.endpoint(vpc.id)
    with deployment.automation.disturbing(HEAL, "associate", trouble):
        run = deployment.heal(vpc.subnet)
    item = f"RUN#{run_id_of(run)}"
    before = ledger.item(item)
    again = deployment.heal(vpc.subnet)
    assert (status(again), ledger.item(f"TABLE#{vpc.table}")["state"]) == ("Success", "HEALED")
    assert ("intendedAt" in before, "associatedAt" in before, ledger.item(item)) == (True, False, before)
    check_blocked(deployment, vpc, run_id_of(run))


def test_association_that_somebody_made_first_is_not_the_runs_own(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """A late answer does not show a person's association right before the call, which EC2 would accept once more."""
    endpoint = builder.endpoint(vpc.id)
    late = []

    def plan(event: dict[str, Any]) -> dict[str, Any]:
        if event["action"] != "target":
            return deployment.plan(event)
        with deployment.sandbox.stale_reads("ec2:DescribeRouteTables") as observation:
            deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table])
            answer = deployment.plan(event)
        late.extend(observation.given)
        return answer

    deployment.automation.functions.register(FUNCTION, plan)
    run = deployment.heal(vpc.subnet)
    assert (status(run), len(late), "associate" in steps(run)) == ("Success", 1, False)


def test_creation_without_an_answer_is_never_confirmed(deployment: Deployment, vpc: Vpc) -> None:
    """The undo changes nothing and names CreateVpcEndpoint; the next run finds its endpoint by its client token."""
    with deployment.automation.disturbing(HEAL, "create", Trouble.NO_ANSWER):
        run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    check_blocked(deployment, vpc, run_id_of(run), "CreateVpcEndpoint")
    [endpoint] = deployment.associations(vpc.id)
    healed = deployment.heal(vpc.subnet)
    assert deployment.associations(vpc.id) == {endpoint: [vpc.table]}
    assert status(deployment.undo(run_id_of(healed))) == "Success"
    assert deployment.endpoints(vpc.id) == []


def test_heals_of_earlier_versions(deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable) -> None:
    """Their associatedAt was an intention, which only finishedAt confirms."""
    run_id = ledger.heal(builder, vpc.id, vpc.table)
    earlier = {"intendedAt": None, "seenEndpointOwner": None, "seenTableOwner": None, "seenPolicy": None}
    ledger.write(f"RUN#{run_id}", **earlier, createdEndpoint=None, finishedAt=None)
    check_blocked(deployment, vpc, run_id)
    ledger.write(f"RUN#{run_id}", finishedAt="2026-11-22T12:00:05+00:00")
    assert status(deployment.undo(run_id)) == "Success"
    assert deployment.endpoints(vpc.id) == []
