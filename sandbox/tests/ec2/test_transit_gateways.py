"""Transit gateways: attachments and their states, defaults, sharing, and the VPC routes to them.

https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html and, for what a spoke may do,
https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html
"""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.dynamic import Client
from sandbox.server import Sandbox

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


def test_attachment_tells_its_subnets_and_options(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """DescribeTransitGatewayVpcAttachments returns SubnetIds and ApplianceModeSupport, both of which can be changed."""
    attachment_id = attach(ec2, gateway_id, vpc_id, Options={"ApplianceModeSupport": "enable"})
    other = subnet_of(ec2, vpc_id, 1, "b")
    ec2.modify_transit_gateway_vpc_attachment(
        TransitGatewayAttachmentId=attachment_id, AddSubnetIds=[other], Options={"DnsSupport": "disable"}
    )
    filters = [{"Name": "vpc-id", "Values": [vpc_id]}]
    [found] = ec2.describe_transit_gateway_vpc_attachments(Filters=filters)["TransitGatewayVpcAttachments"]
    assert found["SubnetIds"][1:] == [other]
    assert (found["Options"]["ApplianceModeSupport"], found["Options"]["DnsSupport"]) == ("enable", "disable")


def test_vpc_is_attached_once(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """A VPC cannot have a second attachment to a transit gateway before the first one is deleted."""
    attachment_id = attach(ec2, gateway_id, vpc_id)
    again = {"TransitGatewayId": gateway_id, "VpcId": vpc_id, "SubnetIds": [subnet_of(ec2, vpc_id, 1)]}
    with refused("DuplicateTransitGatewayAttachment"):
        ec2.create_transit_gateway_vpc_attachment(**again)
    ec2.delete_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment_id)
    assert ec2.create_transit_gateway_vpc_attachment(**again)["TransitGatewayVpcAttachment"]["State"] == "pending"


def test_one_subnet_for_each_zone(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """An attachment has exactly one subnet in each of its zones."""
    subnet_ids = [subnet_of(ec2, vpc_id, number, "a") for number in range(2)]
    with refused("DuplicateSubnetsInSameZone"):
        ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway_id, VpcId=vpc_id, SubnetIds=subnet_ids)


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


def test_filters_of_attachments(ec2: Client, vpc_id: str, gateway_id: str) -> None:
    """Filters find attachments by resource and association (botocore model); unknown filters are rejected."""
    attachment_id = attach(ec2, gateway_id, vpc_id)
    without_default = ec2.create_transit_gateway(Options={"DefaultRouteTableAssociation": "disable"})["TransitGateway"]
    other = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    attach(ec2, without_default["TransitGatewayId"], other)
    table_id = attachment_of(ec2, attachment_id)["Association"]["TransitGatewayRouteTableId"]
    for name, value in {"resource-id": vpc_id, "association.transit-gateway-route-table-id": table_id}.items():
        found = ec2.describe_transit_gateway_attachments(Filters=[{"Name": name, "Values": [value]}])
        ids = [attachment["TransitGatewayAttachmentId"] for attachment in found["TransitGatewayAttachments"]]
        assert ids == [attachment_id], name
    with refused("InvalidParameterValue"):
        ec2.describe_transit_gateway_attachments(Filters=[{"Name": "colour", "Values": ["red"]}])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tag:Team", "net*"),
        ("tag-key", "Team"),
        ("tag-value", "network"),
        ("options.dns-support", "disable"),
        ("options.amazon-side-asn", "64513"),
    ],
)
def test_filters_of_transit_gateways(ec2: Client, gateway_id: str, name: str, value: str) -> None:
    """Filters find transit gateways by tags and options (botocore model, DescribeTransitGatewaysRequest)."""
    made = ec2.create_transit_gateway(
        Options={"DnsSupport": "disable", "AmazonSideAsn": 64513},
        TagSpecifications=[{"ResourceType": "transit-gateway", "Tags": [{"Key": "Team", "Value": "network"}]}],
    )["TransitGateway"]["TransitGatewayId"]
    found = ec2.describe_transit_gateways(Filters=[{"Name": name, "Values": [value]}])["TransitGateways"]
    assert [gateway["TransitGatewayId"] for gateway in found] == [made]
    assert gateway_id != made


def test_operations_on_state_that_is_not_kept_fail_loudly(ec2: Client, gateway_id: str) -> None:
    """Operations that the sandbox does not model fail; moto would answer without associations and propagations."""
    [table] = ec2.describe_transit_gateway_route_tables()["TransitGatewayRouteTables"]
    assert table["TransitGatewayId"] == gateway_id
    with refused("InternalFailure"):
        ec2.get_transit_gateway_route_table_associations(TransitGatewayRouteTableId=table["TransitGatewayRouteTableId"])
