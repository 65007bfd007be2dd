"""Transit gateways in the format of the AWS CLI; a route is `<CIDR> -> <attachment>` or `<CIDR> -> blackhole`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.network_files.vpc_rows import Row, tag_list, with_fields

ROUTE = re.compile(
    r"(?P<cidr>\S+) -> (?P<targets>\S+(?: and \S+)?)(?: (?P<propagated>propagated))?(?: by (?P<prefix_list>pl-\S+))?"
)
Attachments = Mapping[str, Mapping[str, Any]]


def attachment_row(  # one parameter for each option of a network file
    gateway_id: str,
    attachment_id: str,
    *,
    owner: str,
    vpc: str = "",
    type: str = "vpc",  # noqa: A002  # as the option is called
    resource: str = "",
    table: str | None = None,
    vpc_owner: str = "",
    subnets: object = None,  # noqa: ARG001  # in the row of DescribeTransitGatewayVpcAttachments
    appliance_mode: bool = False,  # noqa: ARG001  # likewise
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeTransitGatewayAttachments; table is the route table associated with it."""
    row = {
        "TransitGatewayAttachmentId": attachment_id,
        "TransitGatewayId": gateway_id,
        "TransitGatewayOwnerId": owner,
        "ResourceOwnerId": vpc_owner or owner,
        "ResourceType": type,
        "ResourceId": vpc or resource,
        "State": "available",
        "Association": {"TransitGatewayRouteTableId": table, "State": "associated"} if table else None,
        "CreationTime": "2026-01-15T10:05:38+00:00",
        "Tags": tag_list(attachment_id, None),
    }
    return with_fields(row, fields)


def vpc_attachment_row(gateway_id: str, attachment_id: str, owner: str, options: Mapping[str, Any]) -> Row:
    """Return a row of DescribeTransitGatewayVpcAttachments."""
    return {
        "TransitGatewayAttachmentId": attachment_id,
        "TransitGatewayId": gateway_id,
        "VpcId": options["vpc"],
        "VpcOwnerId": options.get("vpc_owner", owner),
        "State": "available",
        "SubnetIds": options["subnets"],
        "CreationTime": "2026-01-15T10:05:38+00:00",
        "Options": {
            "DnsSupport": "enable",
            "SecurityGroupReferencingSupport": "enable",
            "Ipv6Support": "disable",
            "ApplianceModeSupport": "enable" if options.get("appliance_mode") else "disable",
        },
        "Tags": tag_list(attachment_id, None),
    }


def transit_gateway_table_row(gateway_id: str, table_id: str) -> Row:
    """Return a row of DescribeTransitGatewayRouteTables."""
    return {
        "TransitGatewayRouteTableId": table_id,
        "TransitGatewayId": gateway_id,
        "State": "available",
        "DefaultAssociationRouteTable": False,
        "DefaultPropagationRouteTable": False,
        "CreationTime": "2026-01-15T09:58:02+00:00",
        "Tags": tag_list(table_id, None),
    }


def routes_response(routes: Sequence[str], attachments: Attachments) -> Row:
    """Return the response of SearchTransitGatewayRoutes; a last route `...` means that there are more routes."""
    shown = [route for route in routes if route != "..."]
    return {
        "Routes": [_route(route, attachments) for route in shown],
        "AdditionalRoutesAvailable": len(shown) < len(routes),
    }


def _route(route: str, attachments: Attachments) -> Row:
    """Return a route. Raises ValueError if the text is not a route."""
    found = ROUTE.fullmatch(route)
    if not found:
        raise ValueError(f"{route!r} is no route such as '0.0.0.0/0 -> tgw-attach-egress', '... -> blackhole'")
    cidr, targets, propagated, prefix_list = found.groups()
    is_blackhole = targets == "blackhole"
    row = {
        "DestinationCidrBlock": cidr,
        "PrefixListId": prefix_list,
        "TransitGatewayAttachments": None
        if is_blackhole
        else [_target(target, attachments[target]) for target in targets.split(" and ")],
        "Type": "propagated" if propagated else "static",
        "State": "blackhole" if is_blackhole else "active",
    }
    return with_fields(row, None)


def _target(attachment_id: str, options: Mapping[str, Any]) -> Row:
    return {
        "ResourceId": options.get("vpc") or options["resource"],
        "TransitGatewayAttachmentId": attachment_id,
        "ResourceType": options.get("type", "vpc"),
    }
