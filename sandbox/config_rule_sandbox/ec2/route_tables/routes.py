"""Making, replacing and deleting routes, with the checks that AWS makes."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.responses import EC2Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import Endpoint
from config_rule_sandbox.patching.patches import Patches

DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
UNKNOWN_TO_MOTO = {
    "LocalGatewayId": "local_gateway_id",
    "CoreNetworkArn": "core_network_arn",
    "OdbNetworkArn": "odb_network_arn",
}
"""Targets that moto has no resources for (botocore model, CreateRouteRequest): kept as they are given."""

TARGETS = (
    "GatewayId",
    "InstanceId",
    "NatGatewayId",
    "EgressOnlyInternetGatewayId",
    "TransitGatewayId",
    "NetworkInterfaceId",
    "VpcPeeringConnectionId",
    "CarrierGatewayId",
    "VpcEndpointId",
    *UNKNOWN_TO_MOTO,
)


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct CreateRoute, ReplaceRoute and DeleteRoute.

    moto makes routes without a target, to NAT gateways that do not exist, and a second one for the same prefix list,
    and deletes routes of gateway endpoints
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateRoute.html).
    """
    del knobs
    patches.wrap(EC2Response, "create_route", _creating)
    patches.wrap(EC2Response, "replace_route", _replacing)
    patches.wrap(EC2Response, "delete_route", _deleting)


def _creating(original: Moto) -> Moto:
    """Reject a second route to a destination, and accept the targets that moto does not know."""

    def create_route(self: Moto) -> ActionResult:
        table = self.ec2_backend.get_route_table(self.params["RouteTableId"])
        destination = _destination(self.params)
        _check_target(self.ec2_backend, table, self.params)
        if _find(table, destination):
            raise ApiError("RouteAlreadyExists", f"The route identified by {destination} already exists.")
        answer: ActionResult = original(self)
        _keep_unknown_targets(_find(table, destination), self.params)
        return answer

    return create_route


def _replacing(original: Moto) -> Moto:
    """Reject a change of a gateway endpoint's route, and accept the targets that moto does not know."""

    def replace_route(self: Moto) -> ActionResult:
        table = self.ec2_backend.get_route_table(self.params["RouteTableId"])
        route = _find(table, _destination(self.params))
        _check_target(self.ec2_backend, table, self.params)
        if route and isinstance(route.gateway, Endpoint):
            raise _endpoint_route()
        answer: ActionResult = original(self)
        route.vpc_endpoint_id = self.params.get("VpcEndpointId")
        route.carrier_gateway = self.ec2_backend.carrier_gateways.get(self.params.get("CarrierGatewayId"))
        _keep_unknown_targets(route, self.params)
        return answer

    return replace_route


def _deleting(original: Moto) -> Moto:
    """Reject the deletion of local routes and of gateway endpoints' routes."""

    def delete_route(self: Moto) -> ActionResult:
        table = self.ec2_backend.get_route_table(self.params["RouteTableId"])
        destination = _destination(self.params)
        route = _find(table, destination)
        if route and route.local:
            message = f"cannot remove local route {destination} in route table {table.id}"
            raise ApiError("InvalidParameterValue", message)
        if route and isinstance(route.gateway, Endpoint):
            # https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing
            message = f"cannot remove VPC endpoint route {destination} in route table {table.id}"
            raise ApiError("InvalidParameterValue", message)
        answer: ActionResult = original(self)
        return answer

    return delete_route


def _destination(parameters: dict[str, Any]) -> str:
    """Return the destination of a request. MissingParameter unless there is one."""
    for name in DESTINATIONS:
        if name in parameters:
            return str(parameters[name])
    raise ApiError("MissingParameter", f"The request must contain one of {', '.join(DESTINATIONS)}")


def _find(table: Moto, destination: str) -> Moto:
    """Return the route of a table to a destination, or None."""
    for route in table.routes:
        if destination in (route.destination_cidr_block, route.destination_ipv6_cidr_block):
            return route
        if destination == route.destination_prefix_list_id:
            return route
    return None


def _check_target(backend: Moto, table: Moto, parameters: dict[str, Any]) -> None:
    """Refuse a request whose target is missing, does not exist, or is not in the VPC of the route table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html; the wording "belong to different
    networks" as in https://github.com/smoketurner/serverless-vpc-plugin/issues/147.
    """
    if not any(name in parameters for name in (*TARGETS, "LocalTarget")):
        raise ApiError("MissingParameter", f"The request must contain one of {', '.join(TARGETS)}")
    prefix_list_id = parameters.get("DestinationPrefixListId")
    if prefix_list_id and prefix_list_id not in backend.managed_prefix_lists:
        raise not_found("InvalidPrefixListID.NotFound", "prefix list", prefix_list_id)
    if parameters.get("GatewayId", "").startswith("vpce-"):
        raise _endpoint_route()
    if (transit_gateway_id := parameters.get("TransitGatewayId")) and (
        transit_gateway_id not in backend.transit_gateways
    ):
        raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", transit_gateway_id)
    for gateway_id, vpc_id in _vpcs_of_gateways(backend, parameters):
        if vpc_id != table.vpc_id:
            message = f"route table {table.id} and network gateway {gateway_id} belong to different networks"
            raise ApiError("InvalidParameterValue", message)


def _vpcs_of_gateways(backend: Moto, parameters: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the ids of the NAT and internet gateways of a request, with the VPC that each is in or attached to."""
    found: list[tuple[str, str | None]] = []
    if nat_gateway_id := parameters.get("NatGatewayId"):
        nat_gateway = backend.nat_gateways.get(nat_gateway_id)
        if nat_gateway is None or nat_gateway.state == "deleted":
            raise not_found("InvalidNatGatewayID.NotFound", "natGateway", nat_gateway_id)
        found.append((nat_gateway_id, nat_gateway.vpc_id))
    gateway = backend.internet_gateways.get(parameters.get("GatewayId"))
    if isinstance(gateway, InternetGateway):
        found.append((gateway.id, getattr(gateway.vpc, "id", None)))
    return found


def _keep_unknown_targets(route: Moto, parameters: dict[str, Any]) -> None:
    for name, attribute in UNKNOWN_TO_MOTO.items():
        setattr(route, attribute, parameters.get(name))


def _endpoint_route() -> ApiError:
    return ApiError("InvalidParameterValue", "Cannot create or replace a prefix list route targeting a VPC Endpoint.")
