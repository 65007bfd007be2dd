"""NAT: zonal, private and regional gateways, and instances that forward."""

from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response
from moto.ec2.utils import add_tag_specification, generate_route_id, generic_filter, random_nat_gateway_id

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import NatGateway, Route
from config_rule_sandbox.ec2.route_tables import associate
from config_rule_sandbox.patches import Patches

# --- regional NAT gateways -----------------------------------------------------------------------------------------
#
# Regional NAT gateways: one id for all zones, no subnet, a route table of their own.
#
# https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html.


def create_regional(backend: Moto, parameters: dict[str, Any]) -> Moto:
    """Make a regional NAT gateway in a VPC.

    It is public, takes a VpcId and no SubnetId, and fails with Gateway.NotAttached where the VPC has no internet
    gateway (botocore model, NatGateway.FailureCode).
    """
    vpc = _check(backend, parameters)
    nat_gateway = _empty(backend, vpc.id)
    nat_gateway.add_tags(add_tag_specification(parameters.get("TagSpecifications", [])))
    backend.nat_gateways[nat_gateway.id] = nat_gateway
    lifecycle.start(nat_gateway)
    gateway = next((item for item in backend.internet_gateways.values() if item.vpc is vpc), None)
    if gateway is None:
        nat_gateway.state, nat_gateway.failure_code = "failed", "Gateway.NotAttached"
        nat_gateway.failure_message = f"Network {vpc.id} has no Internet gateway attached"
        return nat_gateway
    nat_gateway.route_table_id = _make_route_table(backend, nat_gateway, gateway)
    nat_gateway.address_set = _addresses(backend, vpc.id)
    return nat_gateway


def _check(backend: Moto, parameters: dict[str, Any]) -> Moto:
    if "VpcId" not in parameters:
        raise ApiError("MissingParameter", "The request must contain the parameter VpcId")
    for name in ("SubnetId", "AllocationId"):
        if name in parameters:
            raise ApiError("InvalidParameterCombination", f"A regional NAT gateway takes no {name}.")
    if parameters.get("ConnectivityType", "public") != "public":
        raise ApiError("InvalidParameterCombination", "A regional NAT gateway must be public.")
    return backend.get_vpc(parameters["VpcId"])


def _empty(backend: Moto, vpc_id: str) -> Moto:
    """Return a NAT gateway without interface and subnet, which moto's own constructor would insist on."""
    nat_gateway = NatGateway.__new__(NatGateway)
    nat_gateway.id, nat_gateway.ec2_backend, nat_gateway.vpc_id = random_nat_gateway_id(), backend, vpc_id
    nat_gateway.subnet_id, nat_gateway.address_set, nat_gateway._created_at = None, [], utcnow()
    nat_gateway.connectivity_type, nat_gateway.availability_mode = "public", "regional"
    nat_gateway.auto_provision_zones = nat_gateway.auto_scaling_ips = "enabled"
    return nat_gateway


def _make_route_table(backend: Moto, nat_gateway: Moto, gateway: Moto) -> str:
    """Make the table of a regional NAT gateway, with a default route to the internet gateway; return its id.

    How AWS shows its association is not documented. Here it is an edge association with the NAT gateway.
    """
    table = backend.create_route_table(nat_gateway.vpc_id)
    route = Route(table, "0.0.0.0/0", None, gateway=gateway)
    table._routes[route.id] = route
    associate(table, nat_gateway.id)
    return str(table.id)


def _addresses(backend: Moto, vpc_id: str) -> list[dict[str, Any]]:
    """Return one address for each zone in which the VPC has subnets."""
    subnets = backend.describe_subnets(filters={"vpc-id": vpc_id})
    zones = sorted({(subnet.availability_zone, subnet.availability_zone_id) for subnet in subnets})
    allocated = [(name, zone_id, backend.allocate_address("vpc")) for name, zone_id in zones]
    return [
        {
            "AllocationId": address.allocation_id,
            "PublicIp": address.public_ip,
            "AvailabilityZone": name,
            "AvailabilityZoneId": zone_id,
            "IsPrimary": True,
            "Status": "succeeded",
        }
        for name, zone_id, address in allocated
    ]


# --- NAT gateways --------------------------------------------------------------------------------------------------
#
# NAT gateways: zonal, regional and private ones, their states, and what deleting one leaves behind.


def apply_gateways(patches: Patches, knobs: Knobs) -> None:
    """Correct CreateNatGateway, DescribeNatGateways and DeleteNatGateway.

    moto has no regional ones, makes them available at once, and ignores unknown ids
    (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html,
    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html). Routes to a deleted one become
    blackholes: `route_targets`.
    """

    def describe_nat_gateways(self: Moto) -> ActionResult:
        return ActionResult({"NatGateways": _describe(self, knobs)})

    patches.set(EC2Response, "create_nat_gateway", _create_nat_gateway)
    patches.set(EC2Response, "describe_nat_gateways", describe_nat_gateways)
    patches.set(EC2Response, "delete_nat_gateway", _delete_nat_gateway)


def _create_nat_gateway(self: Moto) -> ActionResult:
    """Make a NAT gateway; a repeated ClientToken returns the one that it made."""
    backend, parameters = self.ec2_backend, self.params
    token = parameters.get("ClientToken")
    for nat_gateway in backend.nat_gateways.values():
        if token and getattr(nat_gateway, "client_token", None) == token:
            return ActionResult({"NatGateway": nat_gateway, "ClientToken": token})
    if parameters.get("AvailabilityMode", "zonal") == "regional":
        nat_gateway = create_regional(backend, parameters)
    else:
        nat_gateway = _create_zonal(backend, parameters)
    nat_gateway.client_token = token
    return ActionResult({"NatGateway": nat_gateway, "ClientToken": token})


