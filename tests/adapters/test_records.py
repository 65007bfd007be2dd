"""EC2's descriptions into records: fields as EC2 spells them, and faults by name."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.adapters import records as read
from express_path.domain.network.addresses import parse_cidr
from express_path.domain.network.resources import (
    Association,
    BlockMode,
    NatGateway,
    NetworkInterface,
    Rank,
    Subnet,
    Vpc,
    VpcEndpoint,
)
from express_path.errors import RecordError
from tests.support.junk import spoilt

VPC = {"VpcId": "vpc-1", "OwnerId": "111122223333", "Tags": [{"Key": "team", "Value": "lake"}, {"Key": "empty"}]}
SUBNET = {
    "SubnetId": "subnet-1",
    "VpcId": "vpc-1",
    "OwnerId": "111122223333",
    "AvailabilityZone": "us-east-1a",
    "AvailabilityZoneId": "use1-az4",
    "Ipv6Native": True,
    "EnableDns64": True,
    "Ipv6CidrBlockAssociationSet": [
        {"Ipv6CidrBlock": "2001:db8::/64", "Ipv6CidrBlockState": {"State": "disassociated"}},
        {"Ipv6CidrBlock": "2001:db8:1::/64", "Ipv6CidrBlockState": {"State": "associated"}},
    ],
}
TABLE = {
    "RouteTableId": "rtb-1",
    "VpcId": "vpc-1",
    "OwnerId": "111122223333",
    "Routes": [
        {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "Origin": "CreateRoute", "State": "active"}
    ],
    "Associations": [
        {"Main": True, "AssociationState": {"State": "associated"}},
        {"Main": False, "SubnetId": "subnet-1", "AssociationState": {"State": "disassociating"}},
        {"Main": False, "GatewayId": "igw-1"},
    ],
}
ENDPOINT = {
    "VpcEndpointId": "vpce-1",
    "VpcId": "vpc-1",
    "VpcEndpointType": "GatewayLoadBalancer",
    "ServiceName": "com.amazonaws.vpce.us-east-1.vpce-svc-1",
    "State": "Available",
    "IpAddressType": "Ipv4",
    "SubnetIds": ["subnet-1"],
    "RouteTableIds": [],
    "OwnerId": "111122223333",
}
NAT = {"NatGatewayId": "nat-1", "VpcId": "vpc-1", "SubnetId": "subnet-1", "ConnectivityType": "private"}
INTERFACE = {
    "NetworkInterfaceId": "eni-1",
    "SubnetId": "subnet-1",
    "SourceDestCheck": False,
    "Attachment": {"InstanceId": "i-1", "DeviceIndex": 0},
}


def test_a_vpc() -> None:
    """A tag without a value has an empty one."""
    assert read.vpc(VPC) == Vpc("vpc-1", "111122223333", {"team": "lake", "empty": ""})
    assert read.vpc({"VpcId": "vpc-1"}) == Vpc("vpc-1")


def test_a_subnet() -> None:
    """IPv6 counts where one of the blocks is associated."""
    native = Subnet("subnet-1", "vpc-1", "111122223333", "use1-az4", ipv6_native=True, has_ipv6=True, dns64=True)
    assert read.subnet(SUBNET) == native
    going = [{"Ipv6CidrBlockState": {"State": "disassociating"}}, {}]
    assert not read.subnet({**SUBNET, "Ipv6CidrBlockAssociationSet": going}).has_ipv6
    plain = read.subnet({key: SUBNET[key] for key in ("SubnetId", "VpcId", "OwnerId")})
    assert plain == Subnet("subnet-1", "vpc-1", "111122223333")


@pytest.mark.parametrize(
    ("shown", "mode"),
    [
        ("off", BlockMode.OFF),
        ("block-ingress", BlockMode.INGRESS),
        ("block-bidirectional", BlockMode.BIDIRECTIONAL),
        (None, BlockMode.OFF),
        ("block-everything", BlockMode.UNKNOWN),
    ],
)
def test_mode_of_block_public_access(shown: str | None, mode: BlockMode) -> None:
    """EC2 shows the mode of subnets and VPCs, older output of the AWS CLI does not; a new mode is unknown."""
    states = {"BlockPublicAccessStates": {"InternetGatewayBlockMode": shown}} if shown else {}
    assert read.subnet({**SUBNET, **states}).block_mode is mode
    assert read.vpc({"VpcId": "vpc-1", **states}).block_mode is mode


def test_a_route_table() -> None:
    """Associations keep their state, the main one's subnet is absent."""
    table = read.route_table(TABLE)
    assert (table.id, table.vpc_id, table.owner_id) == ("rtb-1", "vpc-1", "111122223333")
    assert table.associations == (
        Association(main=True),
        Association(subnet_id="subnet-1", state="disassociating"),
        Association(gateway_id="igw-1"),
    )


