"""Reading where traffic of other VPCs enters a VPC: what is listed in which account, and what is denied."""

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, attach, attach_to_core_network, connect_over
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.adapters.entrances import with_entrances
from express_path.adapters.network_reader import SnapshotReader
from express_path.adapters.records import core_network_attachment, transit_gateways_of_tables
from express_path.domain.heal.entrances import entrances
from express_path.domain.heal.transit import transit_concerns
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from tests.support.network import Builder, Private

pytestmark = pytest.mark.slow

ACCOUNT, NETWORK_ACCOUNT = "123456789012", "210987654321"
ROLE = f"arn:aws:iam::{NETWORK_ACCOUNT}:role/network-reader"
CORE = "arn:aws:networkmanager::123456789012:core-network/core-network-1"


def read(aws: Aws, vpc_id: str | None, role_arn: str = "") -> Snapshot:
    """Read a VPC, or the Region, as a heal or a scan does."""
    reader = SnapshotReader(aws)
    snapshot = reader.read(ACCOUNT, vpc_id, RuleParameters(network_role_arn=role_arn or None))
    return with_entrances(aws, reader, snapshot, vpc_id, role_arn)


def codes(snapshot: Snapshot, table_id: str) -> list[str]:
    """Return what blocks the heal of a route table."""
    table, lists = snapshot.route_tables[table_id], snapshot.express_prefix_lists
    return [found.code for found in transit_concerns(Tracer(snapshot), table, table.vpc_id, lists, "")]


def test_hub_and_spoke_of_one_account(aws: Aws, sandbox: Sandbox) -> None:
    """The owner of the transit gateway sees that the hub's table is used, and that the spoke's is not."""
    hub = Hub(Account(sandbox))
    spoke = hub.join(Account(sandbox))
    for snapshot in (read(aws, hub.vpc), read(aws, spoke.vpc), read(aws, None)):
        assert snapshot.transit_gateway_of_table == dict.fromkeys((hub.spokes_table, hub.own_table), hub.gateway)
    assert codes(read(aws, hub.vpc), hub.egress_table) == ["TRANSIT_TRAFFIC"]
    assert codes(read(aws, hub.vpc), hub.public_table) == []
    assert codes(read(aws, spoke.vpc), spoke.table) == []


def test_hub_of_another_account_is_read_with_the_network_role(aws: Aws, sandbox: Sandbox) -> None:
    """Without the role, the tables of a transit gateway that another account owns are unknown."""
    owner = Account(sandbox, NETWORK_ACCOUNT)
    hub, account = Hub(owner), Account(sandbox)
    hub.share(account)
    spoke = hub.join(account)
    assert read(aws, spoke.vpc).transit_gateway_of_table is None
    with_role = read(aws, spoke.vpc, ROLE)
    assert set(with_role.transit_gateway_of_table or ()) == {hub.spokes_table, hub.own_table}
    assert set(with_role.transit_gateway_route_tables or ()) == {hub.spokes_table, hub.own_table}
    assert codes(with_role, spoke.table) == []


def test_list_that_only_another_table_of_the_transit_gateway_names_is_read(aws: Aws, builder: Builder) -> None:
    """Its entries say whether a route leads to the hub. If they cannot be read, it may."""
    hub = Hub(builder)
    list_id = builder.prefix_list("0.0.0.0/0")

    def name_list(parsed: dict[str, list[dict[str, object]]], **_: object) -> None:
        """Show the list in place of the block."""
        for route in parsed["Routes"]:
            if route.pop("DestinationCidrBlock") == "0.0.0.0/0":
                route["PrefixListId"] = list_id

    aws.ec2.meta.events.register("after-call.ec2.SearchTransitGatewayRoutes", name_list)
    assert codes(read(aws, hub.vpc), hub.egress_table) == ["TRANSIT_TRAFFIC"]
    builder.sandbox.faults.deny("ec2", "GetManagedPrefixListEntries")
    assert codes(read(aws, hub.vpc), hub.egress_table) == ["TRANSIT_UNKNOWN"]


def test_nothing_is_read_without_a_route_to_a_gateway(aws: Aws, sandbox: Sandbox, builder: Builder) -> None:
    """Most VPCs need only the call that shows that they are not attached to a transit gateway."""
    vpc = Private(builder)
    snapshot = SnapshotReader(aws).read(ACCOUNT, vpc.vpc, RuleParameters())
    sandbox.calls.clear()
    assert with_entrances(aws, SnapshotReader(aws), snapshot, vpc.vpc, "") is snapshot
    assert sandbox.calls.operations("ec2") == ["DescribeTransitGatewayVpcAttachments"]


