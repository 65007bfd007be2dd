"""Endpoints of firewalls as route targets, and instances that forward."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.dynamic import Client
from sandbox.server import Sandbox

POLICY = "arn:aws:network-firewall:us-east-1:123456789012:firewall-policy/inspect"
DEFAULT = {"DestinationCidrBlock": "0.0.0.0/0"}


@pytest.fixture
def subnet_id(ec2: Client, vpc_id: str) -> str:
    """Create a subnet and return its id."""
    return str(ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"])


@pytest.fixture
def endpoint_id(sandbox: Sandbox, vpc_id: str, subnet_id: str) -> str:
    """Create a firewall in the subnet and return the id of its endpoint."""
    made = sandbox.client("network-firewall").create_firewall(
        FirewallName="inspection", FirewallPolicyArn=POLICY, VpcId=vpc_id, SubnetMappings=[{"SubnetId": subnet_id}]
    )
    [state] = made["FirewallStatus"]["SyncStates"].values()
    return str(state["Attachment"]["EndpointId"])


def route(ec2: Client, table_id: str, destination: str = "0.0.0.0/0") -> dict[str, Any]:
    """Return a table's route to a block or prefix list."""
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return next(route for route in table["Routes"] if destination in route.values())


def run(ec2: Client, subnet_id: str, **primary: object) -> tuple[str, str]:
    """Run an instance with a primary interface in a subnet; return the ids of both."""
    interfaces = [{"DeviceIndex": 0, "SubnetId": subnet_id, **primary}]
    made = ec2.run_instances(
        ImageId="ami-0123456789abcdef0", InstanceType="t4g.nano", NetworkInterfaces=interfaces, MinCount=1, MaxCount=1
    )["Instances"][0]
    return str(made["InstanceId"]), str(made["NetworkInterfaces"][0]["NetworkInterfaceId"])


def interface(ec2: Client, interface_id: str) -> dict[str, Any]:
    """Return the description of an interface."""
    [found] = ec2.describe_network_interfaces(NetworkInterfaceIds=[interface_id])["NetworkInterfaces"]
    return dict(found)


def test_firewall_has_an_endpoint_in_its_subnet(
    sandbox: Sandbox, ec2: Client, vpc_id: str, subnet_id: str, endpoint_id: str
) -> None:
    """The endpoint has the type GatewayLoadBalancer, the service manages it, and the firewall is ready."""
    [found] = ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"]
    assert (found["VpcEndpointType"], found["RequesterManaged"]) == ("GatewayLoadBalancer", True)
    assert (found["VpcId"], found["SubnetIds"], found["State"]) == (vpc_id, [subnet_id], "available")
    status = sandbox.client("network-firewall").describe_firewall(FirewallName="inspection")["FirewallStatus"]
    [state] = status["SyncStates"].values()
    assert (status["Status"], state["Attachment"]["Status"]) == ("READY", "READY")


def test_firewall_is_provisioning_until_its_endpoint_is_available(
    sandbox: Sandbox, ec2: Client, endpoint_id: str
) -> None:
    """A new endpoint is pending, and its firewall is PROVISIONING, until a description returns it as available."""
    firewalls = sandbox.client("network-firewall")
    assert firewalls.describe_firewall(FirewallName="inspection")["FirewallStatus"]["Status"] == "PROVISIONING"
    ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])
    assert firewalls.describe_firewall(FirewallName="inspection")["FirewallStatus"]["Status"] == "READY"


def test_route_to_a_firewall_endpoint(ec2: Client, table_id: str, endpoint_id: str) -> None:
    """A route that was created with VpcEndpointId shows it as GatewayId. Only the service deletes the endpoint."""
    ec2.create_route(RouteTableId=table_id, VpcEndpointId=endpoint_id, **DEFAULT)
    found = route(ec2, table_id)
    assert (found["GatewayId"], found["State"]) == (endpoint_id, "active")
    with pytest.raises(ClientError, match="OperationNotPermitted"):
        ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])


