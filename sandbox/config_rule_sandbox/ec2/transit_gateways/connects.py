"""Connect attachments: GRE tunnels to an appliance over the attachment of its VPC. moto has none.

https://docs.aws.amazon.com/vpc/latest/tgw/tgw-connect.html
"""

from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.transit_gateway_attachments import TransitGatewayAttachment

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.transit_gateways.filters import matching
from config_rule_sandbox.ec2.transit_gateways.visible import asked_for, described, find

_TYPE = "connect"


def connect_operations(knobs: Knobs) -> dict[str, Callable[[Moto], ActionResult]]:
    """Return the operations by the names of their methods; the knobs say how long an attachment stays pending."""

    def describe_transit_gateway_connects(self: Moto) -> ActionResult:
        connects = [attachment for attachment in asked_for(self, knobs) if attachment.resource_type == _TYPE]
        return ActionResult({"TransitGatewayConnects": matching(self, [_connect(self, each) for each in connects])})

    return {
        "create_transit_gateway_connect": _create,
        "describe_transit_gateway_connects": describe_transit_gateway_connects,
    }


def _create(self: Moto) -> ActionResult:
    """Make a Connect attachment of one of the caller's own transit gateways over a VPC's attachment to it.

    The resource id of a Connect attachment is not documented; here it is that of the transport attachment.
    """
    backend = self.ec2_backend
    transport = find(backend, self._get_param("TransportTransitGatewayAttachmentId"))
    if transport.resource_type != "vpc":
        raise ApiError("InvalidParameterValue", f"{transport.id} is not the attachment of a VPC")
    gateway = backend.transit_gateways[transport.transit_gateway_id]
    connect: Moto = TransitGatewayAttachment(backend, transport.id, _TYPE, gateway)
    connect.gateway_owner_id = gateway.owner_id
    backend.transit_gateway_attachments[connect.id] = connect
    lifecycle.start(connect)
    return ActionResult({"TransitGatewayConnect": _connect(self, connect)})


def _connect(self: Moto, connect: Moto) -> dict[str, Any]:
    seen = described(self.ec2_backend, connect)
    common = ("TransitGatewayAttachmentId", "TransitGatewayId", "State", "CreationTime", "Tags")
    return {
        **{name: seen[name] for name in common},
        "TransportTransitGatewayAttachmentId": connect.resource_id,
        "Options": {"Protocol": "gre"},
    }
