"""Transit gateways: attachments, sharing, route tables, and searches.

https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html and
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SearchTransitGatewayRoutes.html and, for what a spoke may do,
https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html
"""

from ipaddress import ip_network
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox

SPOKE = "111122223333"


DEFAULT = {"DestinationCidrBlock": "0.0.0.0/0"}


@pytest.fixture
def gateway_id(ec2: Client) -> str:
    """Create a transit gateway and return its id."""
    return str(ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"])


@pytest.fixture
def spoke(sandbox: Sandbox) -> Client:
    """Return a client of EC2 in another account."""
    return sandbox.client("ec2", credentials=sandbox.credentials(SPOKE))


def share(sandbox: Sandbox, ec2: Client, gateway_id: str) -> str:
    """Share a transit gateway with the other account and return the share."""
    [gateway] = ec2.describe_transit_gateways(TransitGatewayIds=[gateway_id])["TransitGateways"]
    share = sandbox.client("ram").create_resource_share(
        name="transit", principals=[SPOKE], resourceArns=[gateway["TransitGatewayArn"]]
    )
    return str(share["resourceShare"]["resourceShareArn"])


def subnet_of(ec2: Client, vpc_id: str, number: int = 0, zone: str = "a") -> str:
    """Create a subnet of a VPC in an Availability Zone."""
    answer = ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"us-east-1{zone}")
    return str(answer["Subnet"]["SubnetId"])


def attach(ec2: Client, gateway_id: str, vpc_id: str, **more: Any) -> str:
    """Attach a VPC with a new subnet and return the attachment."""
    subnet_ids = [subnet_of(ec2, vpc_id)]
    made = ec2.create_transit_gateway_vpc_attachment(
        TransitGatewayId=gateway_id, VpcId=vpc_id, SubnetIds=subnet_ids, **more
    )
    return str(made["TransitGatewayVpcAttachment"]["TransitGatewayAttachmentId"])


def attachment_of(ec2: Client, attachment_id: str) -> dict[str, Any]:
    """Return the description of one attachment."""
    [found] = ec2.describe_transit_gateway_attachments(TransitGatewayAttachmentIds=[attachment_id])[
        "TransitGatewayAttachments"
    ]
    return dict(found)


def refused(code: str) -> Any:
    """Expect an error with this code."""
    return pytest.raises(ClientError, match=rf"\({code}\)")


