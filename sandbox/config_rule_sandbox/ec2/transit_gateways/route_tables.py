"""Transit gateway route tables, and which attachments are associated with them or propagate to them."""

from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.utils import add_tag_specification

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.transit_gateways.filters import matching
from config_rule_sandbox.ec2.transit_gateways.routes import (
    attached,
    create_route,
    delete_route,
    is_live,
    table_of,
)
from config_rule_sandbox.ec2.transit_gateways.search import search_routes
from config_rule_sandbox.ec2.transit_gateways.visible import find


def _create_table(self: Moto) -> ActionResult:
    backend, gateway_id = self.ec2_backend, self._get_param("TransitGatewayId")
    if gateway_id not in list(backend.transit_gateways):
        raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
    tags = add_tag_specification(self._get_param("TagSpecifications", []))
    made = backend.create_transit_gateway_route_table(gateway_id, tags)
    return ActionResult({"TransitGatewayRouteTable": _described_table(backend, made)})


def _describe_tables(self: Moto) -> ActionResult:
    """Describe the tables of the caller's own transit gateways; those of a shared one are its owner's alone.

    https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html.
    """
    backend = self.ec2_backend
    wanted = self._get_param("TransitGatewayRouteTableIds", [])
    tables = [table_of(backend, one) for one in wanted] or list(backend.transit_gateways_route_tables.values())
    rows = [_described_table(backend, table) for table in tables]
    return ActionResult({"TransitGatewayRouteTables": matching(self, rows)})


def _described_table(backend: Moto, table: Moto) -> dict[str, Any]:
    return {
        "TransitGatewayRouteTableId": table.id,
        "TransitGatewayId": table.transit_gateway_id,
        "State": table.state,
        "DefaultAssociationRouteTable": table.default_association_route_table,
        "DefaultPropagationRouteTable": table.default_propagation_route_table,
        "CreationTime": table.creation_time,
        "Tags": [{"Key": key, "Value": value} for key, value in backend.tags.get(table.id, {}).items()],
    }


def _delete_table(self: Moto) -> ActionResult:
    """Delete a table with which nothing is associated, and which is no default of its transit gateway.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteTransitGatewayRouteTable.html.
    """
    backend = self.ec2_backend
    table = table_of(backend, self._get_param("TransitGatewayRouteTableId"))
    attachments = backend.transit_gateway_attachments.values()
    used = [attachment.id for attachment in attachments if attachment.associated_with == table.id]
    if used or table.default_association_route_table or table.default_propagation_route_table:
        raise ApiError("IncorrectState", f"{table.id} is in invalid state: it is a default, or used by {used}")
    del backend.transit_gateways_route_tables[table.id]
    table.state = "deleting"
    return ActionResult({"TransitGatewayRouteTable": _described_table(backend, table)})


def _named(self: Moto) -> tuple[Moto, Moto]:
    """Return the table and the attachment of a request, which have to be of one transit gateway."""
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    attachment = find(self.ec2_backend, self._get_param("TransitGatewayAttachmentId"))
    if attachment.transit_gateway_id != table.transit_gateway_id:
        raise ApiError("InvalidParameterValue", f"{attachment.id} and {table.id} belong to different transit gateways")
    return table, attachment


def _associate(self: Moto) -> ActionResult:
    """Associate an attachment with a table. An attachment can be associated with one table only.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateTransitGatewayRouteTable.html.
    """
    table, attachment = _named(self)
    if attachment.associated_with:
        message = f"Transit Gateway Attachment {attachment.id} is already associated to a route table."
        raise ApiError("Resource.AlreadyAssociated", message)
    if not is_live(attachment):
        raise ApiError("IncorrectState", f"{attachment.id} is in invalid state")
    attachment.associated_with = table.id
    return ActionResult({"Association": _relation(table, attachment, "associating")})


def _enable(self: Moto) -> ActionResult:
    table, attachment = _named(self)
    propagating = table.__dict__.setdefault("propagating", [])
    if attachment.id in propagating:
        message = f"Propagation of {attachment.id} to {table.id} is already enabled."
        raise ApiError("TransitGatewayRouteTablePropagation.Duplicate", message)
    propagating.append(attachment.id)
    return ActionResult({"Propagation": _relation(table, attachment, "enabled")})


def _disassociate(self: Moto) -> ActionResult:
    """Disassociate an attachment from a table.

    The code of the error: https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/errors.go.
    """
    table, attachment = _named(self)
    if attachment.associated_with != table.id:
        raise ApiError("InvalidAssociation.NotFound", f"{attachment.id} is not associated with {table.id}")
    attachment.associated_with = None
    return ActionResult({"Association": _relation(table, attachment, "disassociating")})


def _disable(self: Moto) -> ActionResult:
    """Remove the routes that an attachment propagates to a table. The code of the error has the same source."""
    table, attachment = _named(self)
    propagating = table.__dict__.get("propagating", [])
    if attachment.id not in propagating:
        message = f"{attachment.id} does not propagate to {table.id}"
        raise ApiError("TransitGatewayRouteTablePropagation.NotFound", message)
    propagating.remove(attachment.id)
    return ActionResult({"Propagation": _relation(table, attachment, "disabled")})


def _get_associations(self: Moto) -> ActionResult:
    """List the attachments that are associated with a table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetTransitGatewayRouteTableAssociations.html.
    """
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    known = self.ec2_backend.transit_gateway_attachments.values()
    rows = [{**attached(one), "State": "associated"} for one in known if one.associated_with == table.id]
    return ActionResult({"Associations": matching(self, rows)})


def _get_propagations(self: Moto) -> ActionResult:
    """List the attachments that propagate routes to a table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetTransitGatewayRouteTablePropagations.html.
    """
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    ids = table.__dict__.get("propagating", [])
    rows = [{**attached(find(self.ec2_backend, one)), "State": "enabled"} for one in ids]
    return ActionResult({"TransitGatewayRouteTablePropagations": matching(self, rows)})


def _relation(table: Moto, attachment: Moto, state: str) -> dict[str, str]:
    return {**attached(attachment), "TransitGatewayRouteTableId": table.id, "State": state}


OPERATIONS: dict[str, Callable[[Moto], ActionResult]] = {
    "create_transit_gateway_route": create_route,
    "delete_transit_gateway_route": delete_route,
    "search_transit_gateway_routes": search_routes,
    "create_transit_gateway_route_table": _create_table,
    "delete_transit_gateway_route_table": _delete_table,
    "describe_transit_gateway_route_tables": _describe_tables,
    "associate_transit_gateway_route_table": _associate,
    "disassociate_transit_gateway_route_table": _disassociate,
    "enable_transit_gateway_route_table_propagation": _enable,
    "disable_transit_gateway_route_table_propagation": _disable,
    "get_transit_gateway_route_table_associations": _get_associations,
    "get_transit_gateway_route_table_propagations": _get_propagations,
}
"""The operations that read no knob, by the names of their methods."""
