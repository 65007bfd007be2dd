"""Transit gateway route tables: associations, propagations, static routes, and searches.

https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html and
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SearchTransitGatewayRoutes.html
"""

from ipaddress import IPv4Network
from itertools import islice
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.ec2.models import ec2_backends

from sandbox.dynamic import Client
from sandbox.ec2.transit_gateways import Target, static_routes
from sandbox.server import Sandbox

ALL = [{"Name": "state", "Values": ["active", "blackhole"]}]


class Hub:
    """A transit gateway with its own route table and attached VPCs with 10.0.0.0/16, 10.1.0.0/16, and so on."""

    def __init__(self, ec2: Client, vpcs: int = 2) -> None:
        """Build it without associations, propagations, and routes."""
        self.ec2 = ec2
        options = {"DefaultRouteTableAssociation": "disable", "DefaultRouteTablePropagation": "disable"}
        self.gateway = ec2.create_transit_gateway(Options=options)["TransitGateway"]["TransitGatewayId"]
        made = ec2.create_transit_gateway_route_table(TransitGatewayId=self.gateway)["TransitGatewayRouteTable"]
        self.table = {"TransitGatewayRouteTableId": made["TransitGatewayRouteTableId"]}
        self.vpcs = [ec2.create_vpc(CidrBlock=f"10.{number}.0.0/16")["Vpc"]["VpcId"] for number in range(vpcs)]
        self.attachments = [self._attach(number, vpc_id) for number, vpc_id in enumerate(self.vpcs)]

    def _attach(self, number: int, vpc_id: str) -> dict[str, str]:
        subnet_id = self.ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.{number}.0.0/24")["Subnet"]["SubnetId"]
        made = self.ec2.create_transit_gateway_vpc_attachment(
            TransitGatewayId=self.gateway, VpcId=vpc_id, SubnetIds=[subnet_id], Options={"Ipv6Support": "enable"}
        )
        return {"TransitGatewayAttachmentId": made["TransitGatewayVpcAttachment"]["TransitGatewayAttachmentId"]}

    def route(self, block: str, number: int | None) -> None:
        """Create a static route to the attachment with this number, or a blackhole for None."""
        target: dict[str, Any] = {"Blackhole": True} if number is None else self.attachments[number]
        self.ec2.create_transit_gateway_route(DestinationCidrBlock=block, **self.table, **target)

    def propagate(self, number: int) -> None:
        """Let an attachment propagate its routes to the table."""
        self.ec2.enable_transit_gateway_route_table_propagation(**self.table, **self.attachments[number])

    def search(self, **filters: str) -> list[dict[str, Any]]:
        """Return the routes that match filters, whose names have _ instead of . and -; without filters, all."""
        conditions = [{"Name": NAMES[name], "Values": [value]} for name, value in filters.items()]
        return list(self.ec2.search_transit_gateway_routes(**self.table, Filters=conditions or ALL)["Routes"])

    def blocks(self, **filters: str) -> list[str]:
        """Return the destinations of the routes that match the filters."""
        return [route["DestinationCidrBlock"] for route in self.search(**filters)]


NAMES = {
    "exact": "route-search.exact-match",
    "longest": "route-search.longest-prefix-match",
    "within": "route-search.subnet-of-match",
    "around": "route-search.supernet-of-match",
    "type": "type",
    "state": "state",
    "resource": "attachment.resource-id",
    "resource_type": "attachment.resource-type",
    "attachment": "attachment.transit-gateway-attachment-id",
}


@pytest.fixture
def hub(ec2: Client) -> Hub:
    """Build a hub with two attached VPCs."""
    return Hub(ec2)


def refused(code: str) -> Any:
    """Expect an error with this code."""
    return pytest.raises(ClientError, match=rf"\({code}\)")


def test_static_route_tells_its_attachment(hub: Hub) -> None:
    """A route has its attachment and the attachment's resource."""
    hub.route("0.0.0.0/0", 1)
    attached = {**hub.attachments[1], "ResourceId": hub.vpcs[1], "ResourceType": "vpc"}
    wanted = {"DestinationCidrBlock": "0.0.0.0/0", "Type": "static", "State": "active"}
    assert hub.search() == [{**wanted, "TransitGatewayAttachments": [attached]}]