def test_attachment_is_pending_then_available(sandbox: Sandbox, ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """A new attachment is pending for the set number of descriptions, and then available and associated."""
    sandbox.ec2.knobs.pending_describes = 1
    attachment_id = attach(ec2, gateway_id, vpc_id)
    first, second = attachment_of(ec2, attachment_id), attachment_of(ec2, attachment_id)
    assert (first["State"], "Association" in first) == ("pending", False)
    assert (second["State"], second["Association"]["State"]) == ("available", "associated")


def test_vpc_is_attached_once_with_one_subnet_for_each_zone(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """An attachment has one subnet in a zone, and a VPC has one attachment until that is deleted."""
    subnet_ids = [subnet_of(ec2, vpc_id, number) for number in (1, 2)]
    request = {"TransitGatewayId": gateway_id, "VpcId": vpc_id}
    with refused("DuplicateSubnetsInSameZone"):
        ec2.create_transit_gateway_vpc_attachment(**request, SubnetIds=subnet_ids)
    attachment_id = attach(ec2, gateway_id, vpc_id)
    with refused("DuplicateTransitGatewayAttachment"):
        ec2.create_transit_gateway_vpc_attachment(**request, SubnetIds=subnet_ids[:1])
    ec2.delete_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment_id)
    made = ec2.create_transit_gateway_vpc_attachment(**request, SubnetIds=subnet_ids[:1])
    assert made["TransitGatewayVpcAttachment"]["State"] == "pending"


@pytest.mark.parametrize(
    ("options", "associated", "propagates", "tables"),
    [
        ({}, True, True, 1),
        ({"DefaultRouteTableAssociation": "disable"}, False, True, 1),
        ({"DefaultRouteTablePropagation": "disable"}, True, False, 1),
        ({"DefaultRouteTableAssociation": "disable", "DefaultRouteTablePropagation": "disable"}, False, False, 0),
    ],
)
def test_defaults(
    ec2: Client, vpc_id: str, options: dict[str, str], associated: bool, propagates: bool, tables: int
) -> None:
    """If the defaults are on, a new attachment is associated with the default table and propagates to it."""
    gateway = ec2.create_transit_gateway(Options=options)["TransitGateway"]
    attachment_id = attach(ec2, gateway["TransitGatewayId"], vpc_id)
    assert ("Association" in attachment_of(ec2, attachment_id)) is associated
    found = ec2.describe_transit_gateway_route_tables()["TransitGatewayRouteTables"]
    assert len(found) == tables
    for table in found:
        table_id = table["TransitGatewayRouteTableId"]
        by_type = [{"Name": "type", "Values": ["propagated"]}]
        answer = ec2.search_transit_gateway_routes(TransitGatewayRouteTableId=table_id, Filters=by_type)
        assert bool(answer["Routes"]) is propagates


def test_route_needs_an_attachment(ec2: Client, vpc_id: str, table_id: str, gateway_id: str) -> None:
    """A VPC needs an attachment to route to a transit gateway. After it is deleted, the routes are blackholes."""
    with refused("InvalidTransitGatewayID.NotFound"):
        ec2.create_route(RouteTableId=table_id, TransitGatewayId=gateway_id, **DEFAULT)
    attachment_id = attach(ec2, gateway_id, vpc_id)
    ec2.create_route(RouteTableId=table_id, TransitGatewayId=gateway_id, **DEFAULT)
    assert [route["State"] for route in routes(ec2, table_id)] == ["active"]
    ec2.delete_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment_id)
    assert [route["State"] for route in routes(ec2, table_id)] == ["blackhole"]


def routes(ec2: Client, table_id: str) -> list[dict[str, Any]]:
    """Return the routes to transit gateways in a VPC's table."""
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return [route for route in table["Routes"] if "TransitGatewayId" in route]


def test_others_see_a_transit_gateway_when_it_is_shared(
    sandbox: Sandbox, ec2: Client, spoke: Client, gateway_id: str
) -> None:
    """Another account sees a transit gateway, with its owner's id, while it is shared with that account."""
    assert spoke.describe_transit_gateways()["TransitGateways"] == []
    share_arn = share(sandbox, ec2, gateway_id)
    [seen] = spoke.describe_transit_gateways(Filters=[{"Name": "owner-id", "Values": [sandbox.account_id]}])[
        "TransitGateways"
    ]
    assert seen["TransitGatewayId"] == gateway_id
    sandbox.client("ram").delete_resource_share(resourceShareArn=share_arn)
    assert spoke.describe_transit_gateways()["TransitGateways"] == []


def test_attachment_of_another_account_waits_for_its_acceptance(
    sandbox: Sandbox, ec2: Client, spoke: Client, gateway_id: str
) -> None:
    """A spoke's attachment becomes available, and usable in routes, when the transit gateway's owner accepts it."""
    vpc_id = spoke.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    table_id = spoke.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    with refused("InvalidTransitGatewayID.NotFound"):
        attach(spoke, gateway_id, vpc_id)
    share(sandbox, ec2, gateway_id)
    again = {"SubnetIds": [subnet_of(spoke, vpc_id, 1)], "VpcId": vpc_id, "TransitGatewayId": gateway_id}
    made = spoke.create_transit_gateway_vpc_attachment(**again)["TransitGatewayVpcAttachment"]
    attachment_id = made["TransitGatewayAttachmentId"]
    assert made["State"] == attachment_of(ec2, attachment_id)["State"] == "pendingAcceptance"
    with refused("InvalidTransitGatewayID.NotFound"):
        spoke.create_route(RouteTableId=table_id, TransitGatewayId=gateway_id, **DEFAULT)
    with refused("IncorrectState"):
        spoke.accept_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment_id)
    ec2.accept_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment_id)
    spoke.create_route(RouteTableId=table_id, TransitGatewayId=gateway_id, **DEFAULT)
    assert [route["State"] for route in routes(spoke, table_id)] == ["active"]


