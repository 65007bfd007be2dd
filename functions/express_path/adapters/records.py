"""Turn EC2's descriptions, as boto3 and the AWS CLI return them, into records.

A missing or invalid field raises RecordError, because a verdict must not be based on an incomplete description.
Field names are those of the botocore model of ec2.
"""

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import (
    Association,
    BlockMode,
    NatGateway,
    NetworkInterface,
    Rank,
    Route,
    RouteTable,
    Subnet,
    Tags,
    Vpc,
    VpcEndpoint,
    target_kind,
)
from express_path.errors import RecordError
from express_path.fields import (
    Description,
    block,
    flag,
    free_text,
    identifier,
    ids,
    nested,
    number,
    optional_free_text,
    optional_identifier,
    rows,
)

_TARGET_FIELDS = (
    "GatewayId",
    "NatGatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "NetworkInterfaceId",
    "InstanceId",
    "EgressOnlyInternetGatewayId",
    "CarrierGatewayId",
    "LocalGatewayId",
    "CoreNetworkArn",
    "OdbNetworkArn",
)
"""The fields that can name a route's target. An interface comes before its instance, because EC2 may return both."""
_DESTINATION_FIELDS = (("DestinationCidrBlock", Family.IPV4), ("DestinationIpv6CidrBlock", Family.IPV6))
_PROPAGATED = frozenset({"EnableVgwRoutePropagation", "Advertisement"})


def _tags(description: Description, resource: str) -> Tags:
    return {
        free_text(tag, "Key", resource): optional_free_text(tag, "Value", resource)
        for tag in rows(description, "Tags", resource)
    }


def vpc(description: Description) -> Vpc:
    """Return the record of an entry of DescribeVpcs."""
    vpc_id = identifier(description, "VpcId", "Vpcs")
    owner_id = optional_identifier(description, "OwnerId", vpc_id)
    return Vpc(vpc_id, owner_id, _tags(description, vpc_id), _block_mode(description, vpc_id))


def subnet(description: Description) -> Subnet:
    """Return the record of an entry of DescribeSubnets."""
    subnet_id = identifier(description, "SubnetId", "Subnets")
    return Subnet(
        id=subnet_id,
        vpc_id=identifier(description, "VpcId", subnet_id),
        owner_id=identifier(description, "OwnerId", subnet_id),
        availability_zone_id=optional_identifier(description, "AvailabilityZoneId", subnet_id),
        ipv6_native=flag(description, "Ipv6Native", subnet_id),
        has_ipv6=_has_ipv6(description, subnet_id),
        dns64=flag(description, "EnableDns64", subnet_id),
        tags=_tags(description, subnet_id),
        block_mode=_block_mode(description, subnet_id),
    )


def _has_ipv6(description: Description, subnet_id: str) -> bool:
    """Return whether one of a subnet's IPv6 CIDR blocks is associated."""
    associations = rows(description, "Ipv6CidrBlockAssociationSet", subnet_id)
    if not associations:  # the usual case
        return False
    states = [nested(association, "Ipv6CidrBlockState", subnet_id) for association in associations]
    return any(optional_identifier(state, "State", subnet_id) == "associated" for state in states)


def _block_mode(description: Description, resource_id: str) -> BlockMode:
    """Return the mode of VPC Block Public Access; a missing one is off, and one that is new here is unknown.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_BlockPublicAccessStates.html
    """
    states = nested(description, "BlockPublicAccessStates", resource_id)
    mode = optional_identifier(states, "InternetGatewayBlockMode", resource_id).lower() or BlockMode.OFF
    return BlockMode(mode) if mode in tuple(BlockMode) else BlockMode.UNKNOWN


def route_table(description: Description) -> RouteTable:
    """Return the record of an entry of DescribeRouteTables."""
    table_id = identifier(description, "RouteTableId", "RouteTables")
    return RouteTable(
        id=table_id,
        vpc_id=identifier(description, "VpcId", table_id),
        routes=tuple(_route(route, table_id) for route in _routes(description, table_id)),
        associations=tuple(
            _association(association, table_id) for association in rows(description, "Associations", table_id)
        ),
        owner_id=optional_identifier(description, "OwnerId", table_id),
        tags=_tags(description, table_id),
    )


