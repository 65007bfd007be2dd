"""Heals in VPCs through which other VPCs reach S3 Express: none of them is cut off."""

import json
from typing import Any

import pytest

from config_rule_sandbox.networks.central_egress import Hub, attach
from tests.support.heals import Deployment, Run, Vpc, status
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def codes(run: Run) -> list[str]:
    """Return what blocked a run."""
    failures = json.loads(run["Outputs"]["explain.Payload"][0])["failures"]
    return [blocker["code"] for failure in failures for blocker in failure["blockers"]]


def attached_subnet(builder: Builder, hub: Hub) -> str:
    """Return a subnet of a hub's attachment."""
    tables: Any = builder.ec2.describe_route_tables(RouteTableIds=[hub.egress_table])["RouteTables"]
    return str(tables[0]["Associations"][0]["SubnetId"])


def test_hub_is_blocked_and_its_spokes_are_healed(deployment: Deployment, builder: Builder) -> None:
    """The spokes keep their way through the hub, and each gets an endpoint of its own."""
    hub = Hub(builder)
    spoke = hub.join(builder)
    run = deployment.heal(attached_subnet(builder, hub))
    assert (status(run), codes(run), deployment.changes()) == ("Failed", ["TRANSIT_TRAFFIC"], [])
    assert f"each VPC behind {hub.gateway} its own endpoint" in run["FailureMessage"]
    assert status(deployment.heal(spoke.subnet)) == "Success"
    assert list(deployment.associations(spoke.vpc).values()) == [[spoke.table]]
    assert deployment.endpoints(hub.vpc) == []


@pytest.mark.parametrize("action", ["confirm", "elected"])
def test_vpc_that_becomes_a_hub_during_its_heal_is_not_associated(
    deployment: Deployment, builder: Builder, vpc: Vpc, action: str
) -> None:
    """The check is repeated right before the association."""
    hub = Hub(builder)
    hub.join(builder)
    deployment.after(action, lambda: _lead_spokes_to(hub, builder, vpc))
    run = deployment.heal(vpc.subnet)
    assert (status(run), codes(run)) == ("Failed", ["TRANSIT_TRAFFIC"])
    assert [tables for tables in deployment.associations(vpc.id).values() if tables] == []


def _lead_spokes_to(hub: Hub, builder: Builder, vpc: Vpc) -> None:
    """Make a VPC the way of the spokes to the addresses of S3 Express, and back."""
    attachment = attach(builder, hub.gateway, vpc.id, vpc.subnet)
    [express] = [
        found["Cidrs"]
        for found in builder.ec2.describe_prefix_lists()["PrefixLists"]
        if found["PrefixListName"].endswith(".s3express")
    ]
    hub.lead(express[0], attachment)
    builder.route(vpc.table, "10.200.0.0/16", TransitGatewayId=hub.gateway)


def test_table_of_an_appliances_other_interface_is_left_alone(deployment: Deployment, builder: Builder) -> None:
    """The appliance sends the spokes' traffic to the NAT through it, although no route shows that."""
    hub = Hub(builder)
    hub.join(builder)
    inner_table = builder.table(hub.vpc)
    builder.route(inner_table, "10.0.0.0/8", TransitGatewayId=hub.gateway)
    outer_table = builder.table(hub.vpc, NatGatewayId=hub.nat)
    outer = builder.subnet(hub.vpc, outer_table)
    instance, inner_interface = builder.instance(builder.subnet(hub.vpc, inner_table))
    outer_interface = builder.ec2.create_network_interface(SubnetId=outer)["NetworkInterface"]["NetworkInterfaceId"]
    builder.ec2.attach_network_interface(NetworkInterfaceId=outer_interface, InstanceId=instance, DeviceIndex=1)
    builder.ec2.replace_route(
        RouteTableId=hub.egress_table, DestinationCidrBlock="0.0.0.0/0", NetworkInterfaceId=inner_interface
    )
    run = deployment.heal(outer)
    assert (status(run), codes(run), deployment.changes()) == ("Failed", ["TRANSIT_TRAFFIC"], [])
