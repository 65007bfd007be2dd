"""Regional NAT gateways: one id for all zones, no subnet, a route table of their own.

https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html.
"""

from typing import Any

from moto.core.utils import utcnow
from moto.ec2.utils import add_tag_specification, random_nat_gateway_id

from config_rule_sandbox.answers import RegionalNatTable, given
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.models import NatGateway, Route
from config_rule_sandbox.ec2.route_tables.associations import associate


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

    How AWS shows its association is not documented (answers.RegionalNatTable).
    """
    table = backend.create_route_table(nat_gateway.vpc_id)
    route = Route(table, "0.0.0.0/0", None, gateway=gateway)
    table._routes[route.id] = route
    if given().regional_nat_table is RegionalNatTable.GATEWAY:
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