def test_blackhole_route_has_no_attachment(hub: Hub) -> None:
    """A static route has either an attachment or is a blackhole."""
    hub.route("10.9.0.0/16", None)
    assert hub.search() == [{"DestinationCidrBlock": "10.9.0.0/16", "Type": "static", "State": "blackhole"}]
    with refused("InvalidParameterCombination"):
        hub.ec2.create_transit_gateway_route(
            DestinationCidrBlock="10.8.0.0/16", Blackhole=True, **hub.table, **hub.attachments[0]
        )
    with refused("MissingParameter"):
        hub.ec2.create_transit_gateway_route(DestinationCidrBlock="10.8.0.0/16", **hub.table)


def test_route_to_a_deleted_attachment_is_a_blackhole(hub: Hub) -> None:
    """When an attachment is deleted, its propagated routes are removed, and static routes to it become blackholes."""
    hub.route("0.0.0.0/0", 1)
    hub.propagate(1)
    assert hub.blocks() == ["0.0.0.0/0", "10.1.0.0/16"]
    hub.ec2.delete_transit_gateway_vpc_attachment(**hub.attachments[1])
    assert [(route["DestinationCidrBlock"], route["State"]) for route in hub.search()] == [("0.0.0.0/0", "blackhole")]


def test_static_routes_are_unique(hub: Hub) -> None:
    """A destination has at most one static route, which can be deleted."""
    hub.route("0.0.0.0/0", 0)
    with refused("RouteAlreadyExists"):
        hub.route("0.0.0.0/0", 1)
    anywhere = {"DestinationCidrBlock": "0.0.0.0/0", **hub.table}
    assert hub.blocks(resource=hub.vpcs[0]) == ["0.0.0.0/0"]
    hub.ec2.delete_transit_gateway_route(**anywhere)
    assert hub.search() == []
    with refused("InvalidRoute.NotFound"):
        hub.ec2.delete_transit_gateway_route(**anywhere)


@pytest.mark.parametrize("block", ["10.0.0.1/16", "everything"])
def test_destination_is_a_block(hub: Hub, block: str) -> None:
    """A destination that is not a CIDR block is rejected."""
    with refused("InvalidParameterValue"):
        hub.route(block, 0)


def test_attachment_propagates_its_vpcs_blocks(hub: Hub) -> None:
    """All IPv4 and IPv6 blocks of a VPC are propagated."""
    hub.ec2.associate_vpc_cidr_block(VpcId=hub.vpcs[0], CidrBlock="10.100.0.0/16")
    hub.ec2.associate_vpc_cidr_block(VpcId=hub.vpcs[0], AmazonProvidedIpv6CidrBlock=True)
    [vpc] = hub.ec2.describe_vpcs(VpcIds=[hub.vpcs[0]])["Vpcs"]
    ipv6 = vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    hub.propagate(0)
    assert {route["Type"] for route in hub.search()} == {"propagated"}
    found = hub.blocks()
    assert found[:2] == ["10.0.0.0/16", "10.100.0.0/16"]
    assert len(found) == len(hub.blocks(exact=ipv6)) + 2 == 3


def test_static_route_hides_the_propagated_one(hub: Hub) -> None:
    """For equal destinations, the table shows the static route, or the propagated one after its deletion."""
    hub.propagate(0)
    hub.route("10.0.0.0/16", 1)
    assert [(route["Type"], route["TransitGatewayAttachments"][0]["ResourceId"]) for route in hub.search()] == [
        ("static", hub.vpcs[1])
    ]
    hub.ec2.delete_transit_gateway_route(DestinationCidrBlock="10.0.0.0/16", **hub.table)
    assert [route["Type"] for route in hub.search()] == ["propagated"]


def test_association_is_with_one_table(hub: Hub) -> None:
    """An attachment is associated with one table, which its owner can see."""
    other = hub.ec2.create_transit_gateway_route_table(TransitGatewayId=hub.gateway)["TransitGatewayRouteTable"]
    other_table = {"TransitGatewayRouteTableId": other["TransitGatewayRouteTableId"]}
    hub.ec2.associate_transit_gateway_route_table(**hub.table, **hub.attachments[0])
    with refused("Resource.AlreadyAssociated"):
        hub.ec2.associate_transit_gateway_route_table(**other_table, **hub.attachments[0])
    wanted = [hub.attachments[0]["TransitGatewayAttachmentId"]]
    answer = hub.ec2.describe_transit_gateway_attachments(TransitGatewayAttachmentIds=wanted)
    [found] = answer["TransitGatewayAttachments"]
    assert found["Association"] == {**hub.table, "State": "associated"}


