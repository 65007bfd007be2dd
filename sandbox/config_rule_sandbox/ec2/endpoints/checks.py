"""What AWS checks before it makes or changes a gateway endpoint."""

import json
import re
from collections.abc import Iterable, Mapping

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.endpoints.services import services, types_of
from config_rule_sandbox.ec2.errors import ApiError, not_found

ROUTE_TABLE_ID = re.compile(r"rtb-[0-9a-f]+")

MAX_POLICY_CHARACTERS = 20_480
"""https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html."""

MAX_TOKEN_CHARACTERS = 64


def check_service(backend: Moto, service_name: str, endpoint_type: str) -> None:
    """Refuse a service that does not exist (InvalidServiceName), or not for endpoints of this type (InvalidParameter).

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
    """
    types = [kind for entry in services(backend) if entry["ServiceName"] == service_name for kind in types_of(entry)]
    if not types:
        raise ApiError("InvalidServiceName", f"The Vpc Endpoint Service '{service_name}' does not exist")
    if endpoint_type not in types:
        raise ApiError(
            "InvalidParameter",
            f"Endpoint type ({endpoint_type}) does not match available service types ({sorted(set(types))}).",
        )


def checked_route_tables(backend: Moto, vpc_id: str, table_ids: Iterable[str]) -> list[Moto]:
    """Return the route tables with these ids, each once, if all can take a prefix-list route of this VPC's endpoint.

    InvalidRouteTableId.Malformed, InvalidRouteTableId.NotFound (the VPC endpoint operations spell it with a small d:
    https://github.com/hashicorp/terraform-provider-aws, internal/service/ec2/vpc_endpoint_route_table_association.go),
    InvalidParameter for a table of another VPC (its message is unverified) or with a gateway association
    (https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html: no prefix list as a destination).
    """
    tables = []
    for table_id in dict.fromkeys(table_ids):
        if not ROUTE_TABLE_ID.fullmatch(table_id):
            raise ApiError("InvalidRouteTableId.Malformed", f"Invalid Id: '{table_id}' (expecting 'rtb-...')")
        table = backend.route_tables.get(table_id)
        if table is None:
            raise not_found("InvalidRouteTableId.NotFound", "routeTable", table_id)
        if table.vpc_id != vpc_id:
            raise ApiError("InvalidParameter", f"route table {table_id} and network {vpc_id} do not belong together")
        if any("GatewayId" in association for association in table.associations):
            raise ApiError("InvalidParameter", f"route table {table_id} is associated with a gateway")
        tables.append(table)
    return tables


def check_address_families(backend: Moto, tables: Iterable[Moto], ip_address_type: str) -> None:
    """Refuse with InvalidParameter an address type that a subnet of the tables does not have (message unverified).

    ipv6: every associated subnet is IPv6-only; dualstack: every one has both
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type).
    """
    if ip_address_type == "ipv4":
        return
    for table in tables:
        for subnet in _subnets(backend, table):
            dual = bool(subnet.cidr_block) and bool(subnet.ipv6_cidr_block_association_set)
            if subnet.ipv6_native if ip_address_type == "ipv6" else dual:
                continue
            raise ApiError("InvalidParameter", f"subnet {subnet.id} does not support IP address type {ip_address_type}")


def _subnets(backend: Moto, table: Moto) -> list[Moto]:
    """Return the subnets that a table is associated with, implicitly too if it is the main one of its VPC."""
    explicit = {target: owner.id for owner in backend.route_tables.values() for target in owner._associations.values()}
    fallback = table.id if table.main_association_id else None
    return [
        subnet
        for subnet in backend.describe_subnets(filters={"vpc-id": table.vpc_id})
        if explicit.get(subnet.id, fallback) == table.id
    ]


def check_policy(document: str | None) -> None:
    """Refuse with InvalidPolicyDocument a policy that is not a JSON object, or is too long."""
    if document and (len(document) > MAX_POLICY_CHARACTERS or not _is_object(document)):
        raise ApiError("InvalidPolicyDocument", "The specified policy document is not a valid JSON policy document.")


def _is_object(document: str) -> bool:
    try:
        return isinstance(json.loads(document), dict)
    except ValueError:
        return False


def check_token(client_token: str | None) -> None:
    """Refuse with InvalidParameterValue (unverified) a ClientToken of more than 64 ASCII characters.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html.
    """
    if client_token and (len(client_token) > MAX_TOKEN_CHARACTERS or not client_token.isascii()):
        raise ApiError("InvalidParameterValue", f"Value ({client_token}) for parameter clientToken is invalid.")


def check_nothing_of_interfaces(parameters: Mapping[str, object]) -> None:
    """Refuse with InvalidParameter what only endpoints with network interfaces take: subnets, security groups.

    As in https://github.com/nanlabs/terraform-aws-starter/issues/18; the message about groups is unverified.
    """
    if any(parameters.get(name) for name in ("SubnetIds", "AddSubnetIds", "RemoveSubnetIds")):
        message = "Subnet IDs are only supported for Interface and GatewayLoadBalancer type VPC Endpoints."
        raise ApiError("InvalidParameter", message)
    if any(parameters.get(name) for name in ("SecurityGroupIds", "AddSecurityGroupIds", "RemoveSecurityGroupIds")):
        raise ApiError("InvalidParameter", "Security Groups are only supported for Interface type VPC Endpoints.")