def test_check_of_an_instance_is_that_of_its_interface(ec2: Client, subnet_id: str) -> None:
    """ModifyInstanceAttribute and ModifyNetworkInterfaceAttribute change the same source/destination check."""
    instance_id, interface_id = run(ec2, subnet_id)
    assert interface(ec2, interface_id)["SourceDestCheck"] is True
    ec2.modify_instance_attribute(InstanceId=instance_id, SourceDestCheck={"Value": False})
    assert interface(ec2, interface_id)["SourceDestCheck"] is False
    ec2.modify_network_interface_attribute(NetworkInterfaceId=interface_id, SourceDestCheck={"Value": True})
    assert interface(ec2, interface_id)["SourceDestCheck"] is True


def test_terminated_instance_leaves_a_blackhole(ec2: Client, table_id: str, subnet_id: str) -> None:
    """The primary interface is deleted with its instance, and the route to it becomes a blackhole."""
    instance_id, interface_id = run(ec2, subnet_id)
    ec2.create_route(RouteTableId=table_id, NetworkInterfaceId=interface_id, **DEFAULT)
    found = route(ec2, table_id)
    assert (found["InstanceId"], found["NetworkInterfaceId"]) == (instance_id, interface_id)
    ec2.terminate_instances(InstanceIds=[instance_id])
    assert route(ec2, table_id)["State"] == "blackhole"
    with pytest.raises(ClientError, match=r"InvalidNetworkInterfaceID\.NotFound"):
        interface(ec2, interface_id)


def test_terminated_instance_keeps_an_interface_that_is_not_deleted_with_it(ec2: Client, subnet_id: str) -> None:
    """With DeleteOnTermination=false, the primary interface remains and is no longer attached.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/scenarios-enis.html
    """
    instance_id, interface_id = run(ec2, subnet_id, DeleteOnTermination=False)
    ec2.terminate_instances(InstanceIds=[instance_id])
    assert interface(ec2, interface_id)["NetworkInterfaceId"] == interface_id


def test_interface_moves_to_another_instance(ec2: Client, table_id: str, subnet_id: str) -> None:
    """If an interface is attached to another instance, the route to it leads to that instance."""
    made = ec2.create_network_interface(SubnetId=subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    ec2.create_route(RouteTableId=table_id, NetworkInterfaceId=made, **DEFAULT)
    for _ in range(2):
        instance_id, _ = run(ec2, subnet_id)
        ec2.attach_network_interface(NetworkInterfaceId=made, InstanceId=instance_id, DeviceIndex=1)
        found = route(ec2, table_id)
        assert (found["State"], found["InstanceId"], found["NetworkInterfaceId"]) == ("active", instance_id, made)
        ec2.terminate_instances(InstanceIds=[instance_id])
        assert route(ec2, table_id)["State"] == "blackhole"


def test_prefix_list_route_to_an_interface(ec2: Client, table_id: str, subnet_id: str) -> None:
    """A route from a prefix list to an interface keeps its destination and can be deleted by it."""
    _, interface_id = run(ec2, subnet_id)
    made = ec2.create_managed_prefix_list(
        PrefixListName="x", MaxEntries=1, AddressFamily="IPv4", Entries=[{"Cidr": "192.0.2.0/24"}]
    )
    destination = {"DestinationPrefixListId": made["PrefixList"]["PrefixListId"]}
    ec2.create_route(RouteTableId=table_id, NetworkInterfaceId=interface_id, **destination)
    assert route(ec2, table_id, made["PrefixList"]["PrefixListId"])["NetworkInterfaceId"] == interface_id
    with pytest.raises(ClientError, match="RouteAlreadyExists"):
        ec2.create_route(RouteTableId=table_id, NetworkInterfaceId=interface_id, **destination)
    ec2.delete_route(RouteTableId=table_id, **destination)
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    assert all("DestinationPrefixListId" not in route for route in table["Routes"])


def test_instance_types_tell_their_bandwidth(ec2: Client) -> None:
    """DescribeInstanceTypes returns the bandwidth of each network card (botocore model, NetworkCardInfo)."""
    [found] = ec2.describe_instance_types(InstanceTypes=["c7gn.medium"])["InstanceTypes"]
    [card] = found["NetworkInfo"]["NetworkCards"]
    assert (card["BaselineBandwidthInGbps"], card["PeakBandwidthInGbps"]) == (3.125, 25.0)