def _create_zonal(backend: Moto, parameters: dict[str, Any]) -> Moto:
    """Make a NAT gateway in a subnet: public with an Elastic IP address, or private without one (codes unverified)."""
    subnet_id, allocation_id = parameters.get("SubnetId"), parameters.get("AllocationId")
    connectivity_type = parameters.get("ConnectivityType", "public")
    if subnet_id is None:
        raise ApiError("MissingParameter", "The request must contain the parameter SubnetId")
    if connectivity_type == "private" and allocation_id:
        message = "A private NAT gateway cannot have an Elastic IP address."
        raise ApiError("InvalidParameterCombination", message)
    if connectivity_type == "public" and not allocation_id:
        message = "The request must contain the parameter AllocationId"
        raise ApiError("MissingParameter", message)
    tags = add_tag_specification(parameters.get("TagSpecifications", []))
    nat_gateway = backend.create_nat_gateway(subnet_id, allocation_id, tags, connectivity_type)
    nat_gateway.availability_mode = "zonal"
    for address in nat_gateway.address_set:
        address.update({"isPrimary": True, "status": "succeeded"})
        interface = backend.enis[address["networkInterfaceId"]]
        interface.interface_type, interface.requester_managed = "nat_gateway", True
        interface.description = f"Interface for NAT Gateway {nat_gateway.id}"
        interface.source_dest_check = False
    lifecycle.start(nat_gateway)
    return nat_gateway


def _describe(self: Moto, knobs: Knobs) -> list[Moto]:
    """Return the requested NAT gateways. NatGatewayNotFound if an id is unknown; filters as in the botocore model."""
    known = self.ec2_backend.nat_gateways
    for nat_gateway in known.values():
        lifecycle.describe(nat_gateway, knobs)
    for nat_gateway_id in self._get_param("NatGatewayIds", []):
        if nat_gateway_id not in known:
            raise ApiError("NatGatewayNotFound", f"NAT gateway {nat_gateway_id} was not found")
    wanted = self._get_param("NatGatewayIds", []) or list(known)
    found: list[Moto] = generic_filter(self._filters_from_querystring(), [known[one] for one in wanted])
    return found


def _delete_nat_gateway(self: Moto) -> ActionResult:
    """Delete a NAT gateway: its interface goes, its Elastic IP address becomes free, its description stays a while.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html.
    """
    backend, nat_gateway_id = self.ec2_backend, self._get_param("NatGatewayId")
    nat_gateway = backend.nat_gateways.get(nat_gateway_id)
    if nat_gateway is None:
        raise ApiError("NatGatewayNotFound", f"NAT gateway {nat_gateway_id} was not found")
    if nat_gateway.state in (lifecycle.PENDING, lifecycle.AVAILABLE, "failed"):
        for address in nat_gateway.address_set:
            if address.get("associationId"):
                backend.disassociate_address(association_id=address["associationId"])
            backend.enis.pop(address.get("networkInterfaceId"), None)
            if allocation_id := address.get("AllocationId"):  # which a regional one allocated itself
                backend.release_address(allocation_id=allocation_id)
        if route_table_id := getattr(nat_gateway, "route_table_id", None):
            backend.route_tables.pop(route_table_id, None)
        nat_gateway.delete_time = utcnow()
        lifecycle.delete(nat_gateway)
    return ActionResult({"NatGatewayId": nat_gateway_id})


# --- NAT instances -------------------------------------------------------------------------------------------------
#
# Instances that forward: their interfaces, and routes of prefix lists to them.


def apply_instances(patches: Patches, knobs: Knobs) -> None:
    """Correct RunInstances and, for interfaces as targets, CreateRoute.

    moto keeps the primary interface of a terminated instance, and loses the prefix list of a route to an interface
    (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html).
    """
    del knobs
    patches.wrap(Instance, "prep_nics", _with_interfaces)
    patches.wrap(EC2Backend, "create_route", _routing)


def _with_interfaces(original: Moto) -> Moto:
    def prep_nics(self: Moto, given: list[dict[str, Any]], **more: Moto) -> None:
        """Give an instance its interfaces; by default, a primary interface created with it is deleted with it.

        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/scenarios-enis.html.
        """
        original(self, given, **more)
        primary = next((interface for interface in given if int(interface["DeviceIndex"]) == 0), {})
        if "NetworkInterfaceId" not in primary:
            self.nics[0].delete_on_termination = primary.get("DeleteOnTermination", True)

    return prep_nics


def _routing(original: Moto) -> Moto:
    def create_route(self: Moto, route_table_id: str, *destination: str | None, **named: Moto) -> Moto:
        """Make a route; moto forgets its prefix list, and so how to find it, where the target is an interface."""
        route = original(self, route_table_id, *destination, **named)
        prefix_list_id = destination[2] if len(destination) > len(("IPv4", "IPv6")) else None
        if prefix_list_id and route.destination_prefix_list is None:
            routes = self.get_route_table(route_table_id)._routes
            del routes[route.id]
            route.destination_prefix_list = self.managed_prefix_lists[prefix_list_id]
            route.id = generate_route_id(route_table_id, None, None, prefix_list_id)
            routes[route.id] = route
        return route

    return create_route
