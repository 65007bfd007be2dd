"""Heals from end to end: the runbooks as shipped, their function, and the EC2 of the sandbox."""

import pytest

from express_path.domain.heal.records import FULL_ACCESS
from tests.support.heals import Deployment, Vpc, status, step, steps
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def test_heal_makes_the_endpoint_and_associates_the_table(deployment: Deployment, vpc: Vpc) -> None:
    """From flagged to verified: one endpoint, tagged as ours, in the subnet's table and no other."""
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    [endpoint] = deployment.endpoints(vpc.id)
    assert deployment.associations(vpc.id) == {endpoint["VpcEndpointId"]: [vpc.table]}
    assert endpoint["Tags"] == [{"Key": "express-path:managed", "Value": "true"}]
    assert (endpoint["VpcEndpointType"], endpoint["PolicyDocument"]) == ("Gateway", FULL_ACCESS)
    assert deployment.tags(vpc.table) == {}


def test_traffic_moves_only_when_the_endpoint_is_available(deployment: Deployment, vpc: Vpc) -> None:
    """The endpoint is made without tables, and associated once it is there: no moment without a way out."""
    deployment.sandbox.ec2.knobs.pending_describes = 3
    deployment.sandbox.calls.clear()
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert deployment.changes() == ["CreateVpcEndpoint", "ModifyVpcEndpoint"]
    [created] = deployment.sandbox.calls.of("ec2", "CreateVpcEndpoint")
    assert "RouteTableIds" not in created.parameters
    operations = deployment.sandbox.calls.operations("ec2")
    between = operations[operations.index("CreateVpcEndpoint") : operations.index("ModifyVpcEndpoint")]
    assert between.count("DescribeVpcEndpoints") > 3


def test_heal_tells_what_it_did(deployment: Deployment, vpc: Vpc) -> None:
    """The run's outputs hold the plan, the endpoint, the table and the verdict."""
    run = deployment.heal(vpc.subnet)
    [endpoint] = deployment.endpoints(vpc.id)
    outputs = {key: value for key, [value] in run["Outputs"].items()}
    assert outputs["plan.Action"] == "CREATE_AND_ASSOCIATE"
    assert outputs["plan.RouteTableId"] == vpc.table
    assert outputs["create.VpcEndpointId"] == outputs["target.VpcEndpointId"] == endpoint["VpcEndpointId"]
    assert outputs["verify.Annotation"].startswith("ENDPOINT")


def test_existing_endpoint_is_used(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """No second endpoint is made, and the one there is keeps its tags."""
    endpoint = builder.endpoint(vpc.id)
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.associations(vpc.id)) == ("Success", {endpoint: [vpc.table]})
    assert deployment.endpoints(vpc.id)[0]["Tags"] == []
    assert "create" not in steps(run)


def test_main_table_is_healed_for_the_subnets_that_have_no_other(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """A subnet without an association is governed by the main table, so that is the one to associate."""
    main = builder.main_table(vpc.id)
    builder.route(main, NatGatewayId=vpc.nat)
    run = deployment.heal(builder.subnet(vpc.id))
    assert status(run) == "Success", run.get("FailureMessage")
    assert list(deployment.associations(vpc.id).values()) == [[main]]


def test_healthy_subnet_is_left_alone(deployment: Deployment, vpc: Vpc) -> None:
    """A second run looks, and calls nothing that could change anything."""
    deployment.heal(vpc.subnet)
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes(), steps(run)[-1]) == ("Success", [], "done")


def test_dry_run_changes_nothing(deployment: Deployment, vpc: Vpc) -> None:
    """A dry run succeeds with the plan, and calls nothing that could change anything."""
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet, DryRun="true")
    assert (status(run), deployment.changes()) == ("Success", [])
    assert run["Outputs"]["plan.Action"] == ["CREATE_AND_ASSOCIATE"]
    assert deployment.endpoints(vpc.id) == []


def test_blocked_heal_fails_with_the_blockers(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Nothing is changed, and the failure message has each blocker's name, its cure and the patch."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    message = run["FailureMessage"]
    assert "OWNED_BY_IAC" in message
    assert "AdoptIacOwned" in message
    assert "AWS::EC2::VPCEndpoint" in message
    assert "aws_vpc_endpoint_route_table_association" in message


def test_dry_run_of_a_blocked_heal_succeeds(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A dry run is an answer, not a failure."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    run = deployment.heal(vpc.subnet, DryRun="true")
    assert (status(run), run["Outputs"]["plan.Action"]) == ("Success", ["BLOCKED"])
    assert "OWNED_BY_IAC" in run["Outputs"]["plan.Summary"][0]


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> str:
    """The stack's change calendar."""
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "changes")
    return "changes"


def test_open_calendar_lets_a_heal_pass(deployment: Deployment, vpc: Vpc, calendar: str) -> None:
    """An open change calendar changes nothing about a heal."""
    deployment.automation.knobs.open_calendars.add(calendar)
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert len(deployment.endpoints(vpc.id)) == 1


def test_closed_calendar_stops_a_heal(deployment: Deployment, builder: Builder, vpc: Vpc, calendar: str) -> None:
    """A closed change calendar is a blocker, named with all others."""
    deployment.automation.knobs.closed_calendars.add(calendar)
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "CHANGE_CALENDAR_CLOSED" in run["FailureMessage"]
    assert "OWNED_BY_IAC" in run["FailureMessage"]


def test_calendar_that_closes_during_a_heal_stops_it(deployment: Deployment, vpc: Vpc, calendar: str) -> None:
    """The calendar is read again right before each change: no endpoint is associated after it closed."""
    knobs = deployment.automation.knobs
    knobs.open_calendars.add(calendar)
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", knobs.open_calendars.clear)
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: knobs.closed_calendars.add(calendar))
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()[-1]) == ("Failed", "CreateVpcEndpoint")
    assert "CHANGE_CALENDAR_CLOSED" in run["FailureMessage"]
    assert deployment.ledger.item(f"TABLE#{vpc.table}")["state"] == "FAILED"


