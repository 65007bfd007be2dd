"""Route tables and their routes in the format of the AWS CLI; a route is written `<destination> -> <target>`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.support.network_files.vpc_rows import VPC_IPV6, Row, Tags, Vpc, name_of, tag_list, with_fields

ROUTE = re.compile(
    r"(?P<destination>\S+) -> (?P<target>\S+)(?: of (?P<instance>i-\S+))?"
    r"(?: (?P<note>blackhole|propagated|advertised))?"
)
TARGET_FIELDS = {
    "arn:aws:networkmanager": "CoreNetworkArn",
    "arn:aws:odb": "OdbNetworkArn",
    "cagw-": "CarrierGatewayId",
    "eigw-": "EgressOnlyInternetGatewayId",
    "eni-": "NetworkInterfaceId",
    "i-": "InstanceId",
    "lgw-": "LocalGatewayId",
    "nat-": "NatGatewayId",
    "pcx-": "VpcPeeringConnectionId",
    "tgw-": "TransitGatewayId",
}
"""The field of a route that names its target, by how the target's id begins; GatewayId for all others."""
ORIGINS = {"propagated": "EnableVgwRoutePropagation", "advertised": "Advertisement"}


def route_table_row(  # one parameter for each option of a network file
    vpc: Vpc,
    table_id: str,
    *,
    main: bool = False,
    subnets: Sequence[str] | Mapping[str, str] = (),
    gateways: Iterable[str] = (),
    routes: Iterable[str | Row] = (),
    propagating: Iterable[str] = (),
    tags: Tags | None = None,
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeRouteTables. Every table begins with the local routes of its VPC.

    subnets lists those that are associated; a mapping says the state of each association.
    """
    states = subnets if isinstance(subnets, Mapping) else dict.fromkeys(subnets, "associated")
    row = {
        "Associations": [
            *([_association(table_id, "main", main=True)] if main else []),
            *(_association(table_id, subnet, state, SubnetId=subnet) for subnet, state in states.items()),
            *(_association(table_id, gateway, GatewayId=gateway) for gateway in gateways),
        ],
        "PropagatingVgws": [{"GatewayId": gateway} for gateway in propagating],
        "RouteTableId": table_id,
        "Routes": [*_local_routes(vpc), *(_route(route, vpc.place.account) for route in routes)],
        "Tags": tag_list(table_id, tags) if tags or vpc.owner == vpc.place.account else [],
        "VpcId": vpc.id,
        "OwnerId": vpc.owner,
    }
    return with_fields(row, fields)


def _association(table_id: str, other: str, state: str = "associated", *, main: bool = False, **other_end: str) -> Row:
    return {
        "Main": main,
        "RouteTableAssociationId": f"rtbassoc-{name_of(table_id)}-{name_of(other) or other}",
        "RouteTableId": table_id,
        **other_end,
        "AssociationState": {"State": state},
    }


def _local_routes(vpc: Vpc) -> Iterator[Row]:
    for cidr in (*vpc.cidrs, *([VPC_IPV6] if vpc.ipv6 else [])):
        destination = destination_field(cidr)
        yield {destination: cidr, "GatewayId": "local", "Origin": "CreateRouteTable", "State": "active"}


def destination_field(destination: str) -> str:
    """Return the name of the field for a route's destination."""
    if destination.startswith("pl-"):
        return "DestinationPrefixListId"
    return "DestinationIpv6CidrBlock" if ":" in destination else "DestinationCidrBlock"


def _route(route: str | Row, account: str) -> Row:
    """Return a route; a mapping is returned unchanged. Raises ValueError if the text is not a route."""
    if not isinstance(route, str):
        return route
    found = ROUTE.fullmatch(route)
    if not found:
        raise ValueError(f"{route!r} is no route such as '0.0.0.0/0 -> nat-a', '... -> eni-a of i-a blackhole'")
    destination, target, instance, note = found.groups()
    instance = target if target.startswith("i-") else instance
    return {
        destination_field(destination): destination,
        **({"InstanceId": instance, "InstanceOwnerId": account} if instance else {}),
        _target_field(target): target,
        "Origin": ORIGINS.get(note, "CreateRoute"),
        "State": "blackhole" if note == "blackhole" else "active",
    }


def _target_field(target: str) -> str:
    return next((field for prefix, field in TARGET_FIELDS.items() if target.startswith(prefix)), "GatewayId")
