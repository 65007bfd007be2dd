"""Read where traffic of other VPCs may enter a VPC: all route tables of its transit gateways, and its Cloud WAN attachments."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from express_path.adapters.aws import Aws, Expecting, OptionalReads, calling, pages
from express_path.adapters.network_reader import SnapshotReader, read_transit_gateway_routes, read_transit_gateways
from express_path.adapters.records import (
    core_network_attachment,
    network_interface,
    transit_gateway_connects,
    transit_gateway_route_table,
    transit_gateways_of_tables,
)
from express_path.adapters.roles import assuming
from express_path.domain.heal.entrances import has_connects, unknown_gateways
from express_path.domain.network.resources import RouteTable, TargetKind, TransitGatewayAttachment, target_ids
from express_path.domain.network.snapshot import Snapshot
from express_path.fields import Description


def with_entrances(aws: Aws, reader: SnapshotReader, snapshot: Snapshot, vpc_id: str | None, role_arn: str) -> Snapshot:
    """Add what shows whether traffic of other VPCs enters a VPC, or any VPC of the account's Region if vpc_id is None.

    If no table leads to a transit gateway or a core network, or may do so, the transit gateways' tables are read only for a VPC
    that is attached to one. Whatever is denied is missing. Raise ApiError for any other failure.
    """
    tables = [table for table in snapshot.route_tables.values() if vpc_id in (None, table.vpc_id)]
    optional = OptionalReads()
    gateways, networks = target_ids(tables, TargetKind.TRANSIT_GATEWAY), target_ids(tables, TargetKind.CORE_NETWORK)
    is_hidden = any(unknown_gateways(snapshot, table_vpc_id) for table_vpc_id in {table.vpc_id for table in tables})
    is_attached = not (gateways or networks or is_hidden) and _is_attached(aws, snapshot, vpc_id, optional)
    if not (gateways or networks or is_hidden or is_attached):
        return snapshot
    if snapshot.transit_gateway_attachments is None and (is_hidden or is_attached):
        attachments = read_transit_gateways(aws, optional).attachments
        snapshot = replace(snapshot, transit_gateway_attachments=attachments)
    if gateways or is_hidden or is_attached:
        snapshot = reader.with_lists_of_transit_gateways(_with_tables(aws, snapshot, optional), optional)
        role = optional.read(partial(assuming, aws, role_arn, reader.external_id)) if role_arn else None
        if role:
            snapshot = _with_tables(role, snapshot, optional)
            snapshot = SnapshotReader(role).with_lists_of_transit_gateways(snapshot, optional)
        if has_connects(snapshot):
            for account in filter(None, (aws, role)):
                snapshot = _with_connects(account, snapshot, optional)
            snapshot = _with_appliances(aws, snapshot, vpc_id, optional)
    if networks:
        snapshot = replace(snapshot, core_network_attachments=optional.read(partial(_core_attachments, aws, tables)))
    return replace(snapshot, denied=tuple(dict.fromkeys((*snapshot.denied, *optional.denied))))


def _is_attached(aws: Aws, snapshot: Snapshot, vpc_id: str | None, optional: OptionalReads) -> bool:
    """Return whether a VPC, or any VPC if vpc_id is None, is attached to a transit gateway, as far as that can be read."""
    if snapshot.transit_gateway_attachments is not None:
        return any(vpc_id in (None, attached) for attached in snapshot.attachments_by_vpc)
    of_vpc = {"Filters": [{"Name": "vpc-id", "Values": [vpc_id]}]} if vpc_id else {}
    operation, field = "describe_transit_gateway_vpc_attachments", "TransitGatewayVpcAttachments"
    return bool(optional.read(lambda: pages(aws.ec2, "ec2", operation, field, **of_vpc)))


def _with_tables(aws: Aws, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
    """Add the transit gateway route tables that an account lists, those of its own transit gateways."""
    listed = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_route_tables", "TransitGatewayRouteTables")
    )
    gateways = transit_gateways_of_tables(listed or ())
    tables = dict(snapshot.transit_gateway_route_tables or {})
    for table_id in sorted(gateways.keys() - tables.keys()):
        answer = optional.read(partial(read_transit_gateway_routes, aws, table_id))
        if answer:
            tables[table_id] = transit_gateway_route_table(table_id, answer)
    return replace(
        snapshot,
        transit_gateway_route_tables=tables or None,
        transit_gateway_of_table={**(snapshot.transit_gateway_of_table or {}), **gateways} or None,
    )


def _with_connects(aws: Aws, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
    """Add the Connect attachments that an account lists."""
    rows = optional.read(lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_connects", "TransitGatewayConnects"))
    if rows is None:
        return snapshot
    connects = {**(snapshot.transit_gateway_connects or {}), **transit_gateway_connects(rows)}
    return replace(snapshot, transit_gateway_connects=connects)


def _with_appliances(aws: Aws, snapshot: Snapshot, vpc_id: str | None, optional: OptionalReads) -> Snapshot:
    """Add the network interfaces that may forward the traffic of a Connect attachment, in one of the account's VPCs or all."""
    filters = [{"Name": "source-dest-check", "Values": ["false"]}]
    if vpc_id:
        filters.append({"Name": "vpc-id", "Values": [vpc_id]})
    operation, field = "describe_network_interfaces", "NetworkInterfaces"
    rows = optional.read(lambda: pages(aws.ec2, "ec2", operation, field, Filters=filters))
    if rows is None:
        return snapshot
    interfaces = {interface.id: interface for interface in map(network_interface, rows)}
    return replace(
        snapshot,
        network_interfaces={**interfaces, **(snapshot.network_interfaces or {})},
        interfaces_listed_in=frozenset(
            owned_vpc_id for owned_vpc_id in snapshot.owned_vpcs if vpc_id in (None, owned_vpc_id)
        ),
    )


def _core_attachments(aws: Aws, tables: Collection[RouteTable]) -> Mapping[str, TransitGatewayAttachment]:
    """Read the VPC attachments of core networks. Raise ApiError."""
    answers = describe_core_network_attachments(aws, tables)
    return {record.id: record for record in map(core_network_attachment, answers)}


def describe_core_network_attachments(aws: Aws, tables: Collection[RouteTable]) -> list[Description]:
    """Return an answer of GetVpcAttachment for each of the tables' VPCs that is attached to a core network they lead to.

    Only attachments in this Region are read. One that is deleted meanwhile is left out. Raise ApiError.
    """
    client, answers = aws.client("networkmanager"), list[Description]()
    vpc_ids = {table.vpc_id for table in tables}
    for arn in target_ids(tables, TargetKind.CORE_NETWORK):
        wanted = {
            "CoreNetworkId": arn.rpartition("/")[2],
            "AttachmentType": "VPC",
            "EdgeLocation": aws.region,
        }
        for row in pages(client, "networkmanager", "list_attachments", "Attachments", **wanted):
            vpc_arn = row.get("ResourceArn")
            if vpc_arn and vpc_arn.rpartition("/")[2] not in vpc_ids:
                continue
            with Expecting("ResourceNotFoundException"), calling("networkmanager:GetVpcAttachment"):
                answers.append(client.get_vpc_attachment(AttachmentId=row["AttachmentId"]))
    return answers
