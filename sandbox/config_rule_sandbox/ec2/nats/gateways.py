"""NAT gateways: zonal, regional and private ones, their states, and what deleting one leaves behind."""

from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.responses import EC2Response
from moto.ec2.utils import add_tag_specification, generic_filter

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.nats.regional import create_regional
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches, knobs: Knobs) -> None:
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
