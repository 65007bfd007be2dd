"""Reading what following hops needs besides tables and endpoints: one read a kind of hop, not a hop."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from express_path.adapters.aws import DENIED, Aws, calling, filtered, pages
from express_path.adapters.ec2_records import network_interface
from express_path.adapters.transit_gateway_records import attachments, transit_gateway_route_table
from express_path.domain.network.resources import (
    Instance,
    NetworkInterface,
    RouteTable,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
)
from express_path.domain.network.targets import TargetKind
from express_path.errors import ApiError

_Result = TypeVar("_Result")


class OptionalReads:
    """Reads that may be denied, and the names of those that were."""

    def __init__(self) -> None:
        """Nothing was denied yet."""
        self.denied: list[str] = []

    def read(self, read: Callable[[], _Result]) -> _Result | None:
        """The result, None where a permission is missing; other failures raise.

        Of a transit gateway's table, AWS tells others than its owner that it does not exist.
        """
        try:
            return read()
        except ApiError as error:
            if error.code not in DENIED and not error.code.endswith(".NotFound"):
                raise
            self.denied.append(error.operation)
            return None


class TransitGateways(NamedTuple):
    """What an account sees of transit gateways, by id; None in place of a mapping means "could not be read"."""

    attachments: Mapping[str, TransitGatewayAttachment] | None
    route_tables: Mapping[str, TransitGatewayRouteTable] | None


def targets(tables: Iterable[RouteTable], kind: TargetKind) -> list[str]:
    """The ids of all targets of one kind that routes lead to, sorted; blackholes lead nowhere."""
    routes = (route for table in tables for route in table.routes if not route.is_blackhole)
    return sorted({route.target_id for route in routes if route.target_kind is kind})


def read_network_interfaces(aws: Aws, tables: Iterable[RouteTable]) -> dict[str, NetworkInterface]:
    """The network interfaces that routes lead to, by id or by the instance they are attached to."""
    known = list(tables)
    interface_ids = targets(known, TargetKind.NETWORK_INTERFACE)
    instance_ids = targets(known, TargetKind.INSTANCE)
    operation, field = "describe_network_interfaces", "NetworkInterfaces"
    rows = [
        *filtered(aws.ec2, operation, field, "network-interface-id", interface_ids),
        *filtered(aws.ec2, operation, field, "attachment.instance-id", instance_ids),
    ]
    return {record.id: record for record in map(network_interface, rows)}


def read_instances(aws: Aws, interfaces: Iterable[NetworkInterface]) -> dict[str, Instance]:
    """The instances that forwarding interfaces are attached to, with what their types' network cards carry.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NetworkCardInfo.html
    """
    instance_ids = sorted({each.instance_id for each in interfaces if each.instance_id and not each.source_dest_check})
    if not instance_ids:
        return {}
    reservations = filtered(aws.ec2, "describe_instances", "Reservations", "instance-id", instance_ids)
    types = {row["InstanceId"]: row["InstanceType"] for each in reservations for row in each["Instances"]}
    names = sorted(set(types.values()))
    described = filtered(aws.ec2, "describe_instance_types", "InstanceTypes", "instance-type", names)
    cards = {row["InstanceType"]: row["NetworkInfo"]["NetworkCards"] for row in described}
    return {key: _instance(key, name, cards.get(name, [])) for key, name in types.items()}


def _instance(instance_id: str, instance_type: str, cards: list[Mapping[str, Any]]) -> Instance:
    def total(field: str) -> float | None:
        """The sum over all cards in Gbit/s, None where AWS tells it of none."""
        known = [float(card[field]) for card in cards if card.get(field) is not None]
        return sum(known) if known else None

    return Instance(instance_id, instance_type, total("BaselineBandwidthInGbps"), total("PeakBandwidthInGbps"))


def read_transit_gateways(aws: Aws, optional: OptionalReads) -> TransitGateways:
    """Attachments, and the routes of every transit gateway route table that one of them is associated with."""
    described = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_attachments", "TransitGatewayAttachments")
    )
    of_vpcs = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_vpc_attachments", "TransitGatewayVpcAttachments")
    )
    found = None if described is None and of_vpcs is None else attachments(described or [], of_vpcs or [])
    table_ids = sorted({each.route_table_id for each in (found or {}).values() if each.route_table_id})
    tables = {}
    for table_id in table_ids:
        table = optional.read(partial(read_transit_gateway_routes, aws, table_id))
        if table:
            tables[table_id] = transit_gateway_route_table(table_id, table)
    return TransitGateways(found, tables or None)


def read_transit_gateway_routes(aws: Aws, table_id: str) -> dict[str, Any]:
    """All pages of SearchTransitGatewayRoutes as one response; AdditionalRoutesAvailable is that of the last page."""
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
