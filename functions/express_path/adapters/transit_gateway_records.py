"""Turn EC2's descriptions of transit gateways into records (field names: botocore model of ec2)."""

from collections.abc import Iterable

from express_path.domain.network.resources import (
    Rank,
    Route,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
)
from express_path.fields import Description, block, flag, identifier, ids, nested, optional_identifier, rows


def attachments(
    described: Iterable[Description], vpc_attachments: Iterable[Description]
) -> dict[str, TransitGatewayAttachment]:
    """Join DescribeTransitGatewayAttachments (association) with DescribeTransitGatewayVpcAttachments (subnets)."""
    of_vpcs = {
        identifier(attachment, "TransitGatewayAttachmentId", "TransitGatewayVpcAttachments"): attachment
        for attachment in vpc_attachments
    }
    found = {}
    for description in described:
        attachment_id = identifier(description, "TransitGatewayAttachmentId", "TransitGatewayAttachments")
        found[attachment_id] = _attachment(attachment_id, description, of_vpcs.pop(attachment_id, {}))
    for attachment_id, description in of_vpcs.items():
        as_resource = {**description, "ResourceType": "vpc", "ResourceId": description.get("VpcId")}
        found[attachment_id] = _attachment(attachment_id, as_resource, description)
    return found


def _attachment(attachment_id: str, description: Description, of_vpc: Description) -> TransitGatewayAttachment:
    association = nested(description, "Association", attachment_id)
    table_id = optional_identifier(association, "TransitGatewayRouteTableId", attachment_id)
    associated = optional_identifier(association, "State", attachment_id).lower() == "associated"
    options = nested(of_vpc, "Options", attachment_id)
    return TransitGatewayAttachment(
        id=attachment_id,
        transit_gateway_id=identifier(description, "TransitGatewayId", attachment_id),
        resource_type=identifier(description, "ResourceType", attachment_id).lower(),
        resource_id=optional_identifier(description, "ResourceId", attachment_id),
        state=identifier(description, "State", attachment_id).lower(),
        route_table_id=(table_id or None) if associated else None,
        subnet_ids=ids(of_vpc, "SubnetIds", attachment_id) or None,
        appliance_mode=optional_identifier(options, "ApplianceModeSupport", attachment_id) == "enable",
    )


def transit_gateway_route_table(table_id: str, response: Description) -> TransitGatewayRouteTable:
    """Return the record of a SearchTransitGatewayRoutes response; AdditionalRoutesAvailable: it left routes out."""
    found = rows(response, "Routes", table_id)
    routes = tuple(route for description in found for route in _routes(description, table_id))
    return TransitGatewayRouteTable(table_id, routes, truncated=flag(response, "AdditionalRoutesAvailable", table_id))


def _routes(description: Description, table_id: str) -> list[Route]:
    """Return one route per attachment: several mean equal-cost paths, any of which may carry a flow."""
    destination = description.get("DestinationCidrBlock")
    prefix_list_id = optional_identifier(description, "PrefixListId", table_id)
    state = identifier(description, "State", f"a route of {table_id}").lower()
    rank = Rank.PREFIX_LIST if prefix_list_id else Rank.STATIC
    if optional_identifier(description, "Type", table_id) == "propagated":
        rank = Rank.PROPAGATED
    targets = [
        optional_identifier(attachment, "TransitGatewayAttachmentId", table_id)
        for attachment in _attached(description, table_id)
    ]
    return [
        Route(
            destination=block(destination, "DestinationCidrBlock", table_id) if destination else prefix_list_id,
            target_id=target,
            target_kind=TargetKind.TRANSIT_GATEWAY_ATTACHMENT,
            rank=rank,
            state=state,
        )
        for target in targets or [""]
        if state in ("active", "blackhole")
    ]


def _attached(description: Description, table_id: str) -> list[Description]:
    return rows(description, "TransitGatewayAttachments", table_id)