def test_tables_are_read_for_an_attached_vpc_without_a_way_back(aws: Aws, builder: Builder) -> None:
    """What a transit gateway leads to a VPC consults its tables, whether or not a response could return this way."""
    hub = Hub(builder)

    def hide(parsed: dict[str, list[dict[str, list[dict[str, object]]]]], **_: object) -> None:
        """Show no route to a transit gateway."""
        for table in parsed["RouteTables"]:
            table["Routes"] = [route for route in table["Routes"] if "TransitGatewayId" not in route]

    aws.ec2.meta.events.register("after-call.ec2.DescribeRouteTables", hide)
    for vpc_id in (hub.vpc, None):
        assert codes(read(aws, vpc_id), hub.egress_table) == ["TRANSIT_TRAFFIC"]


def test_attachments_are_read_where_the_way_back_is_hidden(aws: Aws, builder: Builder) -> None:
    """A target that EC2 does not show may be a transit gateway; its tables then decide."""
    hub = Hub(builder)

    def hide(parsed: dict[str, list[dict[str, list[dict[str, object]]]]], **_: object) -> None:
        """Show no transit gateway as a target."""
        for table in parsed["RouteTables"]:
            for route in table["Routes"]:
                route.pop("TransitGatewayId", None)

    aws.ec2.meta.events.register("after-call.ec2.DescribeRouteTables", hide)
    assert codes(read(aws, hub.vpc), hub.egress_table) == ["TRANSIT_TRAFFIC"]


def test_deleted_table_of_a_transit_gateway_carries_nothing(aws: Aws, builder: Builder) -> None:
    """EC2 may still list it, but has no routes of it."""
    hub, vpc = Hub(builder), Private(builder)
    attach(builder, hub.gateway, vpc.vpc, vpc.subnet)
    builder.route(vpc.public, "10.0.0.0/8", TransitGatewayId=hub.gateway)

    def list_deleted(parsed: dict[str, list[dict[str, str]]], **_: object) -> None:
        """List a table that is deleted, and one that is being deleted."""
        for table_id, state in (("tgw-rtb-old", "deleted"), ("tgw-rtb-older", "Deleting")):
            row = {"TransitGatewayRouteTableId": table_id, "TransitGatewayId": hub.gateway, "State": state}
            parsed["TransitGatewayRouteTables"].append(row)

    aws.ec2.meta.events.register("after-call.ec2.DescribeTransitGatewayRouteTables", list_deleted)
    snapshot = read(aws, vpc.vpc)
    assert snapshot.transit_gateway_of_table == dict.fromkeys((hub.spokes_table, hub.own_table), hub.gateway)
    assert codes(snapshot, vpc.table) == []


def test_denied_list_makes_the_tables_unknown_and_a_failed_one_is_raised(aws: Aws, sandbox: Sandbox) -> None:
    """Losing sight never looks like certainty."""
    hub = Hub(Account(sandbox))
    sandbox.faults.deny("ec2", "DescribeTransitGatewayRouteTables")
    snapshot = read(aws, hub.vpc)
    assert (snapshot.transit_gateway_of_table, "ec2:DescribeTransitGatewayRouteTables" in snapshot.denied) == (
        None,
        True,
    )
    sandbox.faults.clear()
    sandbox.faults.fail("ec2", "DescribeTransitGatewayRouteTables", "ValidationError", 400)
    with pytest.raises(ApiError, match="ec2:DescribeTransitGatewayRouteTables failed with ValidationError"):
        read(aws, hub.vpc)


OF_VPC = {
    "AttachmentId": "attachment-1",
    "CoreNetworkArn": CORE,
    "State": "AVAILABLE",
    "ResourceArn": "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1",
}
ANSWER = {"VpcAttachment": {"Attachment": OF_VPC, "SubnetArns": ["arn:aws:ec2:us-east-1:123456789012:subnet/subnet-1"]}}


