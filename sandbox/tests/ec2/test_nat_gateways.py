"""NAT gateways.

https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html,
https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html
"""

from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox


@pytest.fixture
def subnet_id(ec2: Client, vpc_id: str) -> str:
    """Create a subnet in the VPC and return its id."""
    subnet = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24", AvailabilityZoneId="use1-az4")["Subnet"]
    return str(subnet["SubnetId"])


@pytest.fixture
def gateway_id(ec2: Client, vpc_id: str) -> str:
    """Attach an internet gateway to the VPC and return its id."""
    made = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc_id)
    return str(made)


def described(ec2: Client, nat_gateway_id: str) -> dict[str, Any]:
    """Return the NAT gateway's description."""
    nat_gateway: dict[str, Any] = ec2.describe_nat_gateways(NatGatewayIds=[nat_gateway_id])["NatGateways"][0]
    return nat_gateway


def create(ec2: Client, **parameters: object) -> str:
    """Create a NAT gateway and return its id."""
    return str(ec2.create_nat_gateway(**parameters)["NatGateway"]["NatGatewayId"])


def test_zonal(ec2: Client, subnet_id: str) -> None:
    """A zonal NAT gateway is public by default, in a subnet, with an interface and an Elastic IP address."""
    address = ec2.allocate_address(Domain="vpc")
    nat_gateway = described(ec2, create(ec2, SubnetId=subnet_id, AllocationId=address["AllocationId"]))
    assert (nat_gateway["AvailabilityMode"], nat_gateway["ConnectivityType"]) == ("zonal", "public")
    assert (nat_gateway["SubnetId"], nat_gateway["State"]) == (subnet_id, "available")
    assert nat_gateway["NatGatewayAddresses"][0]["PublicIp"] == address["PublicIp"]
    assert "RouteTableId" not in nat_gateway


def test_private(ec2: Client, subnet_id: str) -> None:
    """A private NAT gateway has no public address and accepts no allocation."""
    nat_gateway = described(ec2, create(ec2, SubnetId=subnet_id, ConnectivityType="private"))
    assert nat_gateway["ConnectivityType"] == "private"
    assert "PublicIp" not in nat_gateway["NatGatewayAddresses"][0]
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    both = {"SubnetId": subnet_id, "ConnectivityType": "private", "AllocationId": address}
    assert refused(ec2.create_nat_gateway, **both) == "InvalidParameterCombination"


def test_a_public_one_needs_an_address(ec2: Client, subnet_id: str) -> None:
    """A public zonal NAT gateway needs an Elastic IP address, so AllocationId is required.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateNatGateway.html
    """
    assert refused(ec2.create_nat_gateway, SubnetId=subnet_id) == "MissingParameter"


def test_zonal_needs_a_subnet(ec2: Client, vpc_id: str) -> None:
    """Only a regional NAT gateway has no subnet."""
    assert refused(ec2.create_nat_gateway, VpcId=vpc_id) == "MissingParameter"


def test_regional(ec2: Client, vpc_id: str, subnet_id: str, gateway_id: str) -> None:
    """A regional NAT gateway has no subnet, and an address in each zone in which the VPC has subnets."""
    assert subnet_id
    nat_gateway = described(ec2, create(ec2, VpcId=vpc_id, AvailabilityMode="regional"))
    assert (nat_gateway["AvailabilityMode"], nat_gateway["State"]) == ("regional", "available")
    assert (nat_gateway["VpcId"], nat_gateway.get("SubnetId")) == (vpc_id, None)
    (address,) = nat_gateway["NatGatewayAddresses"]
    assert (address["AvailabilityZoneId"], bool(address["PublicIp"])) == ("use1-az4", True)
    assert gateway_id


def test_regional_has_its_own_route_table(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """AWS creates its route table, with a route to the internet gateway and no associated subnet."""
    nat_gateway = described(ec2, create(ec2, VpcId=vpc_id, AvailabilityMode="regional"))
    (table,) = ec2.describe_route_tables(RouteTableIds=[nat_gateway["RouteTableId"]])["RouteTables"]
    (route,) = [route for route in table["Routes"] if route.get("DestinationCidrBlock") == "0.0.0.0/0"]
    assert (route["GatewayId"], route["State"]) == (gateway_id, "active")
    assert not [item for item in table["Associations"] if item["Main"] or "SubnetId" in item]
    ec2.delete_nat_gateway(NatGatewayId=nat_gateway["NatGatewayId"])
    assert refused(ec2.describe_route_tables, RouteTableIds=[table["RouteTableId"]]) == "InvalidRouteTableID.NotFound"


def test_regional_with_addresses_for_chosen_zones(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """AvailabilityZoneAddresses lists its zones and their addresses (botocore model)."""
    assert gateway_id
    address = ec2.allocate_address(Domain="vpc")
    zone = {"AvailabilityZoneId": "use1-az5", "AllocationIds": [address["AllocationId"]]}
    made = create(ec2, VpcId=vpc_id, AvailabilityMode="regional", AvailabilityZoneAddresses=[zone])
    (shown,) = described(ec2, made)["NatGatewayAddresses"]
    assert (shown["AvailabilityZoneId"], shown["PublicIp"]) == ("use1-az5", address["PublicIp"])


def test_regional_without_an_internet_gateway_fails(ec2: Client, vpc_id: str) -> None:
    """Without an attached internet gateway, its state becomes failed (botocore model, NatGateway.FailureCode)."""
    nat_gateway = described(ec2, create(ec2, VpcId=vpc_id, AvailabilityMode="regional"))
    assert (nat_gateway["State"], nat_gateway["FailureCode"]) == ("failed", "Gateway.NotAttached")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"VpcId": None}, "MissingParameter"),
        ({"VpcId": "vpc-00000000"}, "InvalidVpcID.NotFound"),
        ({"SubnetId": "subnet-00000000"}, "InvalidParameterCombination"),
        ({"ConnectivityType": "private"}, "InvalidParameterCombination"),
    ],
)
def test_what_regional_does_not_take(ec2: Client, vpc_id: str, changed: dict[str, str | None], code: str) -> None:
    """A regional NAT gateway needs a VPC, accepts no subnet, and is public."""
    parameters = {"AvailabilityMode": "regional", "VpcId": vpc_id, **changed}
    given = {name: value for name, value in parameters.items() if value is not None}
    assert refused(ec2.create_nat_gateway, **given) == code