def test_closed_calendar_does_not_matter_to_a_healthy_subnet(
    deployment: Deployment, builder: Builder, vpc: Vpc, calendar: str
) -> None:
    """Where there is nothing to heal, there is nothing to be closed for."""
    builder.endpoint(vpc.id, vpc.table)
    deployment.automation.knobs.closed_calendars.add(calendar)
    assert status(deployment.heal(vpc.subnet)) == "Success"


@pytest.mark.usefixtures("calendar")
def test_unknown_calendar_stops_a_heal(deployment: Deployment, vpc: Vpc) -> None:
    """A calendar that does not exist is never taken for open."""
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])


def test_policy_of_a_parameter_is_the_endpoint_s(
    deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy reaches EC2 as it is in the parameter."""
    text = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*"}]}'
    deployment.ssm.put_parameter(Name="/express/policy", Value=text, Type="String")
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/policy")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    assert deployment.endpoints(vpc.id)[0]["PolicyDocument"] == text


def test_missing_policy_stops_a_heal(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """No endpoint that allows everything is created by accident."""
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/none")
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "ParameterNotFound" in run["FailureMessage"]


def test_subnet_that_is_gone_needs_no_heal(deployment: Deployment, vpc: Vpc) -> None:
    """Config may be late: a run for a deleted subnet succeeds without a change, so that Config does not repeat it."""
    deployment.ec2.delete_subnet(SubnetId=vpc.subnet)
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Success", [])


def test_heal_that_did_not_cure_fails(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A route that appears during the run makes verify fail, with the verdict that stands."""
    [express] = [
        prefix_list["Cidrs"][0]
        for prefix_list in deployment.ec2.describe_prefix_lists()["PrefixLists"]
        if prefix_list["PrefixListName"].endswith(".s3express")
    ]
    deployment.sandbox.faults.before(
        "ec2", "ModifyVpcEndpoint", lambda: builder.route(vpc.table, express, NatGatewayId=vpc.nat)
    )
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "NotCuredError" in step(run, "verifyPath")["FailureMessage"]
    assert "PARTLY_NAT" in run["FailureMessage"]


def test_tables_of_different_families_are_both_healed(deployment: Deployment, builder: Builder) -> None:
    """A dual-stack table first, an IPv4 table next: EC2 does not take the first one's endpoint for the second."""
    vpc = Vpc(builder, tables=2)
    vpc.add_ipv6(builder, vpc.subnets[0])
    first = deployment.heal(vpc.subnets[0])
    assert status(first) == "Success", first["FailureMessage"]
    run = deployment.heal(vpc.subnets[1])
    assert status(run) == "Success", run["FailureMessage"]
    assert sorted(deployment.associations(vpc.id).values()) == sorted([table] for table in vpc.tables)


def test_table_that_routes_the_list_elsewhere_is_left_alone(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A static route from the s3express list to the NAT gateway: BLOCKED before anything is made or tagged."""
    [express] = [
        prefix_list["PrefixListId"]
        for prefix_list in deployment.ec2.describe_prefix_lists()["PrefixLists"]
        if prefix_list["PrefixListName"].endswith(".s3express")
    ]
    builder.route(vpc.table, express, NatGatewayId=vpc.nat)
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "BLOCKED" in run["FailureMessage"]


def test_interface_without_groups_is_in_nobody_s_way(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A private NAT gateway's interface in the subnet has no security group, so nothing filters its traffic."""
    builder.nat_gateway(vpc.subnet, ConnectivityType="private")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run["FailureMessage"]


def test_ipv4_table_in_a_vpc_with_ipv6_elsewhere_needs_no_ipv6_egress(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """The IPv4 endpoint brings no IPv6 route, so a group that lets only IPv4 out is in nobody's way."""
    vpc.add_ipv6(builder, builder.subnet(vpc.id))
    group = builder.ec2.create_security_group(GroupName="v4", Description="IPv4 out", VpcId=vpc.id)["GroupId"]
    builder.ec2.create_network_interface(SubnetId=vpc.subnet, Groups=[group])
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run["FailureMessage"]