def test_core_networks_attachment_is_read() -> None:
    """The core network's ARN, which routes name, stands for the gateway."""
    found = core_network_attachment(ANSWER)
    assert (found.id, found.transit_gateway_id, found.resource_id) == ("attachment-1", CORE, "vpc-1")
    assert (found.state, found.subnet_ids) == ("available", ("subnet-1",))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"State": None}, ("attachment-1", CORE, "vpc-1", "")),
        ({"ResourceArn": None}, ("attachment-1", CORE, "", "available")),
        ({"CoreNetworkArn": "core-network-1"}, ("attachment-1", "core-network-1", "vpc-1", "available")),
        ({"AttachmentId": None}, ("GetVpcAttachment without AttachmentId", CORE, "vpc-1", "available")),
    ],
)
def test_core_networks_attachment_that_shows_less_is_read(changed: dict, expected: tuple) -> None:
    """One odd attachment, which another account may own, must not hide the rest."""
    found = core_network_attachment({"VpcAttachment": {"Attachment": {**OF_VPC, **changed}, "SubnetArns": [None]}})
    assert (found.id, found.transit_gateway_id, found.resource_id, found.state) == expected
    assert found.subnet_ids == ("",)


def test_tables_of_transit_gateways_are_listed_with_ids_of_a_new_form() -> None:
    """A list in which one shows no transit gateway, or one of a new form, is not whole."""
    listed = {"TransitGatewayRouteTableId": "tgwtable-1", "TransitGatewayId": "tgw-1"}
    assert transit_gateways_of_tables([listed]) == {"tgwtable-1": "tgw-1"}
    assert transit_gateways_of_tables([listed, {}]) == {}
    assert transit_gateways_of_tables([{**listed, "TransitGatewayId": "gateway-1"}]) == {}


def test_attachments_of_core_networks_are_read_from_network_manager(
    aws: Aws, sandbox: Sandbox, builder: Builder
) -> None:
    """Those of the core networks that a table of the VPC leads to, in this Region; if that is denied, they are unknown."""
    vpc = Private(builder)
    network_arn, attachment_id = attach_to_core_network(builder, vpc.vpc, vpc.subnet)
    builder.route(vpc.public, "10.0.0.0/8", CoreNetworkArn=network_arn)
    [entrance] = entrances(read(aws, vpc.vpc), vpc.vpc)
    assert (entrance.attachment_id, entrance.subnet_ids) == (attachment_id, (vpc.subnet,))
    [listed] = [call for call in sandbox.calls if call.operation == "ListAttachments"]
    assert listed.parameters["EdgeLocation"] == sandbox.region
    sandbox.faults.deny("networkmanager", "GetVpcAttachment")
    denied = read(aws, vpc.vpc)
    assert denied.core_network_attachments is None
    assert "networkmanager:GetVpcAttachment" in denied.denied
    assert [entrance.attachment_id for entrance in entrances(denied, vpc.vpc)] == [""]


def test_only_attachments_of_the_vpc_are_described(aws: Aws, sandbox: Sandbox, builder: Builder) -> None:
    """A core network may have hundreds. One that is deleted between the two calls is none."""
    vpc, other = Private(builder), Private(builder)
    network_arn, attachment_id = attach_to_core_network(builder, vpc.vpc, vpc.subnet)
    manager = sandbox.client("networkmanager", credentials=builder.credentials)
    place = f"arn:aws:ec2:{sandbox.region}:{builder.account_id}"
    manager.create_vpc_attachment(
        CoreNetworkId=network_arn.rpartition("/")[2],
        VpcArn=f"{place}:vpc/{other.vpc}",
        SubnetArns=[f"{place}:subnet/{other.subnet}"],
    )
    builder.route(vpc.public, "10.0.0.0/8", CoreNetworkArn=network_arn)
    sandbox.calls.clear()
    assert list(read(aws, vpc.vpc).core_network_attachments or ()) == [attachment_id]
    assert [call.operation for call in sandbox.calls].count("GetVpcAttachment") == 1
    sandbox.faults.fail("networkmanager", "GetVpcAttachment", "ResourceNotFoundException", 404)
    assert read(aws, vpc.vpc).core_network_attachments == {}


def connected(builder: Account) -> tuple[Hub, Private, str]:
    """Return a hub whose spokes' traffic goes into a tunnel over a VPC's attachment, to an appliance in its private subnet."""
    hub, vpc = Hub(builder), Private(builder)
    dedicated = builder.subnet(vpc.vpc, builder.table(vpc.vpc))
    attachment = attach(builder, hub.gateway, vpc.vpc, dedicated)
    builder.route(vpc.public, "10.0.0.0/8", TransitGatewayId=hub.gateway)
    connect_id = connect_over(builder, attachment)
    hub.lead("128.0.0.0/1", connect_id)
    hub.lead("0.0.0.0/1", connect_id)
    return hub, vpc, connect_id