@pytest.fixture
def nested(hub: Hub) -> Hub:
    """Add nested routes and an IPv6 route."""
    for block, number in {"0.0.0.0/0": 1, "10.1.2.0/24": 0, "10.1.2.128/25": None, "::/0": 1}.items():
        hub.route(block, number)
    hub.propagate(1)
    return hub


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"exact": "10.1.0.0/16"}, ["10.1.0.0/16"]),
        ({"exact": "10.1.0.0/17"}, []),
        ({"longest": "10.1.2.200"}, ["10.1.2.128/25"]),
        ({"longest": "10.1.2.0/24"}, ["10.1.2.0/24"]),
        ({"longest": "192.0.2.1"}, ["0.0.0.0/0"]),
        ({"longest": "2001:db8::1"}, ["::/0"]),
        ({"within": "10.1.0.0/16"}, ["10.1.0.0/16", "10.1.2.0/24", "10.1.2.128/25"]),
        ({"around": "10.1.2.0/25"}, ["0.0.0.0/0", "10.1.0.0/16", "10.1.2.0/24"]),
        ({"type": "propagated"}, ["10.1.0.0/16"]),
        ({"state": "blackhole"}, ["10.1.2.128/25"]),
        ({"state": "active", "within": "10.1.2.0/24"}, ["10.1.2.0/24"]),
        ({"resource_type": "vpc", "type": "static"}, ["0.0.0.0/0", "10.1.2.0/24", "::/0"]),
        ({"resource_type": "vpn"}, []),
    ],
)
def test_search(nested: Hub, filters: dict[str, str], wanted: list[str]) -> None:
    """A search returns the routes that match all filters: state, type, attachment, and four ways to match a block."""
    assert nested.blocks(**filters) == wanted


def test_search_by_attachment(nested: Hub) -> None:
    """A search can return only the routes to one attachment."""
    assert nested.blocks(attachment=nested.attachments[0]["TransitGatewayAttachmentId"]) == ["10.1.2.0/24"]


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ([], "MissingParameter"),
        ([{"Name": "colour", "Values": ["red"]}], "InvalidParameterValue"),
        ([{"Name": "route-search.exact-match", "Values": ["everything"]}], "InvalidParameterValue"),
    ],
)
def test_refused_searches(hub: Hub, filters: list[dict[str, Any]], code: str) -> None:
    """A search needs at least one known filter, with a valid block if the filter compares blocks."""
    with refused(code):
        hub.ec2.search_transit_gateway_routes(**hub.table, Filters=filters)


def test_pages_of_a_search(hub: Hub) -> None:
    """A search returns at most MaxResults routes, says if there are more, and continues from a token."""
    for number in range(12):
        hub.route(f"192.0.2.{number}/32", None)
    first = hub.ec2.search_transit_gateway_routes(**hub.table, Filters=ALL, MaxResults=10)
    assert (len(first["Routes"]), first["AdditionalRoutesAvailable"]) == (10, True)
    rest = hub.ec2.search_transit_gateway_routes(**hub.table, Filters=ALL, MaxResults=10, NextToken=first["NextToken"])
    assert (len(rest["Routes"]), rest["AdditionalRoutesAvailable"], "NextToken" in rest) == (2, False, False)
    blocks = [route["DestinationCidrBlock"] for page in (first, rest) for route in page["Routes"]]
    assert sorted(blocks) == sorted(f"192.0.2.{number}/32" for number in range(12))


def test_search_without_limit_returns_a_thousand(sandbox: Sandbox, hub: Hub) -> None:
    """Without MaxResults, a search returns at most 1,000 routes."""
    backend = ec2_backends[sandbox.account_id][sandbox.region]
    table = backend.transit_gateways_route_tables[hub.table["TransitGatewayRouteTableId"]]
    for block in islice(IPv4Network("198.18.0.0/15").subnets(new_prefix=32), 1001):
        static_routes(table)[block] = Target(None, blackhole=True)
    found = hub.ec2.search_transit_gateway_routes(**hub.table, Filters=ALL)
    assert (len(found["Routes"]), found["AdditionalRoutesAvailable"]) == (1000, True)
