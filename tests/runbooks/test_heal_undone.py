"""Undoing one heal: what it added goes, and nothing else."""

import json

import pytest

from express_path import looking
from tests.handlers.network import Builder
from tests.runbooks.heals import Deployment, Vpc, status, steps


def described(deployment: Deployment, vpc: Vpc) -> str:
    """Everything that EC2 says about the tables of a VPC."""
    return json.dumps(deployment.tables(vpc.id), default=str)


def test_undo_restores_the_route_tables_byte_by_byte(deployment: Deployment, vpc: Vpc) -> None:
    """Flagged, healed, undone: the tables are described as before, and the endpoint that was made is gone."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)
    assert described(deployment, vpc) != before
    undone = deployment.undo(run["AutomationExecutionId"])
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert described(deployment, vpc) == before
    assert deployment.endpoints(vpc.id) == []


def test_undo_keeps_tags_of_others(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A table's own tags stay as they are."""
    builder.tag(vpc.table, "Name", "private")
    builder.tag(vpc.table, "express-path:note", "ours to keep")
    before = described(deployment, vpc)
    deployment.undo(deployment.heal(vpc.subnet)["AutomationExecutionId"])
    assert described(deployment, vpc) == before


def test_undo_keeps_an_endpoint_that_others_made(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Only the association goes; the endpoint is described as before."""
    endpoint = builder.endpoint(vpc.id)
    before = described(deployment, vpc), json.dumps(deployment.endpoints(vpc.id), default=str)
    undone = deployment.undo(deployment.heal(vpc.subnet)["AutomationExecutionId"])
    assert status(undone) == "Success"
    assert (described(deployment, vpc), json.dumps(deployment.endpoints(vpc.id), default=str)) == before
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_undo_keeps_an_endpoint_that_another_table_uses(deployment: Deployment, builder: Builder) -> None:
    """Each run is undone by itself; the endpoint goes with the last of them."""
    vpc = Vpc(builder, tables=2)
    before = described(deployment, vpc)
    first, second = (deployment.heal(each)["AutomationExecutionId"] for each in vpc.subnets)
    assert status(deployment.undo(first)) == "Success"
    assert list(deployment.associations(vpc.id).values()) == [[vpc.tables[1]]]
    assert status(deployment.undo(second)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_undo_of_what_somebody_took_away_only_tidies_up(deployment: Deployment, vpc: Vpc) -> None:
    """The association is gone already: the endpoint and the tags follow, without an error."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint["VpcEndpointId"], RemoveRouteTableIds=[vpc.table])
    undone = deployment.undo(run["AutomationExecutionId"])
    assert (status(undone), "disassociate" in steps(undone)) == ("Success", False)
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_undo_of_what_somebody_deleted_only_tidies_up(deployment: Deployment, vpc: Vpc) -> None:
    """The endpoint is gone already, and with it the routes: the tags follow, without an error."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint["VpcEndpointId"]])
    assert status(deployment.undo(run["AutomationExecutionId"])) == "Success"
    assert described(deployment, vpc) == before


def test_undo_of_an_unknown_run_changes_nothing(deployment: Deployment, vpc: Vpc) -> None:
    """No table carries the run's tag, and the message says so."""
    deployment.heal(vpc.subnet)
    before = described(deployment, vpc)
    deployment.sandbox.calls.clear()
    undone = deployment.undo("00000000-0000-0000-0000-000000000000")
    assert (status(undone), deployment.changes(), described(deployment, vpc)) == ("Failed", [], before)
    assert "express-path:run=00000000-0000-0000-0000-000000000000" in undone["FailureMessage"]


def test_undo_twice_fails_the_second_time_and_changes_nothing(deployment: Deployment, vpc: Vpc) -> None:
    """What is undone carries the run's tag no more."""
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    deployment.undo(run)
    deployment.sandbox.calls.clear()
    assert (status(deployment.undo(run)), deployment.changes()) == ("Failed", [])


def test_undo_fails_where_the_endpoint_is_not_deleted(deployment: Deployment, vpc: Vpc) -> None:
    """EC2 answers 200 and names what it did not delete: the run fails with it, and may be started again."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    [endpoint] = deployment.endpoints(vpc.id)
    deployment.sandbox.ec2.knobs.undeletable_endpoints = True
    undone = deployment.undo(run)
    assert status(undone) == "Failed"
    assert endpoint["VpcEndpointId"] in undone["FailureMessage"]
    assert "OperationNotPermitted" in undone["FailureMessage"]
    deployment.sandbox.ec2.knobs.undeletable_endpoints = False
    assert status(deployment.undo(run)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_undo_waits_until_ec2_shows_what_it_changed(deployment: Deployment, vpc: Vpc) -> None:
    """A description that is late does not keep the endpoint that nobody uses."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    deployment.sandbox.ec2.knobs.stale_describes = looking.ATTEMPTS - 1
    assert status(deployment.undo(run)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_undo_whose_change_is_not_seen_fails_and_may_be_started_again(deployment: Deployment, vpc: Vpc) -> None:
    """The tag stays, so that the rest can be undone."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    deployment.sandbox.ec2.knobs.stale_describes = 1000
    undone = deployment.undo(run)
    assert status(undone) == "Failed"
    assert f"{vpc.table} still uses " in undone["FailureMessage"]
    assert "start the undo again" in undone["FailureMessage"]
    deployment.sandbox.ec2.knobs.stale_describes = 0
    assert status(deployment.undo(run)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_undo_goes_on_where_another_deleted_the_endpoint_first(deployment: Deployment, vpc: Vpc) -> None:
    """Two undos may both find it unused; to the slower one EC2 says that it is not found, which is as it should be."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    [endpoint] = deployment.endpoints(vpc.id)
    gone = [endpoint["VpcEndpointId"]]

    def delete_and_forget() -> None:
        deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=gone)
        deployment.ec2.describe_vpc_endpoints()

    deployment.sandbox.faults.before("ec2", "DeleteVpcEndpoints", delete_and_forget)
    undone = deployment.undo(run)
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert described(deployment, vpc) == before


@pytest.mark.parametrize(
    "killed_after", ["plan", "isAssociated", "disassociate", "planRest", "isUnused", "deleteEndpoint"]
)
def test_undo_killed_at_any_step_may_be_started_again(deployment: Deployment, vpc: Vpc, killed_after: str) -> None:
    """Until the tags are gone, an undo can be repeated to its end."""
    before = described(deployment, vpc)
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    deployment.automation.knobs.kill_after = killed_after
    assert status(deployment.undo(run)) == "TimedOut"
    deployment.automation.knobs.kill_after = None
    assert status(deployment.undo(run)) == "Success"
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])


def test_undo_after_a_lost_race_leaves_the_winner_alone(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Where another tool was faster, only what the run made goes: its endpoint and its tags."""
    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)["AutomationExecutionId"]
    [theirs] = [key for key, tables in deployment.associations(vpc.id).items() if tables == [vpc.table]]
    assert status(deployment.undo(run)) == "Success"
    assert deployment.associations(vpc.id) == {theirs: [vpc.table]}
    assert deployment.tags(vpc.table) == {}


def test_undone_subnet_may_be_healed_again(deployment: Deployment, vpc: Vpc) -> None:
    """An undo is the team's own decision, so it leaves nothing behind that would block the next heal."""
    deployment.undo(deployment.heal(vpc.subnet)["AutomationExecutionId"])
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert list(deployment.associations(vpc.id).values()) == [[vpc.table]]