@pytest.mark.parametrize(
    ("field", "target", "kind"),
    [
        ("GatewayId", "local", "LOCAL"),
        ("GatewayId", "igw-1", "INTERNET_GATEWAY"),
        ("GatewayId", "vgw-1", "VIRTUAL_PRIVATE_GATEWAY"),
        ("GatewayId", "vpce-1", "VPC_ENDPOINT"),
        ("NatGatewayId", "nat-1", "NAT_GATEWAY"),
        ("EgressOnlyInternetGatewayId", "eigw-1", "EGRESS_ONLY_INTERNET_GATEWAY"),
        ("TransitGatewayId", "tgw-1", "TRANSIT_GATEWAY"),
        ("NetworkInterfaceId", "eni-1", "NETWORK_INTERFACE"),
        ("InstanceId", "i-1", "INSTANCE"),
        ("VpcPeeringConnectionId", "pcx-1", "VPC_PEERING_CONNECTION"),
        ("LocalGatewayId", "lgw-1", "LOCAL_GATEWAY"),
        ("CarrierGatewayId", "cagw-1", "CARRIER_GATEWAY"),
        ("CoreNetworkArn", "arn:aws:networkmanager::111122223333:core-network/core-network-1", "CORE_NETWORK"),
        ("OdbNetworkArn", "arn:aws:odb:us-east-1:111122223333:odb-network/odbnet_1", "ODB_NETWORK"),
        ("GatewayId", "new-1", "UNKNOWN"),
    ],
)
def test_a_routes_target(field: str, target: str, kind: str) -> None:
    """Every field in which EC2 names a route's target."""
    (route,) = read.route_table({**TABLE, "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", field: target}]}).routes
    assert (route.target_id, route.target_kind, route.state, route.rank) == (target, kind, "active", Rank.STATIC)


def test_a_route_to_an_instance_is_one_to_its_interface() -> None:
    """EC2 names both; the interface is what forwards."""
    both = {"DestinationCidrBlock": "0.0.0.0/0", "InstanceId": "i-1", "NetworkInterfaceId": "eni-1"}
    (route,) = read.route_table({**TABLE, "Routes": [both]}).routes
    assert route.target_id == "eni-1"


def test_a_route_without_a_target_is_of_an_unknown_kind() -> None:
    """EC2's description does not show where its traffic goes."""
    (route,) = read.route_table({**TABLE, "Routes": [{"DestinationCidrBlock": "0.0.0.0/0"}]}).routes
    assert (route.target_id, route.target_kind) == ("", "UNKNOWN")


@pytest.mark.parametrize(
    ("described", "destination"),
    [
        ({"DestinationCidrBlock": "10.1.2.3/8"}, parse_cidr("10.0.0.0/8")),
        ({"DestinationIpv6CidrBlock": "64:ff9b::/96"}, parse_cidr("64:ff9b::/96")),
        ({"DestinationPrefixListId": "pl-1"}, "pl-1"),
        ({"DestinationCidrBlock": None, "DestinationIpv6CidrBlock": "::/0"}, parse_cidr("::/0")),
    ],
)
def test_a_routes_destination(described: dict, destination: object) -> None:
    """A block of either family or a prefix list; no field is there for certain."""
    (route,) = read.route_table({**TABLE, "Routes": [described]}).routes
    assert route.destination == destination


