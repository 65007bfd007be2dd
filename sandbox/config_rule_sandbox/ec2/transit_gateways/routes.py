"""The routes of transit gateway route tables: static ones and propagated ones."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LIVE = ("pending", "available", "modifying")
"""States in which an attachment carries traffic or soon will (botocore model, TransitGatewayAttachmentState)."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a static route: an attachment, or a deliberate blackhole."""

    attachment_id: str | None
    blackhole: bool


@dataclass(frozen=True, slots=True)
class TransitGatewayRoute:
    """One route as a search shows it; `type` is static or propagated, `state` active or blackhole."""

    network: Network
    type: str
    state: str
    attachment: Moto

    def described(self) -> dict[str, Any]:
        """Return the route as the botocore model's TransitGatewayRoute."""
        row: dict[str, Any] = {"DestinationCidrBlock": str(self.network), "Type": self.type, "State": self.state}
        if self.attachment is not None:
            row["TransitGatewayAttachments"] = [attached(self.attachment)]
        return row


def attached(attachment: Moto) -> dict[str, str]:
    """Return an attachment as routes, associations and propagations name it."""
    return {
        "TransitGatewayAttachmentId": attachment.id,
        "ResourceId": attachment.resource_id,
        "ResourceType": attachment.resource_type,
    }


def is_live(attachment: Moto) -> bool:
    """Return whether an attachment is neither waiting for its acceptance nor on its way out."""
    return bool(attachment.state in LIVE)


def table_of(backend: Moto, table_id: str) -> Moto:
    """Return a route table of the caller's own transit gateways; only their owner can use it.

    The error that others get: https://github.com/hashicorp/terraform-provider-aws/issues/11029.
    """
    table = backend.transit_gateways_route_tables.get(table_id)
    if table is None or table.state != "available":
        message = f"Transit Gateway Route Table {table_id} was deleted or does not exist."
        raise ApiError("InvalidRouteTableID.NotFound", message)
    return table


def static_routes(table: Moto) -> dict[Network, Target]:
    """Return the static routes of a table, which may be changed."""
    found: dict[Network, Target] = table.__dict__.setdefault("static_routes", {})
    return found


def routes_of(backend: Moto, table: Moto) -> list[TransitGatewayRoute]:
    """Return the preferred route for each destination, sorted by it.

    Among equal destinations static routes come first, then propagated ones; a table shows the preferred one alone
    (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html, "Route
    evaluation order").
    """
    found: dict[Network, TransitGatewayRoute] = {}
    for route in (*_static(backend, table), *_propagated(backend, table)):
        found.setdefault(route.network, route)
    return [found[key] for key in sorted(found, key=lambda network: (network.version, network))]


def _static(backend: Moto, table: Moto) -> Iterator[TransitGatewayRoute]:
    for network, target in static_routes(table).items():
        yield _route(backend, network, target)


def _route(backend: Moto, network: Network, target: Target) -> TransitGatewayRoute:
    """Return a static route; it is also a blackhole once its attachment is gone."""
    attachment = backend.transit_gateway_attachments.get(target.attachment_id)
    dark = target.blackhole or attachment is None or not is_live(attachment)
    return TransitGatewayRoute(network, "static", "blackhole" if dark else "active", attachment)


def _propagated(backend: Moto, table: Moto) -> Iterator[TransitGatewayRoute]:
    """Yield the blocks of the VPCs that propagate to a table: IPv6 ones where the attachment supports IPv6."""
    for attachment_id in table.__dict__.get("propagating", []):
        attachment = backend.transit_gateway_attachments[attachment_id]
        if attachment.resource_type != "vpc" or not is_live(attachment):
            continue
        vpc = ec2_backends[attachment.resource_owner_id][backend.region_name].get_vpc(attachment.resource_id)
        blocks = vpc.get_cidr_block_association_set(ipv6=False)
        if attachment.options["Ipv6Support"] == "enable":
            blocks = [*blocks, *vpc.get_cidr_block_association_set(ipv6=True)]
        for block in blocks:
            yield TransitGatewayRoute(ipaddress.ip_network(block["cidr_block"]), "propagated", "active", attachment)


def target_of(self: Moto, table: Moto) -> Target:
    """Return the target of a request, which names an attachment to the table's transit gateway, or Blackhole."""
    attachment_id, blackhole = self._get_param("TransitGatewayAttachmentId"), bool(self._get_param("Blackhole"))
    if bool(attachment_id) == blackhole:
        message = "The request must contain either TransitGatewayAttachmentId or Blackhole"
        raise ApiError("InvalidParameterCombination" if blackhole else "MissingParameter", message)
    attachment = self.ec2_backend.transit_gateway_attachments.get(attachment_id)
    if attachment_id and (attachment is None or attachment.transit_gateway_id != table.transit_gateway_id):
        message = f"Transit Gateway Attachment {attachment_id} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayAttachmentID.NotFound", message)
    return Target(attachment_id, blackhole)


def create_route(self: Moto) -> ActionResult:
    """Answer CreateTransitGatewayRoute."""
    table, network = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId")), _destination(self)
    target = target_of(self, table)
    if network in static_routes(table):
        raise ApiError("RouteAlreadyExists", f"The route identified by {network} already exists.")
    static_routes(table)[network] = target
    return ActionResult({"Route": _route(self.ec2_backend, network, target).described()})


def delete_route(self: Moto) -> ActionResult:
    """Answer DeleteTransitGatewayRoute: only static routes can be deleted.

    https://docs.aws.amazon.com/vpc/latest/tgw/tgw-delete-static-route.html; the code of the error:
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/errors.go.
    """
    table, network = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId")), _destination(self)
    if network not in static_routes(table):
        raise ApiError("InvalidRoute.NotFound", f"{table.id} has no static route for {network}.")
    deleted = _route(self.ec2_backend, network, static_routes(table).pop(network))
    return ActionResult({"Route": deleted.described() | {"State": "deleted"}})


def _destination(self: Moto) -> Network:
    block = self._get_param("DestinationCidrBlock")
    try:
        return ipaddress.ip_network(block)
    except ValueError:
        message = f"Value ({block}) for parameter destinationCidrBlock is invalid. This is not a valid CIDR block."
        raise ApiError("InvalidParameterValue", message) from None
