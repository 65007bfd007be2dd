"""EC2's descriptions, as boto3 and the AWS CLI return them, into the domain's records.

A missing or unreadable field raises RecordError: a verdict out of half a description would be a guess.
Field names are those of the botocore model of ec2.
"""

from collections.abc import Mapping
from typing import Any

from express_path.domain.addresses import Cidr, parse_cidr
from express_path.domain.network import (
    Association,
    NatGateway,
    NetworkInterface,
    Rank,
    Route,
    RouteTable,
    Subnet,
    Tags,
    Vpc,
    VpcEndpoint,
)
from express_path.domain.targets import target_kind
from express_path.errors import RecordError

Description = Mapping[str, Any]

_TARGET_FIELDS = (
    "NatGatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "EgressOnlyInternetGatewayId",
    "CarrierGatewayId",
    "LocalGatewayId",
    "CoreNetworkArn",
    "OdbNetworkArn",
    "NetworkInterfaceId",
    "InstanceId",
    "GatewayId",
)
_PROPAGATED = frozenset({"EnableVgwRoutePropagation", "Advertisement"})


def text(description: Description, field: str, resource: str) -> str:
    """A field that must be a string with something in it."""
    found = description.get(field)
    if not isinstance(found, str) or not found:
        raise RecordError(resource, field, found, "a string that is not empty")
    return found


def rows(description: Description, field: str, resource: str) -> list[Description]:
    """A field that must be a list of objects; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise RecordError(resource, field, found, "a list of objects")
    return found


def block(value: object, field: str, resource: str) -> Cidr:
    """A field that must be a CIDR block."""
    try:
        return parse_cidr(str(value))
    except ValueError as error:
        raise RecordError(resource, field, value, "a CIDR block such as 10.0.0.0/16") from error


def _tags(description: Description, resource: str) -> Tags:
    return {text(tag, "Key", resource): str(tag.get("Value", "")) for tag in rows(description, "Tags", resource)}


def vpc(description: Description) -> Vpc:
    """An entry of DescribeVpcs."""
    vpc_id = text(description, "VpcId", "Vpcs")
    return Vpc(vpc_id, str(description.get("OwnerId") or ""), _tags(description, vpc_id))


def subnet(description: Description) -> Subnet:
    """An entry of DescribeSubnets."""
    subnet_id = text(description, "SubnetId", "Subnets")
    ipv6 = rows(description, "Ipv6CidrBlockAssociationSet", subnet_id)
    states = [(each.get("Ipv6CidrBlockState") or {}).get("State") for each in ipv6]
    return Subnet(
        id=subnet_id,
        vpc_id=text(description, "VpcId", subnet_id),
        owner_id=text(description, "OwnerId", subnet_id),
        availability_zone_id=str(description.get("AvailabilityZoneId") or ""),
        ipv6_native=description.get("Ipv6Native") is True,
        has_ipv6="associated" in states,
        dns64=description.get("EnableDns64") is True,
        tags=_tags(description, subnet_id),
    )


def route_table(description: Description) -> RouteTable:
    """An entry of DescribeRouteTables."""
    table_id = text(description, "RouteTableId", "RouteTables")
    return RouteTable(
        id=table_id,
        vpc_id=text(description, "VpcId", table_id),
        routes=tuple(_route(each, table_id) for each in _routes(description, table_id)),
        associations=tuple(_association(each) for each in rows(description, "Associations", table_id)),
        owner_id=str(description.get("OwnerId") or ""),
        tags=_tags(description, table_id),
    )


def _routes(description: Description, table_id: str) -> list[Description]:
    """EC2 describes no table without this list, so where it is missing, the routes are unknown, not none."""
    if description.get("Routes") is None:
        raise RecordError(table_id, "Routes", None, "a list of objects")
    return rows(description, "Routes", table_id)


def _route(description: Description, table_id: str) -> Route:
    target = next((str(description[field]) for field in _TARGET_FIELDS if description.get(field)), "")
    return Route(
        destination=_destination(description, table_id),
        target_id=target,
        target_kind=target_kind(target),
        rank=Rank.PROPAGATED if description.get("Origin") in _PROPAGATED else Rank.STATIC,
        state=str(description.get("State") or "active").lower(),
    )


def _destination(description: Description, table_id: str) -> Cidr | str:
    for field in ("DestinationCidrBlock", "DestinationIpv6CidrBlock"):
        if description.get(field):
            return block(description[field], field, table_id)
    return text(description, "DestinationPrefixListId", f"a route of {table_id}")


def _association(description: Description) -> Association:
    state = description.get("AssociationState") or {}
    return Association(
        main=description.get("Main") is True,
        subnet_id=description.get("SubnetId") or None,
        gateway_id=description.get("GatewayId") or None,
        state=str(state.get("State") or "associated").lower(),
    )


def vpc_endpoint(description: Description) -> VpcEndpoint:
    """An entry of DescribeVpcEndpoints; AWS spells states and types in several cases, the record in lower case."""
    endpoint_id = text(description, "VpcEndpointId", "VpcEndpoints")
    return VpcEndpoint(
        id=endpoint_id,
        vpc_id=text(description, "VpcId", endpoint_id),
        endpoint_type=text(description, "VpcEndpointType", endpoint_id).lower(),
        service_name=str(description.get("ServiceName") or ""),
        state=text(description, "State", endpoint_id).lower(),
        ip_address_type=str(description.get("IpAddressType") or "ipv4").lower(),
        subnet_ids=tuple(description.get("SubnetIds") or ()),
        route_table_ids=tuple(description.get("RouteTableIds") or ()),
        owner_id=str(description.get("OwnerId") or ""),
        tags=_tags(description, endpoint_id),
    )


def nat_gateway(description: Description) -> NatGateway:
    """An entry of DescribeNatGateways; a regional one has no subnet but a route table of its own."""
    gateway_id = text(description, "NatGatewayId", "NatGateways")
    return NatGateway(
        id=gateway_id,
        vpc_id=str(description.get("VpcId") or ""),
        subnet_id=description.get("SubnetId") or None,
        connectivity=str(description.get("ConnectivityType") or "public"),
        availability_mode=str(description.get("AvailabilityMode") or "zonal"),
        route_table_id=description.get("RouteTableId") or None,
    )


def network_interface(description: Description) -> NetworkInterface:
    """An entry of DescribeNetworkInterfaces."""
    interface_id = text(description, "NetworkInterfaceId", "NetworkInterfaces")
    attachment = description.get("Attachment") or {}
    check = description.get("SourceDestCheck")
    if not isinstance(check, bool):
        raise RecordError(interface_id, "SourceDestCheck", check, "true or false")
    return NetworkInterface(
        id=interface_id,
        subnet_id=text(description, "SubnetId", interface_id),
        source_dest_check=check,
        instance_id=attachment.get("InstanceId") or None,
        device_index=attachment.get("DeviceIndex"),
    )
