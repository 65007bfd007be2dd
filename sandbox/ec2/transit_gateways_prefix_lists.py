"""References to prefix lists in transit gateway route tables."""

from collections.abc import Callable, Mapping
from typing import Any

from moto.core.responses import ActionResult

from sandbox.dynamic import Moto
from sandbox.ec2.errors import ApiError, not_found
from sandbox.ec2.transit_gateways_routes import Target, attached, references, table_of, target_of
from sandbox.ec2.transit_gateways_sharing import matching

FIELDS: Mapping[str, str] = {
    "attachment.resource-id": "TransitGatewayAttachment.ResourceId",
    "attachment.resource-type": "TransitGatewayAttachment.ResourceType",
    "attachment.transit-gateway-attachment-id": "TransitGatewayAttachment.TransitGatewayAttachmentId",
    "is-blackhole": "Blackhole",
    "prefix-list-id": "PrefixListId",
    "prefix-list-owner-id": "PrefixListOwnerId",
    "state": "State",
}
"""Filters of GetTransitGatewayPrefixListReferences (botocore model)."""


def _create(self: Moto) -> ActionResult:
    """Make routes of all entries of a prefix list: https://docs.aws.amazon.com/vpc/latest/tgw/tgw-prefix-lists.html."""
    backend, prefix_list_id = self.ec2_backend, self._get_param("PrefixListId")
    table = table_of(backend, self._get_param("TransitGatewayRouteTableId"))
    if prefix_list_id not in backend.managed_prefix_lists:
        raise not_found("InvalidPrefixListID.NotFound", "prefix list", prefix_list_id)
    if prefix_list_id in references(table):
        message = f"The prefix list reference {prefix_list_id} already exists in {table.id}."
        raise ApiError("DuplicatePrefixListReference", message)
    target = references(table)[prefix_list_id] = target_of(self, table)
    described = _described(backend, table, prefix_list_id, target)
    return ActionResult({"TransitGatewayPrefixListReference": described})


def _get(self: Moto) -> ActionResult:
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    rows = [_described(self.ec2_backend, table, key, target) for key, target in references(table).items()]
    return ActionResult({"TransitGatewayPrefixListReferences": matching(self, rows, FIELDS)})


def _delete(self: Moto) -> ActionResult:
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    prefix_list_id = self._get_param("PrefixListId")
    if prefix_list_id not in references(table):
        raise not_found("InvalidPrefixListID.NotFound", "prefix list", prefix_list_id)
    described = _described(self.ec2_backend, table, prefix_list_id, references(table).pop(prefix_list_id))
    return ActionResult({"TransitGatewayPrefixListReference": {**described, "State": "deleting"}})


def _described(backend: Moto, table: Moto, prefix_list_id: str, target: Target) -> dict[str, Any]:
    attachment = backend.transit_gateway_attachments.get(target.attachment_id)
    return {
        "TransitGatewayRouteTableId": table.id,
        "PrefixListId": prefix_list_id,
        "PrefixListOwnerId": backend.managed_prefix_lists[prefix_list_id].owner_id,
        "State": "available",
        "Blackhole": target.blackhole,
        **({"TransitGatewayAttachment": attached(attachment)} if attachment else {}),
    }


OPERATIONS: dict[str, Callable[[Moto], ActionResult]] = {
    "create_transit_gateway_prefix_list_reference": _create,
    "get_transit_gateway_prefix_list_references": _get,
    "delete_transit_gateway_prefix_list_reference": _delete,
}
"""The operations, by the names of their methods."""
