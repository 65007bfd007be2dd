"""EC2's descriptions of transit gateways as records."""

from contextlib import suppress

import pytest
from hypothesis import given

from express_path.adapters.records import attachments, transit_gateway_route_table
from express_path.domain.network.addresses import parse_cidr
from express_path.domain.network.resources import Rank, TransitGatewayAttachment
from express_path.errors import RecordError
from tests.support.junk import spoilt

DESCRIBED = {
    "TransitGatewayAttachmentId": "tgw-attach-1",
    "TransitGatewayId": "tgw-1",
    "ResourceType": "vpc",
    "ResourceId": "vpc-1",
    "State": "available",
    "Association": {"TransitGatewayRouteTableId": "tgw-rtb-1", "State": "associated"},
}
OF_VPC = {
    "TransitGatewayAttachmentId": "tgw-attach-1",
    "TransitGatewayId": "tgw-1",
    "VpcId": "vpc-1",
    "State": "available",
    "SubnetIds": ["subnet-1", "subnet-2"],
    "Options": {"ApplianceModeSupport": "enable"},
}
WHOLE = TransitGatewayAttachment(
    "tgw-attach-1", "tgw-1", "vpc", "vpc-1", "available", "tgw-rtb-1", ("subnet-1", "subnet-2"), appliance_mode=True
)
ROUTE = {
    "DestinationCidrBlock": "0.0.0.0/0",
    "TransitGatewayAttachments": [{"TransitGatewayAttachmentId": "tgw-attach-1", "ResourceType": "vpc"}],
    "Type": "static",
    "State": "active",
}


def test_the_two_descriptions_of_an_attachment_are_joined() -> None:
    """The association comes from one description, and subnets and appliance mode from the other."""
    assert attachments([DESCRIBED], [OF_VPC]) == {"tgw-attach-1": WHOLE}


def test_either_description_alone_leaves_the_rest_unknown() -> None:
    """A spoke sees no association, and not every dump has the subnets."""
    (alone,) = attachments([DESCRIBED], []).values()
    assert (alone.subnet_ids, alone.appliance_mode, alone.route_table_id) == (None, False, "tgw-rtb-1")
    (spokes,) = attachments([], [OF_VPC]).values()
    assert (spokes.resource_type, spokes.resource_id, spokes.route_table_id) == ("vpc", "vpc-1", None)


@pytest.mark.parametrize("association", [None, {}, {"TransitGatewayRouteTableId": "tgw-rtb-1", "State": "associating"}])
def test_only_an_association_in_force_counts(association: dict | None) -> None:
    """In any other state, the transit gateway does not use that table."""
    (found,) = attachments([{**DESCRIBED, "Association": association}], []).values()
    assert found.route_table_id is None


@pytest.mark.parametrize(
    ("change", "rank"),
    [({}, Rank.STATIC), ({"PrefixListId": "pl-1"}, Rank.PREFIX_LIST), ({"Type": "propagated"}, Rank.PROPAGATED)],
)
def test_a_routes_rank(change: dict, rank: Rank) -> None:
    """Static routes win over prefix-list routes, and these over propagated ones."""
    (route,) = transit_gateway_route_table("tgw-rtb-1", {"Routes": [{**ROUTE, **change}]}).routes
    assert (route.rank, route.destination) == (rank, parse_cidr("0.0.0.0/0"))
    assert (route.target_id, route.target_kind) == ("tgw-attach-1", "TRANSIT_GATEWAY_ATTACHMENT")


def test_a_route_by_a_prefix_list_alone() -> None:
    """If EC2 returns no block, the destination is the list's entries."""
    described = {**ROUTE, "DestinationCidrBlock": None, "PrefixListId": "pl-1"}
    (route,) = transit_gateway_route_table("tgw-rtb-1", {"Routes": [described]}).routes
    assert route.destination == "pl-1"


def test_a_blackhole_has_no_attachment() -> None:
    """A blackhole takes part in the choice of the winning route."""
    described = {"DestinationCidrBlock": "0.0.0.0/0", "Type": "static", "State": "blackhole"}
    (route,) = transit_gateway_route_table("tgw-rtb-1", {"Routes": [described]}).routes
    assert route.is_blackhole


def test_equal_cost_paths_are_alternatives() -> None:
    """If a route has several attachments, traffic can use each of them."""
    several = [{"TransitGatewayAttachmentId": f"tgw-attach-{number}"} for number in (1, 2)]
    table = transit_gateway_route_table("tgw-rtb-1", {"Routes": [{**ROUTE, "TransitGatewayAttachments": several}]})
    assert [route.target_id for route in table.routes] == ["tgw-attach-1", "tgw-attach-2"]


@pytest.mark.parametrize("state", ["pending", "deleting", "deleted"])
def test_a_route_that_is_not_in_force_does_not_count(state: str) -> None:
    """Only active and blackhole routes count."""
    assert transit_gateway_route_table("tgw-rtb-1", {"Routes": [{**ROUTE, "State": state}]}).routes == ()


@pytest.mark.parametrize(("more", "truncated"), [(True, True), (False, False), (None, False)])
def test_a_search_that_left_routes_out_is_truncated(more: bool | None, truncated: bool) -> None:
    """SearchTransitGatewayRoutes returns at most 1,000 routes and says whether there are more."""
    table = transit_gateway_route_table("tgw-rtb-1", {"Routes": [], "AdditionalRoutesAvailable": more})
    assert table.truncated is truncated


@pytest.mark.parametrize("field", ["TransitGatewayAttachmentId", "TransitGatewayId", "ResourceType", "State"])
def test_a_field_that_is_needed_is_named_where_it_is_missing(field: str) -> None:
    """The error names the field."""
    with pytest.raises(RecordError, match=field):
        attachments([{**DESCRIBED, field: None}], [])


@given(described=spoilt(DESCRIBED), of_vpc=spoilt(OF_VPC), route=spoilt(ROUTE))
def test_whatever_is_wrong_is_a_record_error(described: dict, of_vpc: dict, route: dict) -> None:
    """Invalid descriptions give records or a RecordError, and never another exception."""
    with suppress(RecordError):
        assert attachments([described], [of_vpc])
    with suppress(RecordError):
        assert transit_gateway_route_table("tgw-rtb-1", {"Routes": [route]}).id == "tgw-rtb-1"