@pytest.mark.parametrize("origin", ["EnableVgwRoutePropagation", "Advertisement"])
def test_a_propagated_route_ranks_last(origin: str) -> None:
    """By a virtual private gateway or by VPC Route Server."""
    described = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "vgw-1", "Origin": origin, "State": "Blackhole"}
    (route,) = read.route_table({**TABLE, "Routes": [described]}).routes
    assert route.rank is Rank.PROPAGATED
    assert route.is_blackhole


def test_a_vpc_endpoint() -> None:
    """Types and states are compared without case."""
    expected = VpcEndpoint(
        "vpce-1",
        "vpc-1",
        "gatewayloadbalancer",
        "com.amazonaws.vpce.us-east-1.vpce-svc-1",
        "available",
        subnet_ids=("subnet-1",),
        owner_id="111122223333",
    )
    assert read.vpc_endpoint(ENDPOINT) == expected


def test_a_nat_gateway() -> None:
    """A zonal one has a subnet, a regional one a table of its own."""
    assert read.nat_gateway(NAT) == NatGateway("nat-1", "vpc-1", "subnet-1", "private")
    regional = {"NatGatewayId": "nat-1", "VpcId": "vpc-1", "AvailabilityMode": "regional", "RouteTableId": "rtb-1"}
    assert read.nat_gateway(regional) == NatGateway("nat-1", "vpc-1", None, "public", "regional", "rtb-1")


def test_a_network_interface() -> None:
    """Attached to an instance or not."""
    assert read.network_interface(INTERFACE) == NetworkInterface(
        "eni-1", "subnet-1", source_dest_check=False, instance_id="i-1", device_index=0
    )
    free = {**INTERFACE, "Attachment": None}
    assert read.network_interface(free) == NetworkInterface("eni-1", "subnet-1", source_dest_check=False)


READERS = {
    "Vpcs": (read.vpc, VPC, ["VpcId"]),
    "Subnets": (read.subnet, SUBNET, ["SubnetId", "VpcId", "OwnerId"]),
    "RouteTables": (read.route_table, TABLE, ["RouteTableId", "VpcId", "Routes"]),
    "VpcEndpoints": (read.vpc_endpoint, ENDPOINT, ["VpcEndpointId", "VpcId", "VpcEndpointType", "State"]),
    "NatGateways": (read.nat_gateway, NAT, ["NatGatewayId"]),
    "NetworkInterfaces": (read.network_interface, INTERFACE, ["NetworkInterfaceId", "SubnetId", "SourceDestCheck"]),
}


@pytest.mark.parametrize("value", [None, "", 7], ids=repr)
@pytest.mark.parametrize(
    ("name", "field"), [(name, required) for name, (_, _, needed) in READERS.items() for required in needed]
)
def test_a_field_that_is_needed_is_named_where_it_is_missing(name: str, field: str, value: object) -> None:
    """The error carries the resource, the field, what was found and what is allowed."""
    reader, described, _ = READERS[name]
    with pytest.raises(RecordError) as raised:
        reader({**described, field: value})
    assert raised.value.field == field
    assert raised.value.found == value
    assert field in str(raised.value)


@pytest.mark.parametrize(
    ("routes", "field"),
    [
        ([{"DestinationCidrBlock": "10.0.0.0"}], "DestinationCidrBlock"),
        ([{"DestinationIpv6CidrBlock": "::/129"}], "DestinationIpv6CidrBlock"),
        ([{"GatewayId": "igw-1"}], "DestinationPrefixListId"),
        (["rtb-1"], "Routes"),
        ({}, "Routes"),
    ],
)
def test_a_route_that_cannot_be_read_is_refused(routes: object, field: str) -> None:
    """A table with a route left out would be another table."""
    with pytest.raises(RecordError) as raised:
        read.route_table({**TABLE, "Routes": routes})
    assert raised.value.field == field
    assert "rtb-1" in raised.value.resource


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_whatever_is_wrong_is_a_record_error(name: str, data: st.DataObject) -> None:
    """A description spoilt anywhere gives a record or a RecordError, and never another exception."""
    reader, described, _ = READERS[name]
    with suppress(RecordError):
        assert reader(data.draw(spoilt(described))).id
