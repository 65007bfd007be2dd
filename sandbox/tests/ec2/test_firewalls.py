"""Firewalls of Network Firewall and their endpoints (https://docs.aws.amazon.com/network-firewall/latest/developerguide/vpc-config.html)."""

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

POLICY = "arn:aws:network-firewall:us-east-1:123456789012:firewall-policy/inspect"


@pytest.fixture
def endpoint_id(sandbox: Sandbox, vpc_id: str, subnet_id: str) -> str:
    """Create a firewall in the subnet and return the id of its endpoint."""
    made = sandbox.client("network-firewall").create_firewall(
        FirewallName="inspection", FirewallPolicyArn=POLICY, VpcId=vpc_id, SubnetMappings=[{"SubnetId": subnet_id}]
    )
    [state] = made["FirewallStatus"]["SyncStates"].values()
    return str(state["Attachment"]["EndpointId"])


def test_firewall_is_provisioning_until_its_endpoint_is_available(
    sandbox: Sandbox, ec2: Client, vpc_id: str, subnet_id: str, endpoint_id: str
) -> None:
    """The endpoint is of the type GatewayLoadBalancer, in the subnet, and managed and deleted only by the service."""
    firewalls = sandbox.client("network-firewall")
    assert firewalls.describe_firewall(FirewallName="inspection")["FirewallStatus"]["Status"] == "PROVISIONING"
    [found] = ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"]
    assert (found["VpcEndpointType"], found["RequesterManaged"]) == ("GatewayLoadBalancer", True)
    assert (found["VpcId"], found["SubnetIds"], found["State"]) == (vpc_id, [subnet_id], "available")
    status = firewalls.describe_firewall(FirewallName="inspection")["FirewallStatus"]
    [state] = status["SyncStates"].values()
    assert (status["Status"], state["Attachment"]["Status"]) == ("READY", "READY")
    assert refused(ec2.delete_vpc_endpoints, VpcEndpointIds=[endpoint_id]) == "OperationNotPermitted"


def test_route_to_a_firewall_endpoint(ec2: Client, table_id: str, endpoint_id: str) -> None:
    """A route that was created with VpcEndpointId shows it as GatewayId."""
    ec2.create_route(RouteTableId=table_id, VpcEndpointId=endpoint_id, DestinationCidrBlock="0.0.0.0/0")
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    [route] = [route for route in table["Routes"] if route.get("DestinationCidrBlock") == "0.0.0.0/0"]
    assert (route["GatewayId"], route["State"]) == (endpoint_id, "active")


def test_firewall_in_another_vpc_or_on_a_transit_gateway(sandbox: Sandbox, ec2: Client, endpoint_id: str) -> None:
    """A firewall can have an endpoint in another VPC, or an attachment to a transit gateway instead of endpoints."""
    firewalls = sandbox.client("network-firewall")
    arn = firewalls.describe_firewall(FirewallName="inspection")["Firewall"]["FirewallArn"]
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    there = ec2.create_subnet(VpcId=other, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"]
    firewalls.create_vpc_endpoint_association(FirewallArn=arn, VpcId=other, SubnetMapping={"SubnetId": there})
    found = {endpoint["VpcId"]: endpoint for endpoint in ec2.describe_vpc_endpoints()["VpcEndpoints"]}
    assert (found[other]["SubnetIds"], found.keys() - {other} != set()) == ([there], True)
    assert found[other]["VpcEndpointId"] != endpoint_id
    gateway = ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    firewalls.create_firewall(FirewallName="transit", FirewallPolicyArn=POLICY, TransitGatewayId=gateway)
    [attachment] = ec2.describe_transit_gateway_attachments()["TransitGatewayAttachments"]
    assert (attachment["ResourceType"], attachment["TransitGatewayId"]) == ("network-function", gateway)
