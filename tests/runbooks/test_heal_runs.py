"""Heals from start to end, with the real runbooks and plan function and the sandbox's EC2."""

import json
from typing import Any

import pytest

from express_path.domain.heal.records import FULL_ACCESS
from tests.support.heals import FUNCTION, Deployment, Vpc, status, step, steps
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def test_heal_creates_the_endpoint_and_associates_the_table(deployment: Deployment, vpc: Vpc) -> None:
    """A heal creates one tagged endpoint and associates it with the subnet's route table only.

    Its outputs have the plan, the endpoint, the route table, and the verdict. A second run makes no change.
    """
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    [endpoint] = deployment.endpoints(vpc.id)
    assert deployment.associations(vpc.id) == {endpoint["VpcEndpointId"]: [vpc.table]}
    assert endpoint["Tags"] == [{"Key": "express-path:managed", "Value": "true"}]
    assert (endpoint["VpcEndpointType"], endpoint["PolicyDocument"]) == ("Gateway", FULL_ACCESS)
    assert deployment.tags(vpc.table) == {}
    outputs = {key: value for key, [value] in run["Outputs"].items()}
    assert outputs["plan.Action"] == "CREATE_AND_ASSOCIATE"
    assert outputs["plan.RouteTableId"] == vpc.table
    assert outputs["create.VpcEndpointId"] == outputs["recordIntent.VpcEndpointId"] == endpoint["VpcEndpointId"]
    assert outputs["verify.Annotation"].startswith("ENDPOINT")
    deployment.sandbox.calls.clear()
    again = deployment.heal(vpc.subnet)
    assert (status(again), deployment.changes(), steps(again)[-1]) == ("Success", [], "done")


def test_traffic_moves_only_when_the_endpoint_is_available(deployment: Deployment, vpc: Vpc) -> None:
    """The endpoint is created without route tables and associated once it is available, so no traffic is lost."""
    deployment.sandbox.ec2.knobs.pending_describes = 3
    deployment.sandbox.calls.clear()
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert deployment.changes() == ["CreateVpcEndpoint", "ModifyVpcEndpoint"]
    [created] = deployment.sandbox.calls.of("ec2", "CreateVpcEndpoint")
    assert "RouteTableIds" not in created.parameters
    operations = deployment.sandbox.calls.operations("ec2")
    between = operations[operations.index("CreateVpcEndpoint") : operations.index("ModifyVpcEndpoint")]
    assert between.count("DescribeVpcEndpoints") > 3


def test_existing_endpoint_is_used(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """No second endpoint is created, and the existing one keeps its tags."""
    endpoint = builder.endpoint(vpc.id)
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.associations(vpc.id)) == ("Success", {endpoint: [vpc.table]})
    assert deployment.endpoints(vpc.id)[0]["Tags"] == []
    assert "create" not in steps(run)


