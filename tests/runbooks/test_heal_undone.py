"""A heal followed by an undo: the undo removes what the heal added and nothing else."""

import json

from express_path import healing
from tests.support.heals import Deployment, Vpc, status
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder


def described(deployment: Deployment, vpc: Vpc) -> str:
    """Return everything that EC2 describes of a VPC's route tables."""
    return json.dumps(deployment.tables(vpc.id), default=str)


def test_undo_restores_the_route_tables_byte_by_byte(
    deployment: Deployment, builder: Builder, vpc: Vpc, ledger: LedgerTable
) -> None:
    """After a heal and its undo, the tables are described as before, and the created endpoint is deleted.

    The same holds for a second heal and its undo without a pause. It creates a new endpoint, because a client token is
    not reused after its endpoint is deleted.
    """
    builder.tag(vpc.table, "Name", "private")
    builder.tag(vpc.table, "express-path:note", "ours to keep")
    before = described(deployment, vpc)
    created = []
    for _ in range(2):
        run = deployment.heal(vpc.subnet)
        assert status(run) == "Success", run.get("FailureMessage")
        assert described(deployment, vpc) != before
        created += deployment.associations(vpc.id)
        undone = deployment.undo(run["AutomationExecutionId"])
        assert status(undone) == "Success", undone.get("FailureMessage")
        assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])
    assert len(set(created)) == 2
    found = ledger.item(f"VPC#{vpc.id}")
    assert sorted(found["createdIds"]) == sorted(found["deletedIds"]) == sorted(created)


def test_undo_of_the_last_heal_deletes_the_endpoint(deployment: Deployment, builder: Builder) -> None:
    """Each heal is undone separately; the second undo deletes the endpoint that the first heal created."""
    vpc = Vpc(builder, tables=2)
    before = described(deployment, vpc)
    first, second = (deployment.heal(subnet_id)["AutomationExecutionId"] for subnet_id in vpc.subnets)
    assert status(deployment.undo(first)) == "Success"
    assert list(deployment.associations(vpc.id).values()) == [[vpc.tables[1]]]
    assert status(deployment.undo(second)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_endpoint_that_others_created_stays_as_it_was(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Only the association is removed; the endpoint is described as before."""
    endpoint = builder.endpoint(vpc.id)
    before = described(deployment, vpc), json.dumps(deployment.endpoints(vpc.id), default=str)
    undone = deployment.undo(deployment.heal(vpc.subnet)["AutomationExecutionId"])
    assert status(undone) == "Success"
    assert (described(deployment, vpc), json.dumps(deployment.endpoints(vpc.id), default=str)) == before
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_undo_after_a_lost_race_leaves_the_winner_alone(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """If another tool was faster, the undo deletes only the endpoint that the run created."""
    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    [theirs] = [key for key, tables in deployment.associations(vpc.id).items() if tables == [vpc.table]]
    undone = deployment.undo(run)
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert deployment.associations(vpc.id) == {theirs: [vpc.table]}


def test_undo_whose_change_is_not_seen_can_be_started_again(deployment: Deployment, vpc: Vpc) -> None:
    """An undo waits for a stale description; if it stays stale, the run fails and the next one succeeds."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    deployment.sandbox.ec2.knobs.stale_describes = 1000
    undone = deployment.undo(run)
    assert status(undone) == "Failed"
    assert f"{vpc.table} still uses " in undone["FailureMessage"]
    deployment.sandbox.ec2.knobs.stale_describes = healing.ATTEMPTS - 1
    assert status(deployment.undo(run)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_heal_fails_if_an_undo_is_about_to_delete_its_endpoint(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """The heal read the endpoint before the undo marked it, and associated it afterwards.

    What it changed can be undone, and the next heal creates another endpoint.
    """
    vpc = Vpc(builder, tables=2)
    deployment.heal(vpc.subnets[0])
    [endpoint] = [endpoint["VpcEndpointId"] for endpoint in deployment.endpoints(vpc.id)]

    def mark() -> None:
        ledger.write(f"VPC#{vpc.id}", deletedIds={endpoint})

    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", mark)
    late = deployment.heal(vpc.subnets[1])
    assert status(late) == "Failed"
    assert f"an undo is about to delete {endpoint}; start the heal again" in late["FailureMessage"]
    deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])
    again = deployment.heal(vpc.subnets[1])
    assert status(again) == "Success", again.get("FailureMessage")
    assert [tables for key, tables in deployment.associations(vpc.id).items() if key != endpoint] == [[vpc.tables[1]]]