def test_what_a_spoke_sees(sandbox: Sandbox, ec2: Client, spoke: Client, vpc_id: str) -> None:
    """A spoke sees only its own attachment, without the association, and no route table. The owner sees all."""
    gateway = ec2.create_transit_gateway(Options={"AutoAcceptSharedAttachments": "enable"})["TransitGateway"]
    gateway_id = gateway["TransitGatewayId"]
    share(sandbox, ec2, gateway_id)
    theirs = attach(spoke, gateway_id, spoke.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])
    ours = attach(ec2, gateway_id, vpc_id)
    [seen] = spoke.describe_transit_gateway_attachments()["TransitGatewayAttachments"]
    assert (seen["TransitGatewayAttachmentId"], seen["State"], "Association" in seen) == (theirs, "available", False)
    assert (seen["TransitGatewayOwnerId"], seen["ResourceOwnerId"]) == (sandbox.account_id, SPOKE)
    all_of_it = {attachment["TransitGatewayAttachmentId"]: attachment for attachment in attachments(ec2)}
    assert all_of_it.keys() == {ours, theirs}
    [table_id] = {attachment["Association"]["TransitGatewayRouteTableId"] for attachment in all_of_it.values()}
    assert spoke.describe_transit_gateway_route_tables()["TransitGatewayRouteTables"] == []
    by_state = [{"Name": "state", "Values": ["active"]}]
    with refused("InvalidRouteTableID.NotFound"):
        spoke.search_transit_gateway_routes(TransitGatewayRouteTableId=table_id, Filters=by_state)


def attachments(ec2: Client) -> list[dict[str, Any]]:
    """Return the descriptions of all attachments that an account sees."""
    return list(ec2.describe_transit_gateway_attachments()["TransitGatewayAttachments"])


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


def test_static_route_has_an_attachment_or_is_a_blackhole(hub: Hub) -> None:
    """A route tells its attachment and that attachment's resource; a destination that is no block is rejected."""
    hub.route("0.0.0.0/0", 1)
    hub.route("10.9.0.0/16", None)
    attached = {**hub.attachments[1], "ResourceId": hub.vpcs[1], "ResourceType": "vpc"}
    active = {"DestinationCidrBlock": "0.0.0.0/0", "Type": "static", "State": "active"}
    assert hub.search() == [
        {**active, "TransitGatewayAttachments": [attached]},
        {"DestinationCidrBlock": "10.9.0.0/16", "Type": "static", "State": "blackhole"},
    ]
    for block, target, code in (
        ("10.8.0.0/16", {"Blackhole": True, **hub.attachments[0]}, "InvalidParameterCombination"),
        ("10.8.0.0/16", {}, "MissingParameter"),
        ("10.8.0.1/16", hub.attachments[0], "InvalidParameterValue"),
    ):
        with refused(code):
            hub.ec2.create_transit_gateway_route(DestinationCidrBlock=block, **hub.table, **target)


def test_route_to_a_deleted_attachment_is_a_blackhole(hub: Hub) -> None:
    """When an attachment is deleted, its propagated routes are removed, and static routes to it become blackholes."""
    hub.route("0.0.0.0/0", 1)
    hub.propagate(1)
    assert hub.blocks() == ["0.0.0.0/0", "10.1.0.0/16"]
    hub.ec2.delete_transit_gateway_vpc_attachment(**hub.attachments[1])
    assert [(route["DestinationCidrBlock"], route["State"]) for route in hub.search()] == [("0.0.0.0/0", "blackhole")]