def _routes(description: Description, table_id: str) -> list[Description]:
    """Return the routes. EC2 always returns this list, so if it is missing, the routes are unknown."""
    if description.get("Routes") is None:
        raise RecordError(table_id, "Routes", None, "a list of objects")
    return rows(description, "Routes", table_id)


def _route(description: Description, table_id: str) -> Route:
    target = next((identifier(description, field, table_id) for field in _TARGET_FIELDS if description.get(field)), "")
    return Route(
        _destination(description, table_id),
        target,
        target_kind(target),
        Rank.PROPAGATED if optional_identifier(description, "Origin", table_id) in _PROPAGATED else Rank.STATIC,
        (optional_identifier(description, "State", table_id) or "active").lower(),
    )


def _destination(description: Description, table_id: str) -> Cidr | str:
    for field, family in _DESTINATION_FIELDS:
        if description.get(field):
            found = block(description[field], field, table_id)
            if found.family is not family:
                raise RecordError(table_id, field, description[field], f"an {family} block")
            return found
    return identifier(description, "DestinationPrefixListId", f"a route of {table_id}")


def _association(description: Description, table_id: str) -> Association:
    state = nested(description, "AssociationState", table_id)
    return Association(
        main=flag(description, "Main", table_id),
        subnet_id=optional_identifier(description, "SubnetId", table_id) or None,
        gateway_id=optional_identifier(description, "GatewayId", table_id) or None,
        state=(optional_identifier(state, "State", table_id) or "associated").lower(),
    )


def vpc_endpoint(description: Description) -> VpcEndpoint:
    """Return the record of an entry of DescribeVpcEndpoints. States and types are in lower case."""
    endpoint_id = identifier(description, "VpcEndpointId", "VpcEndpoints")
    return VpcEndpoint(
        id=endpoint_id,
        vpc_id=identifier(description, "VpcId", endpoint_id),
        endpoint_type=identifier(description, "VpcEndpointType", endpoint_id).lower(),
        service_name=optional_identifier(description, "ServiceName", endpoint_id),
        state=identifier(description, "State", endpoint_id).lower(),
        ip_address_type=(optional_identifier(description, "IpAddressType", endpoint_id) or "ipv4").lower(),
        subnet_ids=ids(description, "SubnetIds", endpoint_id),
        route_table_ids=ids(description, "RouteTableIds", endpoint_id),
        owner_id=optional_identifier(description, "OwnerId", endpoint_id),
        tags=_tags(description, endpoint_id),
    )


def nat_gateway(description: Description) -> NatGateway:
    """Return the record of an entry of DescribeNatGateways; a regional one has a route table instead of a subnet."""
    gateway_id = identifier(description, "NatGatewayId", "NatGateways")
    return NatGateway(
        id=gateway_id,
        vpc_id=optional_identifier(description, "VpcId", gateway_id),
        subnet_id=optional_identifier(description, "SubnetId", gateway_id) or None,
        connectivity=optional_identifier(description, "ConnectivityType", gateway_id) or "public",
        availability_mode=optional_identifier(description, "AvailabilityMode", gateway_id) or "zonal",
        route_table_id=optional_identifier(description, "RouteTableId", gateway_id) or None,
        proxy_firewall_arn=next(
            (
                optional_identifier(appliance, "ApplianceArn", gateway_id)
                for appliance in rows(description, "AttachedAppliances", gateway_id)
                if appliance.get("Type") == "network-firewall-proxy"
            ),
            "",
        ),
    )


def network_interface(description: Description) -> NetworkInterface:
    """Return the record of an entry of DescribeNetworkInterfaces."""
    interface_id = identifier(description, "NetworkInterfaceId", "NetworkInterfaces")
    attachment = nested(description, "Attachment", interface_id)
    check = description.get("SourceDestCheck")
    if not isinstance(check, bool):
        raise RecordError(interface_id, "SourceDestCheck", check, "true or false")
    return NetworkInterface(
        id=interface_id,
        subnet_id=identifier(description, "SubnetId", interface_id),
        source_dest_check=check,
        instance_id=optional_identifier(attachment, "InstanceId", interface_id) or None,
        device_index=number(attachment, "DeviceIndex", interface_id),
    )
