"""Transit gateways: which of them an account sees, and what becomes of routes to them."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.route_tables import Route
from moto.ec2.models.transit_gateway import TransitGatewayBackend
from moto.ec2.models.transit_gateway_attachments import TransitGatewayAttachment
from moto.ec2.responses import EC2Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.transit_gateways.attachments import attachment_operations
from config_rule_sandbox.ec2.transit_gateways.connects import connect_operations
from config_rule_sandbox.ec2.transit_gateways.filters import matching
from config_rule_sandbox.ec2.transit_gateways.policy_tables import POLICY_OPERATIONS
from config_rule_sandbox.ec2.transit_gateways.route_tables import OPERATIONS
from config_rule_sandbox.ec2.transit_gateways.routes import is_live
from config_rule_sandbox.ec2.transit_gateways.search import with_more_available
from config_rule_sandbox.ec2.transit_gateways.sharing import TransitGateways, shared_with
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct everything about transit gateways.

    moto's are of one account, its attachments are available at once, its route tables show neither attachments nor
    propagated routes, and a search among them is by exact match only
    (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    patches.set(TransitGatewayAttachment, "associated_with", None)
    patches.set(TransitGatewayAttachment, "gateway_owner_id", None)
    patches.wrap(TransitGatewayBackend, "__init__", _beginning)
    patches.wrap(EC2Backend, "create_transit_gateway", _creating)
    patches.wrap(EC2Response, "create_route", _routing)
    patches.wrap(EC2Response, "replace_route", _routing)
    state = vars(Route)["state"]
    patches.set(Route, "state", property(lambda route: _state(route, state.__get__(route))))
    patches.set(EC2Response, "describe_transit_gateways", _describe_transit_gateways)
    patches.set(EC2Response, "delete_transit_gateway", _delete_transit_gateway)
    operations = OPERATIONS | POLICY_OPERATIONS | attachment_operations(knobs) | connect_operations(knobs)
    for name, operation in operations.items():
        patches.set(EC2Response, name, operation)
    patches.wrap(EC2Response, "serialized", with_more_available)


def _beginning(original: Moto) -> Moto:
    def initialize(self: Moto) -> None:
        original(self)
        self.transit_gateways = TransitGateways(self)

    return initialize


def _creating(original: Moto) -> Moto:
    def create_transit_gateway(self: Moto, *arguments: Moto, **named: Moto) -> Moto:
        """Make a transit gateway; without default association and propagation it has no table to begin with.

        https://docs.aws.amazon.com/vpc/latest/tgw/create-tgw.html.
        """
        gateway = original(self, *arguments, **named)
        defaults = {
            "DefaultRouteTableAssociation": ("AssociationDefaultRouteTableId", "default_association_route_table"),
            "DefaultRouteTablePropagation": ("PropagationDefaultRouteTableId", "default_propagation_route_table"),
        }
        for option, (named_id, flag) in defaults.items():
            if gateway.options[option] == "disable":
                del gateway.options[named_id]
                setattr(gateway.default_route_table, flag, False)
        if all(gateway.options[option] == "disable" for option in defaults):
            del self.transit_gateways_route_tables[gateway.default_route_table.id]
        return gateway

    return create_transit_gateway


def _routing(original: Moto) -> Moto:
    def change_route(self: Moto) -> ActionResult:
        """Refuse a route to a transit gateway that the table's VPC is not attached to.

        The error is that of a transit gateway which does not exist, as in
        https://github.com/hashicorp/terraform-provider-aws/issues/10025.
        """
        gateway_id = self._get_param("TransitGatewayId")
        table = self.ec2_backend.route_tables.get(self._get_param("RouteTableId"))
        if gateway_id and table and not _is_attached(self.ec2_backend, table.vpc_id, gateway_id):
            raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
        answer: ActionResult = original(self)
        return answer

    return change_route


def _state(route: Moto, otherwise: str) -> str:
    """Return the state of a route: a blackhole, too, where its VPC is no longer attached to its transit gateway."""
    backend, gateway = route.route_table.ec2_backend, route.transit_gateway
    if gateway and not _is_attached(backend, route.route_table.vpc_id, gateway.id):
        return "blackhole"
    return otherwise


def _is_attached(backend: Moto, vpc_id: str, gateway_id: str) -> bool:
    return any(
        attachment.transit_gateway_id == gateway_id and attachment.resource_id == vpc_id and is_live(attachment)
        for attachment in backend.transit_gateway_attachments.values()
    )


def _describe_transit_gateways(self: Moto) -> ActionResult:
    """Describe the caller's own and those shared with it.

    Apart from those on VPC attachments, this is the only operation that a recipient of a share may call
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    backend = self.ec2_backend
    known = {gateway.id: gateway for gateway in (*backend.transit_gateways.values(), *shared_with(backend))}
    wanted = self._get_param("TransitGatewayIds", [])
    for gateway_id in wanted:
        if gateway_id not in known:
            raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
    rows = [_described(backend, gateway) for gateway in known.values() if not wanted or gateway.id in wanted]
    return ActionResult({"TransitGateways": matching(self, rows)})


def _delete_transit_gateway(self: Moto) -> ActionResult:
    """Delete a transit gateway of the caller without attachments; its route tables go with it.

    With attachments, it fails: https://github.com/hashicorp/terraform-provider-aws/issues/7196. What AWS deletes with
    it: https://docs.aws.amazon.com/vpc/latest/tgw/delete-tgw.html.
    """
    backend, gateway_id = self.ec2_backend, self._get_param("TransitGatewayId")
    if gateway_id not in list(backend.transit_gateways):
        raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
    attachments = backend.transit_gateway_attachments.values()
    left = [known.id for known in attachments if known.transit_gateway_id == gateway_id and is_live(known)]
    if left:
        message = f"{gateway_id} has non-deleted Transit Gateway Attachments: {', '.join(left)}."
        raise ApiError("IncorrectState", message)
    gateway = backend.transit_gateways.pop(gateway_id)
    for table in list(backend.transit_gateways_route_tables.values()):
        if table.transit_gateway_id == gateway_id:
            del backend.transit_gateways_route_tables[table.id]
    gateway.state = "deleting"
    return ActionResult({"TransitGateway": _described(backend, gateway)})


def _described(backend: Moto, gateway: Moto) -> dict[str, Any]:
    return {
        "TransitGatewayId": gateway.id,
        "TransitGatewayArn": gateway.arn,
        "State": gateway.state,
        "OwnerId": gateway.owner_id,
        "Description": gateway.description,
        "CreationTime": gateway.creation_time,
        "Options": gateway.options,
        "Tags": [{"Key": key, "Value": value} for key, value in backend.tags.get(gateway.id, {}).items()],
    }
