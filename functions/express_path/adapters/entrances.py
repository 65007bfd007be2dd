"""Read where traffic of other VPCs may enter a VPC: all route tables of its transit gateways, and its Cloud WAN attachments."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from express_path.adapters.aws import Aws, OptionalReads, calling, pages
from express_path.adapters.network_reader import SnapshotReader, assuming, read_transit_gateway_routes
from express_path.adapters.records import transit_gateway_route_table
from express_path.domain.network.resources import TargetKind, TransitGatewayAttachment, target_ids
from express_path.domain.network.snapshot import Snapshot
from express_path.fields import Description, identifier, ids, nested


def transit_gateways_of_tables(described: Iterable[Description]) -> dict[str, str]:
    """Return the transit gateway of each table of DescribeTransitGatewayRouteTables. Raise RecordError."""
    found = {}
    for description in described:
        table_id = identifier(description, "TransitGatewayRouteTableId", "TransitGatewayRouteTables")
        found[table_id] = identifier(description, "TransitGatewayId", table_id)
    return found


def core_network_attachment(response: Description) -> TransitGatewayAttachment:
    """Return the record of a response of GetVpcAttachment, with the core network's ARN as the gateway. Raise RecordError.

    https://docs.aws.amazon.com/networkmanager/latest/APIReference/API_GetVpcAttachment.html
    """
    of_vpc = nested(response, "VpcAttachment", "GetVpcAttachment")
    attachment = nested(of_vpc, "Attachment", "GetVpcAttachment")
    attachment_id = identifier(attachment, "AttachmentId", "GetVpcAttachment")
    subnet_ids = tuple(_id_in(arn) for arn in ids(of_vpc, "SubnetArns", attachment_id))
    return TransitGatewayAttachment(
        id=attachment_id,
        transit_gateway_id=identifier(attachment, "CoreNetworkArn", attachment_id),
        resource_type="vpc",
        resource_id=_id_in(identifier(attachment, "ResourceArn", attachment_id)),
        state=identifier(attachment, "State", attachment_id).lower(),
        subnet_ids=subnet_ids or None,
    )


def _id_in(arn: str) -> str:
    """Return the ID at the end of the ARN of a VPC or a subnet."""
    return arn.rpartition("/")[2]


def with_entrances(aws: Aws, reader: SnapshotReader, snapshot: Snapshot, vpc_id: str | None, role_arn: str) -> Snapshot:
    """Add what shows whether traffic of other VPCs enters a VPC, or any VPC of the account's Region if vpc_id is None.

    Nothing is read if no table leads to a transit gateway or a core network. Whatever is denied is missing. Raise ApiError
    for any other failure.
    """
    tables = [table for table in snapshot.route_tables.values() if vpc_id in (None, table.vpc_id)]
    optional = OptionalReads()
    gateways, networks = target_ids(tables, TargetKind.TRANSIT_GATEWAY), target_ids(tables, TargetKind.CORE_NETWORK)
    if not (gateways or networks):
        return snapshot
    if vpc_id:
        snapshot = replace(snapshot, nat_gateways={**snapshot.nat_gateways, **reader.nat_gateways(vpc_id)})
    if gateways:
        snapshot = _with_tables(aws, snapshot, optional)
        role = optional.read(partial(assuming, aws, role_arn, reader.external_id)) if role_arn else None
        snapshot = _with_tables(role, snapshot, optional) if role else snapshot
    if networks:
        snapshot = replace(snapshot, core_network_attachments=optional.read(partial(_core_attachments, aws, networks)))
    return replace(snapshot, denied=tuple(dict.fromkeys((*snapshot.denied, *optional.denied))))


def _with_tables(aws: Aws, snapshot: Snapshot, optional: OptionalReads) -> Snapshot:
    """Add the transit gateway route tables that an account lists, those of its own transit gateways."""
    listed = optional.read(
        lambda: pages(aws.ec2, "ec2", "describe_transit_gateway_route_tables", "TransitGatewayRouteTables")
    )
    found = transit_gateways_of_tables(listed or ())
    tables = dict(snapshot.transit_gateway_route_tables or {})
    for table_id in sorted(found.keys() - tables.keys()):
        answer = optional.read(partial(read_transit_gateway_routes, aws, table_id))
        if answer:
            tables[table_id] = transit_gateway_route_table(table_id, answer)
    return replace(
        snapshot,
        transit_gateway_route_tables=tables or None,
        transit_gateway_of_table={**(snapshot.transit_gateway_of_table or {}), **found} or None,
    )


def _core_attachments(aws: Aws, network_arns: Iterable[str]) -> Mapping[str, TransitGatewayAttachment]:
    """Read the VPC attachments of core networks. Raise ApiError."""
    client = aws.client("networkmanager")
    found = {}
    for arn in network_arns:
        wanted = {"CoreNetworkId": _id_in(arn), "AttachmentType": "VPC"}
        for row in pages(client, "networkmanager", "list_attachments", "Attachments", **wanted):
            with calling("networkmanager:GetVpcAttachment"):
                answer = client.get_vpc_attachment(AttachmentId=row["AttachmentId"])
            record = core_network_attachment(answer)
            found[record.id] = record
    return found