def appliance_in(builder: Account, subnet_id: str) -> str:
    """Make a network interface that forwards traffic in a subnet, and return it."""
    made = builder.ec2.create_network_interface(SubnetId=subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    builder.ec2.modify_network_interface_attribute(NetworkInterfaceId=made, SourceDestCheck={"Value": False})
    return str(made)


def test_transport_of_a_connect_attachment_and_its_appliance_are_read(
    aws: Aws, sandbox: Sandbox, builder: Builder
) -> None:
    """The table of the appliance's subnet is blocked; that of another VPC behind the same transit gateway is not."""
    hub, vpc, connect_id = connected(builder)
    other = Private(builder)
    attach(builder, hub.gateway, other.vpc, other.subnet)
    builder.route(other.public, "10.0.0.0/8", TransitGatewayId=hub.gateway)
    for private in (vpc, other):
        appliance_in(builder, private.subnet)
    sandbox.calls.clear()
    snapshot = read(aws, vpc.vpc)
    assert list(snapshot.transit_gateway_connects or ()) == [connect_id]
    assert len(sandbox.calls.of("ec2", "DescribeTransitGatewayConnects")) == 1
    assert len(sandbox.calls.of("ec2", "DescribeNetworkInterfaces")) == 1
    assert codes(snapshot, vpc.table) == ["TRANSIT_UNKNOWN"]
    assert codes(read(aws, other.vpc), other.table) == []
    everything = read(aws, None)
    assert (codes(everything, vpc.table), codes(everything, other.table)) == (["TRANSIT_UNKNOWN"], [])


def test_vpc_without_an_appliance_is_healed_and_unreadable_ones_are_not(
    aws: Aws, sandbox: Sandbox, builder: Builder
) -> None:
    """Without a permission, the Connect attachment may run over any VPC's attachment, or an appliance be in any subnet."""
    hub, vpc, _ = connected(builder)
    assert codes(read(aws, vpc.vpc), vpc.table) == []
    sandbox.faults.deny("ec2", "DescribeNetworkInterfaces")
    assert codes(read(aws, vpc.vpc), vpc.table) == ["TRANSIT_UNKNOWN"]
    sandbox.faults.clear()
    other = Private(builder)
    attach(builder, hub.gateway, other.vpc, other.subnet)
    builder.route(other.public, "10.0.0.0/8", TransitGatewayId=hub.gateway)
    appliance_in(builder, other.subnet)
    sandbox.faults.deny("ec2", "DescribeTransitGatewayConnects")
    snapshot = read(aws, other.vpc)
    assert "ec2:DescribeTransitGatewayConnects" in snapshot.denied
    assert codes(snapshot, other.table) == ["TRANSIT_UNKNOWN"]


def test_connect_attachments_of_another_account_are_read_with_the_network_role(aws: Aws, sandbox: Sandbox) -> None:
    """The owner of the transit gateway lists them."""
    owner, account = Account(sandbox, NETWORK_ACCOUNT), Account(sandbox)
    hub, vpc = Hub(owner), Private(account)
    hub.share(account)
    attachment = attach(account, hub.gateway, vpc.vpc, account.subnet(vpc.vpc, account.table(vpc.vpc)))
    owner.ec2.accept_transit_gateway_vpc_attachment(TransitGatewayAttachmentId=attachment)
    account.route(vpc.public, "10.0.0.0/8", TransitGatewayId=hub.gateway)
    appliance_in(account, vpc.subnet)
    assert codes(read(aws, vpc.vpc, ROLE), vpc.table) == []
    for destination in ("128.0.0.0/1", "0.0.0.0/1"):
        hub.lead(destination, connect_over(owner, attachment))
    assert codes(read(aws, vpc.vpc, ROLE), vpc.table) == ["TRANSIT_UNKNOWN"]


def test_no_connect_attachment_needs_no_further_call(aws: Aws, sandbox: Sandbox) -> None:
    """A transit gateway without one is the usual case."""
    hub = Hub(Account(sandbox))
    sandbox.calls.clear()
    read(aws, hub.vpc)
    assert not sandbox.calls.of("ec2", "DescribeTransitGatewayConnects")
    assert not sandbox.calls.of("ec2", "DescribeNetworkInterfaces")
