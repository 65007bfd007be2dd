"""Route tables: their associations, their routes, and the targets of these."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.models.route_tables import Route, RouteTable
from moto.ec2.models.vpn_gateway import VpnGateway
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_subnet_association_id

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import Endpoint
from config_rule_sandbox.patches import Patches

# --- associations --------------------------------------------------------------------------------------------------
#
# Associations of route tables with subnets and with gateways (edge associations).


ASSOCIATED = {"State": "associated"}


def apply_associations(patches: Patches, knobs: Knobs) -> None:
    """Correct AssociateRouteTable, DisassociateRouteTable and what is left of a deleted subnet.

    moto silently keeps the old table when a subnet is associated with another one, associates gateways of any VPC,
    keeps the associations of deleted subnets, and deletes main tables and subnets in use
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateRouteTable.html).
    """
    del knobs
    patches.set(EC2Response, "associate_route_table", _associate_route_table)
    patches.wrap(EC2Response, "disassociate_route_table", _disassociating)
    patches.wrap(EC2Response, "delete_route_table", _deleting_table)
    patches.wrap(EC2Response, "delete_subnet", _deleting_subnet_in_use)
    patches.wrap(EC2Backend, "delete_subnet", _deleting_subnet)
    patches.set(RouteTable, "associations", property(_associations))


def associate(table: Moto, target_id: str) -> str:
    """Associate a table with a subnet or gateway without any check, and return the id of the association."""
    association_id: str = random_subnet_association_id()
    table._associations[association_id] = target_id
    return association_id


def _associations(self: Moto) -> list[dict[str, Any]]:
    """Return the associations: the main one names no subnet, an edge association names its gateway."""
    common = {"RouteTableId": self.id, "AssociationState": ASSOCIATED}
    found: list[dict[str, Any]] = []
    if self.main_association_id is not None:
        found.append({**common, "RouteTableAssociationId": self.main_association_id, "Main": True})
    for association_id, target_id in self._associations.items():
        kind = "SubnetId" if target_id.startswith("subnet-") else "GatewayId"
        found.append({**common, "RouteTableAssociationId": association_id, "Main": False, kind: target_id})
    return found


def _associate_route_table(self: Moto) -> ActionResult:
    backend = self.ec2_backend
    table = backend.get_route_table(self._get_param("RouteTableId"))
    target_id = self._get_param("SubnetId") or self._get_param("GatewayId")
    if target_id is None:
        raise ApiError("MissingParameter", "The request must contain the parameter subnetId or gatewayId")
    if _vpc_id(backend, target_id) != table.vpc_id:
        message = f"route table {table.id} and {target_id} belong to different networks"
        raise ApiError("InvalidParameterValue", message)
    association_id = _existing(backend, table, target_id) or associate(table, target_id)
    return ActionResult({"AssociationId": association_id, "AssociationState": ASSOCIATED})


def _vpc_id(backend: Moto, target_id: str) -> str | None:
    """Return the VPC that a subnet is in or a gateway is attached to, None if it is not attached."""
    if target_id.startswith("subnet-"):
        return str(backend.get_subnet(target_id).vpc_id)
    return getattr(backend.get_internet_gateway(target_id).vpc, "id", None)


def _existing(backend: Moto, table: Moto, target_id: str) -> str | None:
    """Return the association of target and table if there is one; Resource.AlreadyAssociated if it has another table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
    """
    for other in backend.route_tables.values():
        for association_id, associated_id in other._associations.items():
            if associated_id != target_id:
                continue
            if other is table:
                return str(association_id)
            raise ApiError(
                "Resource.AlreadyAssociated",
                f"the specified association for route table {table.id} conflicts with an existing association",
            )
    return None


def _disassociating(original: Moto) -> Moto:
    """Reject the disassociation of a main route table."""

    def disassociate_route_table(self: Moto) -> ActionResult:
        association_id = self._get_param("AssociationId")
        if any(table.main_association_id == association_id for table in self.ec2_backend.route_tables.values()):
            # As in https://github.com/ansible/ansible/issues/25521.
            message = f"cannot disassociate the main route table association {association_id}"
            raise ApiError("InvalidParameterValue", message)
        answer: ActionResult = original(self)
        return answer

    return disassociate_route_table


def _deleting_table(original: Moto) -> Moto:
    def delete_route_table(self: Moto) -> ActionResult:
        """Delete a table, but not a main one.

        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html.
        """
        table = self.ec2_backend.get_route_table(self._get_param("RouteTableId"))
        if table.main_association_id is not None:
            raise _has_dependencies("routeTable", table.id)
        answer: ActionResult = original(self)
        return answer

    return delete_route_table


def _deleting_subnet_in_use(original: Moto) -> Moto:
    def delete_subnet(self: Moto) -> ActionResult:
        """Delete a subnet without network interfaces, those of NAT gateways and instances among them.

        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html.
        """
        subnet_id = self._get_param("SubnetId")
        if any(interface.subnet.id == subnet_id for interface in self.ec2_backend.enis.values()):
            raise _has_dependencies("subnet", subnet_id)
        answer: ActionResult = original(self)
        return answer

    return delete_subnet


def _has_dependencies(kind: str, resource_id: str) -> ApiError:
    return ApiError("DependencyViolation", f"The {kind} '{resource_id}' has dependencies and cannot be deleted.")


def _deleting_subnet(original: Moto) -> Moto:
    def delete_subnet(self: Moto, subnet_id: str) -> Moto:
        subnet = original(self, subnet_id)
        for table in self.route_tables.values():
            kept = {key: target for key, target in table._associations.items() if target != subnet_id}
            table._associations = kept
        return subnet

    return delete_subnet


# --- targets of routes ---------------------------------------------------------------------------------------------
#
# The targets of routes: which there are, whether they are still there, and what a route shows of them.


GONE = ("deleting", "deleted", "failed", "terminated", "rejected", "expired")
"""States of NAT gateways, endpoints, instances and peerings in which they carry nothing (botocore model)."""


def apply_targets(patches: Patches, knobs: Knobs) -> None:
    """Show routes whose target is gone as `blackhole`, and both the instance and the interface of a NAT instance.

    moto's routes are always active. AWS: the target is not available, for example the gateway is not attached to the
    VPC, or the instance was terminated (botocore model, Route.State). Whether a stopped instance or an interface that
    is not attached makes a blackhole is not documented there; here they do not.
    """
    del knobs
    patches.set(Route, "state", property(lambda route: "active" if _is_there(route) else "blackhole"))
    patches.set(Route, "network_interface_id", property(lambda route: _id(_interface(route))))
    patches.set(Route, "instance_id", property(lambda route: _id(_instance(route))))
    patches.set(Route, "instance_owner_id", property(lambda route: getattr(_instance(route), "owner_id", None)))


def _is_there(route: Moto) -> bool:
    """Return whether the target of a route exists, is in a state to carry traffic, and is attached to the VPC."""
    return _exists(route) and _is_attached(route) and not any(state in GONE for state in _states(route))


def _exists(route: Moto) -> bool:
    """Return whether the target is still among the resources of the account; `local` has none and always exists."""
    backend = route.route_table.ec2_backend
    resources = (
        (route.nat_gateway, backend.nat_gateways),
        (route.egress_only_igw, backend.egress_only_internet_gateways),
        (route.transit_gateway, backend.transit_gateways),
        (route.interface, backend.enis),
        (route.vpc_pcx, backend.vpc_pcxs),
        (route.carrier_gateway, backend.carrier_gateways),
    )
    if route.vpc_endpoint_id and route.vpc_endpoint_id not in backend.vpc_end_points:
        return False
    return all(target is None or target.id in known for target, known in resources)


def _states(route: Moto) -> list[str]:
    """Return the states of the target, and of the instance behind it; moto keeps each kind's in another place."""
    endpoint = route.route_table.ec2_backend.vpc_end_points.get(route.vpc_endpoint_id)
    instance = _instance(route)
    return [
        *([route.nat_gateway.state] if route.nat_gateway else []),
        *([endpoint.state] if endpoint else []),
        *([instance._state.name] if instance else []),
        *([route.vpc_pcx._status.code] if route.vpc_pcx else []),
    ]


def _is_attached(route: Moto) -> bool:
    """Return whether the internet or virtual private gateway of a route, if it has one, is attached to its VPC."""
    backend, vpc_id, gateway = route.route_table.ec2_backend, route.route_table.vpc_id, route.gateway
    if gateway.__class__ is InternetGateway:
        return gateway.id in backend.internet_gateways and getattr(gateway.vpc, "id", None) == vpc_id
    if gateway.__class__ is VpnGateway:
        attachment = gateway.attachments.get(vpc_id)
        return gateway.state != "deleted" and attachment is not None and attachment.state == "attached"
    return True


def _interface(route: Moto) -> Moto:
    """Return the network interface of a route: the target itself, or the primary one of the instance."""
    return route.interface or (route.instance.nics.get(0) if route.instance else None)


def _instance(route: Moto) -> Moto:
    """Return the instance of a route: the target itself, or the one that the network interface is attached to."""
    return route.instance or (route.interface.instance if route.interface else None)


def _id(resource: Moto) -> str | None:
    return resource.id if resource else None


# --- routes --------------------------------------------------------------------------------------------------------
#
# Making, replacing and deleting routes, with the checks that AWS makes.


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


def apply_routes(patches: Patches, knobs: Knobs) -> None:
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