def test_states(sandbox: Sandbox, ec2: Client, subnet_id: str) -> None:
    """Each of the states pending and deleting is described as often as set, and a deleted gateway remains described."""
    sandbox.ec2.knobs.pending_describes = sandbox.ec2.knobs.deleting_describes = 1
    made = create(ec2, SubnetId=subnet_id, ConnectivityType="private")
    assert [described(ec2, made)["State"] for _ in range(2)] == ["pending", "available"]
    ec2.delete_nat_gateway(NatGatewayId=made)
    assert [described(ec2, made)["State"] for _ in range(3)] == ["deleting", "deleted", "deleted"]
    assert described(ec2, made)["DeleteTime"]


def test_waiters_end(ec2: Client, subnet_id: str) -> None:
    """The waiters of botocore for NAT gateways finish."""
    made = create(ec2, SubnetId=subnet_id, ConnectivityType="private")
    ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[made])
    ec2.delete_nat_gateway(NatGatewayId=made)
    ec2.get_waiter("nat_gateway_deleted").wait(NatGatewayIds=[made])


def test_deleting_frees_interface_and_address(ec2: Client, subnet_id: str) -> None:
    """Deletion removes the network interface and disassociates the Elastic IP address, which remains allocated."""
    allocation_id = ec2.allocate_address(Domain="vpc")["AllocationId"]
    made = create(ec2, SubnetId=subnet_id, AllocationId=allocation_id)
    (interface,) = ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert (interface["InterfaceType"], interface["SourceDestCheck"]) == ("nat_gateway", False)
    ec2.delete_nat_gateway(NatGatewayId=made)
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    (address,) = ec2.describe_addresses(AllocationIds=[allocation_id])["Addresses"]
    assert not address.get("AssociationId")


def test_unknown_ids_are_refused(ec2: Client) -> None:
    """NatGatewayNotFound (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
    unknown = "nat-00000000000000000"
    assert refused(ec2.describe_nat_gateways, NatGatewayIds=[unknown]) == "NatGatewayNotFound"
    assert refused(ec2.delete_nat_gateway, NatGatewayId=unknown) == "NatGatewayNotFound"


def test_a_token_makes_one(ec2: Client, subnet_id: str) -> None:
    """The same ClientToken makes one NAT gateway (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html)."""
    parameters = {"SubnetId": subnet_id, "ConnectivityType": "private", "ClientToken": "token"}
    assert create(ec2, **parameters) == create(ec2, **parameters)


def test_filters(ec2: Client, vpc_id: str, subnet_id: str) -> None:
    """nat-gateway-id, state, subnet-id, vpc-id and tags (botocore model, DescribeNatGatewaysRequest)."""
    tags = [{"ResourceType": "natgateway", "Tags": [{"Key": "team", "Value": "network"}]}]
    made = create(ec2, SubnetId=subnet_id, ConnectivityType="private", TagSpecifications=tags)
    ec2.delete_nat_gateway(NatGatewayId=create(ec2, SubnetId=subnet_id, ConnectivityType="private"))
    filters = {"nat-gateway-id": made, "state": "available", "tag:team": "network", "tag-key": "team"}
    for name, value in filters.items():
        found = ec2.describe_nat_gateways(Filter=[{"Name": name, "Values": [value]}])["NatGateways"]
        assert [item["NatGatewayId"] for item in found] == [made], name
    gateway_id = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=other)
    create(ec2, VpcId=other, AvailabilityMode="regional")  # it has no subnet to compare
    for name, value in {"vpc-id": vpc_id, "subnet-id": subnet_id}.items():
        assert len(ec2.describe_nat_gateways(Filter=[{"Name": name, "Values": [value]}])["NatGateways"]) == 2, name
