"""Read what following hops needs in addition to route tables and endpoints: one read for each kind of hop."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from express_path.adapters.aws import Aws, calling, filtered, pages
from express_path.adapters.ec2_records import network_interface
from express_path.adapters.transit_gateway_records import attachments, transit_gateway_route_table
from express_path.domain.network.resources import (
    Instance,
    NetworkInterface,
    RouteTable,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    target_ids,
)
from express_path.domain.network.targets import TargetKind
from express_path.errors import ApiError

_Result = TypeVar("_Result")


class OptionalReads:
    """Reads that may be denied, and the operations that were."""

    def __init__(self) -> None:
        """Begin with nothing denied."""
        self.denied: list[str] = []

    def read(self, read: Callable[[], _Result]) -> _Result | None:
        """Return the result, None if a permission is missing; other failures raise.

        NotFound counts as missing permission: AWS reports another account's transit gateway route table as not found.
        """
        try:
            return read()
        except ApiError as error:
            if not error.is_denied and not error.code.endswith(".NotFound"):
                raise
            self.denied.append(error.operation)
            return None


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
    types = {row["InstanceId"]: row["InstanceType"] for reservation in reservations for row in reservation["Instances"]}
    names = sorted(set(types.values()))
    described = filtered(aws.ec2, "describe_instance_types", "InstanceTypes", "instance-type", names)
    cards = {row["InstanceType"]: row["NetworkInfo"]["NetworkCards"] for row in described}
    return {key: _instance(key, name, cards.get(name, [])) for key, name in types.items()}


def _instance(instance_id: str, instance_type: str, cards: list[Mapping[str, Any]]) -> Instance:
    def total(field: str) -> float | None:
        """Return the sum over all cards in Gbit/s, None if AWS documents it for none of them."""
        known = [float(card[field]) for card in cards if card.get(field) is not None]
        return sum(known) if known else None

    return Instance(instance_id, instance_type, total("BaselineBandwidthInGbps"), total("PeakBandwidthInGbps"))


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
