"""Read what following hops needs in addition to route tables and endpoints: one read for each kind of hop."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from express_path.adapters.aws import Aws, OptionalReads, calling, filtered, pages
from express_path.adapters.firewall_records import association_firewall, firewalls
from express_path.adapters.records import network_interface
from express_path.adapters.transit_gateway_records import attachments, transit_gateway_route_table
from express_path.domain.network.resources import (
    Firewall,
    Instance,
    NetworkInterface,
    RouteTable,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    VpcEndpoint,
    target_ids,
)
from express_path.errors import ApiError
from express_path.fields import Description


@dataclass(frozen=True, slots=True)
class TransitGateways:
    """The transit gateway resources that an account can read, by id; None: could not be read."""

    attachments: Mapping[str, TransitGatewayAttachment] | None
    route_tables: Mapping[str, TransitGatewayRouteTable] | None


def read_network_interfaces(aws: Aws, tables: Iterable[RouteTable]) -> dict[str, NetworkInterface]:
    """Read the network interfaces that routes name by their own id or by that of their instance."""
    known = list(tables)
    interface_ids = target_ids(known, TargetKind.NETWORK_INTERFACE)
    instance_ids = target_ids(known, TargetKind.INSTANCE)
    operation, field = "describe_network_interfaces", "NetworkInterfaces"
    rows = [
        *filtered(aws.ec2, operation, field, "network-interface-id", interface_ids),
        *filtered(aws.ec2, operation, field, "attachment.instance-id", instance_ids),
    ]
    return {record.id: record for record in map(network_interface, rows)}


def read_instances(aws: Aws, interfaces: Iterable[NetworkInterface]) -> dict[str, Instance]:
    """Read the instances of interfaces that forward traffic, with the bandwidth of their types' network cards.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NetworkCardInfo.html
    """
    instance_ids = sorted(
        {interface.instance_id for interface in interfaces if interface.instance_id and not interface.source_dest_check}
    )
    if not instance_ids:
        return {}
    reservations = filtered(aws.ec2, "describe_instances", "Reservations", "instance-id", instance_ids)
    found = {row["InstanceId"]: row for reservation in reservations for row in reservation["Instances"]}
    names = sorted({row["InstanceType"] for row in found.values()})
    described = filtered(aws.ec2, "describe_instance_types", "InstanceTypes", "instance-type", names)
    cards = {row["InstanceType"]: row["NetworkInfo"]["NetworkCards"] for row in described}
    return {key: _instance(row, cards.get(row["InstanceType"], [])) for key, row in found.items()}


def _instance(row: Mapping[str, Any], cards: list[Mapping[str, Any]]) -> Instance:
    def total(field: str) -> float | None:
        """Return the sum over all cards in Gbit/s, None if AWS documents it for none of them."""
        known = [float(card[field]) for card in cards if card.get(field) is not None]
        return sum(known) if known else None

    interfaces = {found["NetworkInterfaceId"]: found["SubnetId"] for found in row.get("NetworkInterfaces", [])}
    baseline, peak = total("BaselineBandwidthInGbps"), total("PeakBandwidthInGbps")
    return Instance(row["InstanceId"], row["InstanceType"], baseline, peak, interfaces)


def met_appliance_endpoints(tables: Iterable[RouteTable], endpoints: Mapping[str, VpcEndpoint]) -> list[VpcEndpoint]:
    """Return the Gateway Load Balancer endpoints that routes lead to."""
    met = (endpoints.get(endpoint_id) for endpoint_id in target_ids(tables, TargetKind.VPC_ENDPOINT))
    return [endpoint for endpoint in met if endpoint and endpoint.endpoint_type == "gatewayloadbalancer"]


def read_firewalls(aws: Aws, endpoints: Sequence[VpcEndpoint], optional: OptionalReads) -> dict[str, Firewall] | None:
    """Read the firewalls that name Gateway Load Balancer endpoints as their own; None if nothing could be read.

    Endpoints in other VPCs than the firewall's have an association, which does not say whether the firewall translates.
    A firewall of another account that cannot be described is left out, and so is one that was just deleted.
    """
    described = describe_firewalls(aws, optional, sorted({endpoint.vpc_id for endpoint in endpoints}))
    found = firewalls(described or ())
    named = {endpoint_id for firewall in found.values() for endpoint_id in firewall.endpoint_ids}
    if all(endpoint.id in named for endpoint in endpoints):
        return found
    associations = describe_endpoint_associations(aws, optional)
    if described is None and associations is None:
        return None
    more = {association_firewall(answer) for answer in associations or ()} - found.keys()
    others = (_describe(aws, optional, "describe_firewall", "FirewallArn", arn) for arn in sorted(more))
    return firewalls([*(described or ()), *filter(None, others)], associations or ())


def describe_firewalls(aws: Aws, optional: OptionalReads, vpc_ids: Sequence[str] = ()) -> list[Description] | None:
    """Describe the firewalls of the Region, or those of some VPCs; None if they cannot be listed."""
    of_vpcs = {"VpcIds": list(vpc_ids)} if vpc_ids else {}
    client = aws.client("network-firewall")
    listed = optional.read(lambda: pages(client, "network-firewall", "list_firewalls", "Firewalls", **of_vpcs))
    if listed is None:
        return None
    answers = (_describe(aws, optional, "describe_firewall", "FirewallArn", row["FirewallArn"]) for row in listed)
    return [answer for answer in answers if answer]


def describe_endpoint_associations(aws: Aws, optional: OptionalReads) -> list[Description] | None:
    """Describe the endpoints that firewalls have in other VPCs; None if they cannot be listed."""
    client, field = aws.client("network-firewall"), "VpcEndpointAssociationArn"
    listed = optional.read(
        lambda: pages(client, "network-firewall", "list_vpc_endpoint_associations", "VpcEndpointAssociations")
    )
    if listed is None:
        return None
    answers = (_describe(aws, optional, "describe_vpc_endpoint_association", field, row[field]) for row in listed)
    return [answer for answer in answers if answer]


def _describe(aws: Aws, optional: OptionalReads, operation: str, field: str, arn: str) -> Description | None:
    """Describe one resource of Network Firewall; None if that is denied, or if it does not exist any more."""

    def read() -> Description:
        with calling("network-firewall:" + "".join(map(str.capitalize, operation.split("_")))):
            answer: Description = getattr(aws.client("network-firewall"), operation)(**{field: arn})
            return answer

    try:
        return optional.read(read)
    except ApiError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise


def read_transit_gateways(aws: Aws, optional: OptionalReads) -> TransitGateways:
    """Read attachments, and the routes of every transit gateway route table that one of them is associated with."""
    described = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_attachments", "TransitGatewayAttachments")
    )
    of_vpcs = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_vpc_attachments", "TransitGatewayVpcAttachments")
    )
    found = None if described is None and of_vpcs is None else attachments(described or [], of_vpcs or [])
    table_ids = sorted(
        {attachment.route_table_id for attachment in (found or {}).values() if attachment.route_table_id}
    )
    tables = {}
    for table_id in table_ids:
        table = optional.read(partial(read_transit_gateway_routes, aws, table_id))
        if table:
            tables[table_id] = transit_gateway_route_table(table_id, table)
    return TransitGateways(found, tables or None)


def read_transit_gateway_routes(aws: Aws, table_id: str) -> dict[str, Any]:
    """Read all pages of SearchTransitGatewayRoutes as one; AdditionalRoutesAvailable is that of the last page."""
    with calling("ec2:SearchTransitGatewayRoutes"):
        paginator = aws.ec2.get_paginator("search_transit_gateway_routes")
        found = list(
            paginator.paginate(
                TransitGatewayRouteTableId=table_id,
                Filters=[{"Name": "state", "Values": ["active", "blackhole"]}],
            )
        )
    routes = [row for page in found for row in page.get("Routes", [])]
    more = any(page.get("AdditionalRoutesAvailable") is True for page in found[-1:])
    return {"Routes": routes, "AdditionalRoutesAvailable": more}
