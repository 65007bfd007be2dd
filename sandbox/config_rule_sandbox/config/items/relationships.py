"""Relationships between resources, as configuration items list them.

Which there are: https://docs.aws.amazon.com/config/latest/developerguide/resource-config-reference.html. Their wording
is Config's own: the newer types, endpoints and NAT gateways, have names that end after "in " or "to ".
"""

from typing import Any

from config_rule_sandbox.config.items.kinds import (
    INSTANCE,
    NAT_GATEWAY,
    NETWORK_INTERFACE,
    ROUTE_TABLE,
    SUBNET,
    VPC,
    VPC_ENDPOINT,
    Described,
)
from config_rule_sandbox.config.items.reading import Contained, Network

Relationship = dict[str, Any]


def relationships_of(
    network: Network, resource_type: str, described: Described, *, indirect: bool = True
) -> list[Relationship]:
    """Return the relationships of one resource, sorted by the ids of the others.

    Indirect ones are those that follow from the other resource's configuration: what a subnet or a VPC contains, and
    the route table of a subnet. Customers can have them switched off
    (https://docs.aws.amazon.com/config/latest/developerguide/faq.html).
    """
    found = {
        ROUTE_TABLE: _of_route_table,
        SUBNET: _of_subnet,
        VPC_ENDPOINT: _of_endpoint,
        NAT_GATEWAY: _of_nat_gateway,
        VPC: _of_vpc,
    }.get(resource_type, _of_other)(network, described)
    if not indirect and resource_type in (SUBNET, VPC):
        found = [relationship for relationship in found if relationship["name"] == "Is contained in Vpc"]
    return sorted(found, key=lambda relationship: str(relationship["resourceId"]))


def _of_route_table(_network: Network, table: Described) -> list[Relationship]:
    subnets = [association["SubnetId"] for association in table["Associations"] if association.get("SubnetId")]
    return [*_many(SUBNET, subnets, "Contains Subnet"), _one(VPC, table["VpcId"], "Is contained in Vpc")]


def _of_other(_network: Network, described: Described) -> list[Relationship]:
    """Return the VPC of an exclusion; the other types are related to nothing that is recorded here."""
    return [_one(VPC, described["VpcId"], "Is contained in ")] if "VpcId" in described else []


def _of_subnet(network: Network, subnet: Described) -> list[Relationship]:
    inside = [contained for contained in network.contained if contained.subnet_id == subnet["SubnetId"]]
    tables = network.route_tables_of(subnet["SubnetId"])
    return [
        *_contents(inside),
        *_many(ROUTE_TABLE, tables, "Is contained in RouteTable"),
        _one(VPC, subnet["VpcId"], "Is contained in Vpc"),
    ]


def _of_endpoint(_network: Network, endpoint: Described) -> list[Relationship]:
    return [
        *_many(NETWORK_INTERFACE, endpoint.get("NetworkInterfaceIds") or [], "Is attached to "),
        *_many(SUBNET, endpoint.get("SubnetIds") or [], "Is contained in "),
        *_many(ROUTE_TABLE, endpoint.get("RouteTableIds") or [], "Is contained in "),
        _one(VPC, endpoint["VpcId"], "Is contained in "),
    ]


def _of_nat_gateway(_network: Network, gateway: Described) -> list[Relationship]:
    # A regional NAT gateway is in no subnet.
    subnets = [gateway["SubnetId"]] if gateway.get("SubnetId") else []
    return [*_many(SUBNET, subnets, "Is contained in "), _one(VPC, gateway["VpcId"], "Is contained in ")]


def _of_vpc(network: Network, vpc: Described) -> list[Relationship]:
    vpc_id = vpc["VpcId"]
    return [
        *_contents([contained for contained in network.contained if contained.vpc_id == vpc_id]),
        *_many(ROUTE_TABLE, network.ids_in_vpc(ROUTE_TABLE, vpc_id), "Contains RouteTable"),
        *_many(SUBNET, network.ids_in_vpc(SUBNET, vpc_id), "Contains Subnet"),
    ]


def _contents(inside: list[Contained]) -> list[Relationship]:
    names = {NETWORK_INTERFACE: "Contains NetworkInterface", INSTANCE: "Contains Instance"}
    return [
        _one(contained.resource_type, contained.resource_id, names[contained.resource_type]) for contained in inside
    ]


def _many(resource_type: str, ids: list[str], name: str) -> list[Relationship]:
    return [_one(resource_type, resource_id, name) for resource_id in ids]


def _one(resource_type: str, resource_id: str, name: str) -> Relationship:
    return {"resourceId": resource_id, "resourceName": None, "resourceType": resource_type, "name": name}
