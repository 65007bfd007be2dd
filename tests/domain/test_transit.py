"""Paths through a transit gateway: which table, which zone, and what counts as certain."""

from dataclasses import replace

import pytest

from express_path.domain.network import TransitGatewayAttachment, TransitGatewayRouteTable
from express_path.domain.snapshot import Snapshot
from tests.domain.make import EXPRESS_LIST, by_id, endpoint, judged, route, snapshot, subnet, table

SPOKE = TransitGatewayAttachment("tgw-attach-1", "tgw-1", "vpc", "vpc-1", route_table_id="tgw-rtb-1")
EGRESS = TransitGatewayAttachment("tgw-attach-2", "tgw-1", "vpc", "vpc-2", subnet_ids=("subnet-2a", "subnet-2b"))
TO_EGRESS = TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-2"),))
TO_NAT, TO_VPN, TO_NOTHING = (route("0.0.0.0/0", "nat-1"),), (route("0.0.0.0/0", "vgw-1"),), ()


def hub(*, first: tuple = TO_NAT, second: tuple = TO_NAT, spoke: object = SPOKE, egress: object = EGRESS) -> Snapshot:
    """A spoke whose default route leads through a transit gateway to vpc-2, with a table of its own in either zone."""
    return snapshot(
        subnets=by_id(
            subnet(availability_zone_id="use1-az1"),
            subnet("subnet-2a", "vpc-2", availability_zone_id="use1-az1"),
            subnet("subnet-2b", "vpc-2", availability_zone_id="use1-az2"),
        ),
        route_tables=by_id(
            table("rtb-1", route("0.0.0.0/0", "tgw-1"), subnets=("subnet-1",)),
            table("rtb-2a", *first, subnets=("subnet-2a",), vpc_id="vpc-2"),
            table("rtb-2b", *second, subnets=("subnet-2b",), vpc_id="vpc-2"),
        ),
        transit_gateway_attachments=by_id(spoke, egress),
        transit_gateway_route_tables=by_id(TO_EGRESS),
    )


def test_a_nat_beyond_is_found() -> None:
    """Central egress: the path names the transit gateway, the attachment and the NAT gateway of the other VPC."""
    verdict = judged(hub())
    assert verdict.reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert [hop.id for hop in verdict.path] == ["tgw-1", "tgw-attach-2", "nat-1"]


def test_traffic_stays_in_its_zone() -> None:
    """Where the attachment has a subnet in the zone that traffic comes from, the other zone's table is no evidence."""
    assert judged(hub(second=TO_VPN)).reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert judged(hub(first=TO_VPN)).reason == "UNRESOLVED_EGRESS"


@pytest.mark.parametrize("second", [TO_VPN, TO_NOTHING], ids=["vpn", "no route"])
def test_in_appliance_mode_every_zone_must_lead_to_a_nat(second: tuple) -> None:
    """A flow may take any zone then, so that a NAT in one of them is not certain."""
    assert judged(hub(second=second, egress=replace(EGRESS, appliance_mode=True))).reason == "UNRESOLVED_EGRESS"
    assert judged(hub(egress=replace(EGRESS, appliance_mode=True))).reason == "NAT_BEYOND_TRANSIT_GATEWAY"


def test_no_route_beyond_is_no_route() -> None:
    """Where the other VPC's table certainly holds nothing, no address has a way out."""
    assert judged(hub(first=TO_NOTHING)).reason == "NO_ROUTE"


def test_zones_that_split_a_block_differently_are_compared_address_by_address() -> None:
    """Half of the addresses meet a NAT in either zone: these are certain, whatever holds for the other half."""
    half = (route("198.51.100.0/25", "nat-1"),)
    network = hub(first=half, second=TO_NAT, egress=replace(EGRESS, appliance_mode=True))
    assert judged(network).reason == "NAT_BEYOND_TRANSIT_GATEWAY"


def test_routes_of_equal_prefix_are_compared_address_by_address() -> None:
    """AWS picks the endpoint or the transit gateway; half of the addresses find a NAT there, the others nothing."""
    network = hub(first=(route("198.51.100.0/25", "nat-1"),))
    own = replace(EXPRESS_LIST, id="pl-own", name="own", aws_owned=False)
    tied = table("rtb-1", route("pl-express", "vpce-express"), route("pl-own", "tgw-1"), subnets=("subnet-1",))
    network = replace(
        network,
        route_tables={**network.route_tables, "rtb-1": tied},
        prefix_lists=by_id(EXPRESS_LIST, own),
        vpc_endpoints=by_id(endpoint()),
    )
    assert judged(network).reason == "PARTLY_NAT"


UNRESOLVED = {
    "attachments unreadable": replace(hub(), transit_gateway_attachments=None),
    "route tables unreadable": replace(hub(), transit_gateway_route_tables=None),
    "no attachment of this VPC": hub(spoke=replace(SPOKE, resource_id="vpc-3")),
    "attachment being deleted": hub(spoke=replace(SPOKE, state="deleting")),
    "association unreadable": hub(spoke=replace(SPOKE, route_table_id=None)),
    "table not listed": hub(spoke=replace(SPOKE, route_table_id="tgw-rtb-9")),
    "truncated search": replace(hub(), transit_gateway_route_tables=by_id(replace(TO_EGRESS, truncated=True))),
    "next attachment not listed": replace(hub(), transit_gateway_attachments=by_id(SPOKE)),
    "a VPN attachment": hub(egress=replace(EGRESS, resource_type="vpn")),
    "next attachment being made": hub(egress=replace(EGRESS, state="pending")),
    "subnets unreadable": hub(egress=replace(EGRESS, subnet_ids=None)),
    "a subnet not listed": hub(egress=replace(EGRESS, subnet_ids=("subnet-9",))),
    "back to where it came from": hub(egress=replace(EGRESS, resource_id="vpc-1", subnet_ids=("subnet-1",))),
    "an internet gateway beyond": hub(first=(route("0.0.0.0/0", "igw-1"),)),
}


@pytest.mark.parametrize("network", UNRESOLVED.values(), ids=UNRESOLVED)
def test_what_cannot_be_followed_is_unresolved(network: Snapshot) -> None:
    """Every gap on the way through a transit gateway is said, never guessed."""
    verdict = judged(network)
    assert verdict.reason == "UNRESOLVED_EGRESS"
    assert verdict.path[0].id == "tgw-1"
    assert "(" in verdict.annotation
