"""CreateRoute, ReplaceRoute and DeleteRoute (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateRoute.html)."""

from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused

DEFAULT = {"DestinationCidrBlock": "0.0.0.0/0"}
S3EXPRESS = "com.amazonaws.us-east-1.s3express"


def routes(ec2: Client, table_id: str) -> dict[str, dict[str, Any]]:
    """Return the routes of a table by destination."""
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    names = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
    return {next(route[name] for name in names if name in route): route for route in table["Routes"]}


@pytest.fixture
def gateway_id(ec2: Client, vpc_id: str) -> str:
    """Attach an internet gateway to the VPC and return its id."""
    made = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc_id)
    return str(made)


@pytest.fixture
def endpoint_route(ec2: Client, vpc_id: str, table_id: str) -> dict[str, str]:
    """Create an s3express endpoint for the table and return the destination of its route."""
    ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=S3EXPRESS, RouteTableIds=[table_id])
    (destination,) = (name for name in routes(ec2, table_id) if name.startswith("pl-"))
    return {"RouteTableId": table_id, "DestinationPrefixListId": destination}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ({}, "MissingParameter"),
        ({"NatGatewayId": "nat-00000000000000000"}, "InvalidNatGatewayID.NotFound"),
        ({"TransitGatewayId": "tgw-00000000000000000"}, "InvalidTransitGatewayID.NotFound"),
        ({"GatewayId": "igw-00000000"}, "InvalidInternetGatewayID.NotFound"),
        ({"GatewayId": "vpce-00000000000000000"}, "InvalidParameterValue"),
    ],
)
def test_the_target_must_exist(ec2: Client, table_id: str, target: dict[str, str], code: str) -> None:
    """A route's target must exist and must not be a gateway endpoint.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    """
    assert refused(ec2.create_route, RouteTableId=table_id, **DEFAULT, **target) == code
    assert "0.0.0.0/0" not in routes(ec2, table_id)


def test_the_destination_must_exist(ec2: Client, table_id: str, gateway_id: str) -> None:
    """A route needs a destination; if it is a prefix list, the list must exist."""
    target = {"RouteTableId": table_id, "GatewayId": gateway_id}
    assert refused(ec2.create_route, **target) == "MissingParameter"
    unknown = {"DestinationPrefixListId": "pl-00000000"}
    assert refused(ec2.create_route, **target, **unknown) == "InvalidPrefixListID.NotFound"


def test_one_route_for_a_destination(ec2: Client, table_id: str, gateway_id: str) -> None:
    """A second route for the same destination, or for the VPC's own CIDR, gives RouteAlreadyExists."""
    prefix_list = ec2.create_managed_prefix_list(PrefixListName="mine", MaxEntries=1, AddressFamily="IPv4")[
        "PrefixList"
    ]
    for destination in (
        DEFAULT,
        {"DestinationIpv6CidrBlock": "::/0"},
        {"DestinationPrefixListId": prefix_list["PrefixListId"]},
    ):
        ec2.create_route(RouteTableId=table_id, GatewayId=gateway_id, **destination)
        code = refused(ec2.create_route, RouteTableId=table_id, GatewayId=gateway_id, **destination)
        assert code == "RouteAlreadyExists", destination
    local = {"DestinationCidrBlock": "10.0.0.0/16"}
    assert refused(ec2.create_route, RouteTableId=table_id, GatewayId=gateway_id, **local) == "RouteAlreadyExists"


def test_a_gateway_of_another_vpc_is_refused(ec2: Client, table_id: str) -> None:
    """An internet gateway must be attached to the table's VPC, and a NAT gateway must be in it.

    https://github.com/smoketurner/serverless-vpc-plugin/issues/147
    """
    loose = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    assert refused(ec2.create_route, RouteTableId=table_id, GatewayId=loose, **DEFAULT) == "InvalidParameterValue"
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=other, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"]
    nat = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    assert refused(ec2.create_route, RouteTableId=table_id, NatGatewayId=nat, **DEFAULT) == "InvalidParameterValue"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CoreNetworkArn", "arn:aws:networkmanager::123456789012:core-network/core-network-0"),
        ("LocalGatewayId", "lgw-00000000000000000"),
        ("OdbNetworkArn", "arn:aws:odb:us-east-1:123456789012:odb-network/odbnet_0"),
    ],
)
def test_targets_without_a_resource_here(ec2: Client, table_id: str, gateway_id: str, name: str, value: str) -> None:
    """Core networks, local gateways, and database networks are valid targets (botocore model, Route)."""
    ec2.create_route(RouteTableId=table_id, **DEFAULT, **{name: value})
    assert routes(ec2, table_id)["0.0.0.0/0"][name] == value
    ec2.replace_route(RouteTableId=table_id, GatewayId=gateway_id, **DEFAULT)
    assert name not in routes(ec2, table_id)["0.0.0.0/0"]


def test_replacing_the_target(ec2: Client, vpc_id: str, table_id: str, gateway_id: str) -> None:
    """ReplaceRoute changes a route's target."""
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    nat = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
    ec2.create_route(RouteTableId=table_id, NatGatewayId=nat, **DEFAULT)
    ec2.replace_route(RouteTableId=table_id, GatewayId=gateway_id, **DEFAULT)
    route = routes(ec2, table_id)["0.0.0.0/0"]
    assert (route["GatewayId"], route.get("NatGatewayId")) == (gateway_id, None)


def test_replacing_what_is_not_there_is_refused(ec2: Client, table_id: str, gateway_id: str) -> None:
    """A route that does not exist cannot be replaced."""
    assert refused(ec2.replace_route, RouteTableId=table_id, GatewayId=gateway_id, **DEFAULT) == "InvalidParameterValue"


def test_the_route_of_an_endpoint_cannot_be_deleted(ec2: Client, endpoint_route: dict[str, str]) -> None:
    """Routes of gateway endpoints can be changed only through the endpoint.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing
    """
    assert refused(ec2.delete_route, **endpoint_route) == "InvalidParameterValue"
    assert endpoint_route["DestinationPrefixListId"] in routes(ec2, endpoint_route["RouteTableId"])


def test_the_route_of_an_endpoint_cannot_be_replaced(
    ec2: Client, endpoint_route: dict[str, str], gateway_id: str
) -> None:
    """The target of such a route cannot be replaced either."""
    assert refused(ec2.replace_route, GatewayId=gateway_id, **endpoint_route) == "InvalidParameterValue"
    route = routes(ec2, endpoint_route["RouteTableId"])[endpoint_route["DestinationPrefixListId"]]
    assert route["GatewayId"].startswith("vpce-")


def test_the_local_route_cannot_be_deleted(ec2: Client, table_id: str) -> None:
    """The local route cannot be deleted (https://docs.aws.amazon.com/vpc/latest/userguide/RouteTables.html)."""
    code = refused(ec2.delete_route, RouteTableId=table_id, DestinationCidrBlock="10.0.0.0/16")
    assert code == "InvalidParameterValue"


def test_deleting_a_route(ec2: Client, table_id: str, gateway_id: str) -> None:
    """Any other route can be deleted once."""
    ec2.create_route(RouteTableId=table_id, GatewayId=gateway_id, **DEFAULT)
    ec2.delete_route(RouteTableId=table_id, **DEFAULT)
    assert "0.0.0.0/0" not in routes(ec2, table_id)
    assert refused(ec2.delete_route, RouteTableId=table_id, **DEFAULT) == "InvalidRoute.NotFound"
