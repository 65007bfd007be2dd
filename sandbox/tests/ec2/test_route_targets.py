"""State and targets of routes.

The state is blackhole where the target is not available, for example the gateway is not attached to the VPC or the
instance has been terminated (botocore model, Route.State).
"""

from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.server import Sandbox

DEFAULT = {"DestinationCidrBlock": "0.0.0.0/0"}


def default_route(ec2: Client, table_id: str) -> dict[str, Any]:
    """Return the IPv4 or IPv6 default route of a table."""
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    destinations = ("DestinationCidrBlock", "DestinationIpv6CidrBlock")
    (route,) = [r for r in table["Routes"] if any(r.get(name) in ("0.0.0.0/0", "::/0") for name in destinations)]
    found: dict[str, Any] = route
    return found


@pytest.fixture
def subnet_id(ec2: Client, vpc_id: str) -> str:
    """Create a subnet in the VPC and return its id."""
    return str(ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"])


def test_deleted_nat_gateway(ec2: Client, table_id: str, subnet_id: str) -> None:
    """Routes to a deleted NAT gateway remain as blackholes.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html
    """
    nat = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    ec2.create_route(RouteTableId=table_id, NatGatewayId=nat, **DEFAULT)
    assert default_route(ec2, table_id)["State"] == "active"
    ec2.delete_nat_gateway(NatGatewayId=nat)
    route = default_route(ec2, table_id)
    assert (route["State"], route["NatGatewayId"]) == ("blackhole", nat)


def test_deleted_interface(ec2: Client, table_id: str, subnet_id: str) -> None:
    """Routes to a deleted network interface become blackholes."""
    interface = ec2.create_network_interface(SubnetId=subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    ec2.create_route(RouteTableId=table_id, NetworkInterfaceId=interface, **DEFAULT)
    assert default_route(ec2, table_id)["State"] == "active"
    ec2.delete_network_interface(NetworkInterfaceId=interface)
    route = default_route(ec2, table_id)
    assert (route["State"], route["NetworkInterfaceId"]) == ("blackhole", interface)


@pytest.mark.parametrize("by", ["InstanceId", "NetworkInterfaceId"])
def test_nat_instance(ec2: Client, table_id: str, subnet_id: str, by: str) -> None:
    """A route to an instance has its id, owner, and interface, whichever was given, until it is terminated."""
    (instance,) = ec2.run_instances(ImageId="ami-00000000", MinCount=1, MaxCount=1, SubnetId=subnet_id)["Instances"]
    interface = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    ids = {"InstanceId": instance["InstanceId"], "NetworkInterfaceId": interface}
    ec2.create_route(RouteTableId=table_id, **DEFAULT, **{by: ids[by]})
    route = default_route(ec2, table_id)
    assert ids.items() <= route.items()
    assert (route["InstanceOwnerId"], route["State"]) == ("123456789012", "active")
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_detached_internet_gateway(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Routes to an internet gateway are blackholes if it is detached from the VPC or deleted."""
    gateway = {"InternetGatewayId": ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]}
    ec2.attach_internet_gateway(**gateway, VpcId=vpc_id)
    ec2.create_route(RouteTableId=table_id, GatewayId=gateway["InternetGatewayId"], **DEFAULT)
    ec2.detach_internet_gateway(**gateway, VpcId=vpc_id)
    assert default_route(ec2, table_id)["State"] == "blackhole"
    ec2.attach_internet_gateway(**gateway, VpcId=vpc_id)
    assert default_route(ec2, table_id)["State"] == "active"
    ec2.detach_internet_gateway(**gateway, VpcId=vpc_id)
    ec2.delete_internet_gateway(**gateway)
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_deleted_egress_only_internet_gateway(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Routes to a deleted egress-only internet gateway become blackholes."""
    made = ec2.create_egress_only_internet_gateway(VpcId=vpc_id)["EgressOnlyInternetGateway"]
    gateway = {"EgressOnlyInternetGatewayId": made["EgressOnlyInternetGatewayId"]}
    ec2.create_route(RouteTableId=table_id, DestinationIpv6CidrBlock="::/0", **gateway)
    assert default_route(ec2, table_id)["State"] == "active"
    ec2.delete_egress_only_internet_gateway(**gateway)
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_detached_virtual_private_gateway(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Routes to a virtual private gateway are blackholes after it is detached."""
    gateway = {"VpnGatewayId": ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"], "VpcId": vpc_id}
    ec2.attach_vpn_gateway(**gateway)
    ec2.create_route(RouteTableId=table_id, GatewayId=gateway["VpnGatewayId"], **DEFAULT)
    assert default_route(ec2, table_id)["State"] == "active"
    ec2.detach_vpn_gateway(**gateway)
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_deleted_peering(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Routes to a deleted peering connection become blackholes."""
    peer = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_vpc_peering_connection(VpcId=vpc_id, PeerVpcId=peer)["VpcPeeringConnection"]
    peering = {"VpcPeeringConnectionId": made["VpcPeeringConnectionId"]}
    ec2.accept_vpc_peering_connection(**peering)
    ec2.create_route(RouteTableId=table_id, **DEFAULT, **peering)
    assert default_route(ec2, table_id)["State"] == "active"
    ec2.delete_vpc_peering_connection(**peering)
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_deleted_transit_gateway(ec2: Client, vpc_id: str, subnet_id: str, table_id: str) -> None:
    """Routes to a transit gateway become blackholes when the VPC's attachment is deleted."""
    gateway = {"TransitGatewayId": ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]}
    made = ec2.create_transit_gateway_vpc_attachment(VpcId=vpc_id, SubnetIds=[subnet_id], **gateway)
    ec2.create_route(RouteTableId=table_id, **DEFAULT, **gateway)
    assert default_route(ec2, table_id)["State"] == "active"
    attachment_id = made["TransitGatewayVpcAttachment"]["TransitGatewayAttachmentId"]
    ec2.delete_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment_id)
    assert default_route(ec2, table_id)["State"] == "blackhole"
    ec2.delete_transit_gateway(**gateway)
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_deleted_gateway_load_balancer_endpoint(sandbox: Sandbox, ec2: Client, vpc_id: str, table_id: str) -> None:
    """Routes to a deleted Gateway Load Balancer endpoint remain blackholes, also after it is no longer described."""
    sandbox.ec2.knobs.deleted_describes = 0
    balancer = sandbox.client("elbv2").create_load_balancer(
        Name="appliances",
        Type="gateway",
        Subnets=[ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]],
    )["LoadBalancers"][0]["LoadBalancerArn"]
    service = ec2.create_vpc_endpoint_service_configuration(GatewayLoadBalancerArns=[balancer])["ServiceConfiguration"]
    made = ec2.create_vpc_endpoint(
        VpcId=vpc_id, ServiceName=service["ServiceName"], VpcEndpointType="GatewayLoadBalancer"
    )["VpcEndpoint"]["VpcEndpointId"]
    ec2.create_route(RouteTableId=table_id, VpcEndpointId=made, **DEFAULT)
    assert (default_route(ec2, table_id)["GatewayId"], default_route(ec2, table_id)["State"]) == (made, "active")
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    assert default_route(ec2, table_id)["State"] == "blackhole"
    for _ in range(2):
        ec2.describe_vpc_endpoints()
    assert default_route(ec2, table_id)["State"] == "blackhole"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("route.state", "blackhole"), ("route.nat-gateway-id", None), ("route.destination-cidr-block", "0.0.0.0/0")],
)
def test_filters_of_routes(ec2: Client, table_id: str, subnet_id: str, name: str, wanted: str | None) -> None:
    """Filters find tables by the state, targets, and destinations of their routes (botocore model)."""
    nat = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    ec2.create_route(RouteTableId=table_id, NatGatewayId=nat, **DEFAULT)
    ec2.delete_nat_gateway(NatGatewayId=nat)
    found = ec2.describe_route_tables(Filters=[{"Name": name, "Values": [wanted or nat]}])["RouteTables"]
    assert [table["RouteTableId"] for table in found] == [table_id]


def test_filter_by_prefix_list(ec2: Client, vpc_id: str, table_id: str) -> None:
    """route.destination-prefix-list-id and route.gateway-id find the tables that are associated with an endpoint."""
    endpoint = ec2.create_vpc_endpoint(
        VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3express", RouteTableIds=[table_id]
    )["VpcEndpoint"]["VpcEndpointId"]
    lists = ec2.describe_prefix_lists()["PrefixLists"]
    (wanted,) = (item["PrefixListId"] for item in lists if item["PrefixListName"].endswith("s3express"))
    for name, value in {"route.destination-prefix-list-id": wanted, "route.gateway-id": endpoint}.items():
        found = ec2.describe_route_tables(Filters=[{"Name": name, "Values": [value]}])["RouteTables"]
        assert [table["RouteTableId"] for table in found] == [table_id], name