def test_endpoint_that_somebody_creates_after_the_plan_meets_the_pre_flight(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """Its policy is checked before the route table is associated with it."""
    policy = {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}
    condition = {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}

    def plan(event: dict[str, Any]) -> dict[str, Any]:
        answer = deployment.plan(event)
        if event["action"] == "confirm":
            document = {"Statement": [{**policy, "Condition": condition}]}
            builder.endpoint(vpc.id, PolicyDocument=json.dumps(document))
        return answer

    deployment.automation.functions.register(FUNCTION, plan)
    run = deployment.heal(vpc.subnet)
    assert (status(run), "associate" in steps(run)) == ("Failed", False)
    assert "step findTarget failed: BlockedError: BLOCKED" in run["FailureMessage"]
    assert list(deployment.associations(vpc.id).values()) == [[]]


def test_main_table_is_healed_for_the_subnets_that_have_no_other(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """A subnet without an association uses the main route table, so that table is associated."""
    main = builder.main_table(vpc.id)
    builder.route(main, NatGatewayId=vpc.nat)
    run = deployment.heal(builder.subnet(vpc.id))
    assert status(run) == "Success", run.get("FailureMessage")
    assert list(deployment.associations(vpc.id).values()) == [[main]]


def test_dry_run_changes_nothing(deployment: Deployment, vpc: Vpc) -> None:
    """A dry run succeeds, outputs the plan, and makes no change."""
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet, DryRun="true")
    assert (status(run), deployment.changes()) == ("Success", [])
    assert run["Outputs"]["plan.Action"] == ["CREATE_AND_ASSOCIATE"]
    assert deployment.endpoints(vpc.id) == []


def test_blocked_heal_fails_with_the_blockers(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """Nothing changes, and the failure message has each blocker's name, its fix, and the patch."""
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
    """A dry run reports blockers and succeeds."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    run = deployment.heal(vpc.subnet, DryRun="true")
    assert (status(run), run["Outputs"]["plan.Action"]) == ("Success", ["BLOCKED"])
    assert "OWNED_BY_IAC" in run["Outputs"]["plan.Summary"][0]


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of the stack's change calendar."""
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "changes")
    return "changes"


def test_closed_calendar_stops_a_heal(deployment: Deployment, builder: Builder, vpc: Vpc, calendar: str) -> None:
    """A closed change calendar is a blocker and is reported with all others."""
    deployment.automation.knobs.closed_calendars.add(calendar)
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "CHANGE_CALENDAR_CLOSED" in run["FailureMessage"]
    assert "OWNED_BY_IAC" in run["FailureMessage"]


def test_calendar_that_closes_during_a_heal_stops_it(deployment: Deployment, vpc: Vpc, calendar: str) -> None:
    """The calendar is read again before each change, so no endpoint is associated after it closes."""
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
    """A run for a compliant subnet succeeds while the calendar is closed."""
    builder.endpoint(vpc.id, vpc.table)
    deployment.automation.knobs.closed_calendars.add(calendar)
    assert status(deployment.heal(vpc.subnet)) == "Success"


@pytest.mark.usefixtures("calendar")
def test_unknown_calendar_stops_a_heal(deployment: Deployment, vpc: Vpc) -> None:
    """A calendar that does not exist is not treated as open."""
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])


def test_endpoint_has_the_policy_of_the_parameter_while_the_calendar_is_open(
    deployment: Deployment, vpc: Vpc, calendar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heal proceeds while the change calendar is open, and the endpoint has the policy of the SSM parameter."""
    deployment.automation.knobs.open_calendars.add(calendar)
    text = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*"}]}'
    deployment.ssm.put_parameter(Name="/express/policy", Value=text, Type="String")
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/policy")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    [endpoint] = deployment.endpoints(vpc.id)
    assert endpoint["PolicyDocument"] == text


def test_missing_policy_stops_a_heal(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the policy parameter does not exist, no endpoint with full access is created."""
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/none")
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "ParameterNotFound" in run["FailureMessage"]


def test_deleted_subnet_needs_no_heal(deployment: Deployment, vpc: Vpc) -> None:
    """A run for a deleted subnet succeeds without a change, so AWS Config does not repeat it."""
    deployment.ec2.delete_subnet(SubnetId=vpc.subnet)
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Success", [])


def test_heal_that_does_not_fix_the_path_fails(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """If a conflicting route appears during the run, the verify step fails and reports the remaining verdict."""
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
    """After a dual-stack table, an IPv4 table is healed with a second endpoint, because EC2 rejects the first."""
    vpc = Vpc(builder, tables=2)
    vpc.add_ipv6(builder, vpc.subnets[0])
    first = deployment.heal(vpc.subnets[0])
    assert status(first) == "Success", first["FailureMessage"]
    run = deployment.heal(vpc.subnets[1])
    assert status(run) == "Success", run["FailureMessage"]
    assert sorted(deployment.associations(vpc.id).values()) == sorted([table] for table in vpc.tables)


def test_table_that_routes_the_list_elsewhere_is_left_alone(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A static route from the S3 Express prefix list to the NAT gateway blocks the heal before any change."""
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


def test_interface_without_security_groups_does_not_block(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """A private NAT gateway's interface has no security group, so nothing filters its traffic."""
    builder.nat_gateway(vpc.subnet, ConnectivityType="private")
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run["FailureMessage"]


def test_ipv4_table_in_a_vpc_with_ipv6_elsewhere_needs_no_ipv6_egress(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """The IPv4 endpoint adds no IPv6 route, so a security group that allows only IPv4 egress does not block."""
    vpc.add_ipv6(builder, builder.subnet(vpc.id))
    group = builder.ec2.create_security_group(GroupName="v4", Description="IPv4 out", VpcId=vpc.id)["GroupId"]
    builder.ec2.create_network_interface(SubnetId=vpc.subnet, Groups=[group])
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run["FailureMessage"]