def test_attachment_propagates_its_vpcs_blocks(hub: Hub) -> None:
    """All IPv4 and IPv6 blocks of a VPC are propagated."""
    hub.ec2.associate_vpc_cidr_block(VpcId=hub.vpcs[0], CidrBlock="10.100.0.0/16")
    hub.ec2.associate_vpc_cidr_block(VpcId=hub.vpcs[0], AmazonProvidedIpv6CidrBlock=True)
    [vpc] = hub.ec2.describe_vpcs(VpcIds=[hub.vpcs[0]])["Vpcs"]
    ipv6 = str(ip_network(vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]))  # moto's may have leading zeros
    hub.propagate(0)
    assert {route["Type"] for route in hub.search()} == {"propagated"}
    found = hub.blocks()
    assert found[:2] == ["10.0.0.0/16", "10.100.0.0/16"]
    assert len(found) == len(hub.blocks(exact=ipv6)) + 2 == 3


def test_static_route_hides_the_propagated_one(hub: Hub) -> None:
    """For equal destinations, the table shows the static route."""
    hub.propagate(0)
    hub.route("10.0.0.0/16", 1)
    assert [(route["Type"], route["TransitGatewayAttachments"][0]["ResourceId"]) for route in hub.search()] == [
        ("static", hub.vpcs[1])
    ]


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


def test_what_is_in_use_cannot_be_deleted(hub: Hub) -> None:
    """A table goes after its associations, a transit gateway after its attachments, and its tables go with it.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteTransitGatewayRouteTable.html,
    https://github.com/hashicorp/terraform-provider-aws/issues/7196
    """
    ec2, relation = hub.ec2, {**hub.table, **hub.attachments[0]}
    ec2.associate_transit_gateway_route_table(**relation)
    hub.propagate(0)
    hub.route("0.0.0.0/0", 1)
    with refused("IncorrectState"):
        ec2.delete_transit_gateway_route_table(**hub.table)
    ec2.delete_transit_gateway_route(DestinationCidrBlock="0.0.0.0/0", **hub.table)
    ec2.disable_transit_gateway_route_table_propagation(**relation)
    assert hub.search() == []
    ec2.disassociate_transit_gateway_route_table(**relation)
    for code, call in (
        ("InvalidRoute.NotFound", lambda: ec2.delete_transit_gateway_route(DestinationCidrBlock="::/0", **hub.table)),
        ("InvalidAssociation.NotFound", lambda: ec2.disassociate_transit_gateway_route_table(**relation)),
        (
            "TransitGatewayRouteTablePropagation.NotFound",
            lambda: ec2.disable_transit_gateway_route_table_propagation(**relation),
        ),
    ):
        with refused(code):
            call()
    with refused("IncorrectState"):
        ec2.delete_transit_gateway(TransitGatewayId=hub.gateway)
    for attachment in hub.attachments:
        ec2.delete_transit_gateway_vpc_attachment(**attachment)
    ec2.create_transit_gateway_route_table(TransitGatewayId=hub.gateway)
    ec2.delete_transit_gateway_route_table(**hub.table)
    assert len(ec2.describe_transit_gateway_route_tables()["TransitGatewayRouteTables"]) == 1
    ec2.delete_transit_gateway(TransitGatewayId=hub.gateway)
    assert ec2.describe_transit_gateway_route_tables()["TransitGatewayRouteTables"] == []
    assert ec2.describe_transit_gateways()["TransitGateways"] == []
    with refused("InvalidTransitGatewayID.NotFound"):
        ec2.delete_transit_gateway(TransitGatewayId=hub.gateway)


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
        ({"exact": "::/0"}, ["::/0"]),
        ({"type": "propagated"}, ["10.1.0.0/16"]),
        ({"state": "blackhole"}, ["10.1.2.128/25"]),
        ({"resource_type": "vpc", "type": "static"}, ["0.0.0.0/0", "10.1.2.0/24", "::/0"]),
    ],
)
def test_search(nested: Hub, filters: dict[str, str], wanted: list[str]) -> None:
    """A search returns the routes that match all filters: destination, state, type, and attachment."""
    assert nested.blocks(**filters) == wanted
