"""Transit gateways: attachments, their route tables, and the routes in these."""

from dataclasses import replace

from express_path.domain.network.resources import TransitGatewayAttachment
from express_path_cli.sources.change.changed_network import ChangedNetwork, ChangedTable, add_nothing
from express_path_cli.sources.change.families.routes import add_route, remove_propagation, remove_route
from express_path_cli.sources.change.resource import GONE, MADE, Kind, Possible, Resource, UnknownId

_BY_DEFAULT = "default_route_table_association"


def _remove_association(network: ChangedNetwork, resource: Resource) -> None:
    attachment = network.records.attachments.get(resource.before.text(Kind.ATTACHMENT))
    if attachment:
        network.records.attachments[attachment.id] = replace(attachment, route_table_id=None)


def _remove_attachment(network: ChangedNetwork, resource: Resource) -> None:
    """Let AWS drop what the VPC of an attachment routes to the transit gateway."""
    for table in network.records.tables.values():
        if resource.action in GONE and table.vpc_id == resource.before.text("vpc_id"):
            table.blackhole({resource.before.text(Kind.TRANSIT_GATEWAY)})


def _add_gateway(network: ChangedNetwork, resource: Resource) -> None:
    """Add the default route table of a transit gateway."""
    table_id = resource.made("association_default_route_table_id")
    if resource.action in MADE:
        network.records.transit_tables.setdefault(table_id, ChangedTable())
    if resource.after.text(_BY_DEFAULT) != "disable":
        network.transit_default[resource.id] = table_id


def _add_table(network: ChangedNetwork, resource: Resource) -> None:
    if resource.id not in network.records.transit_tables:
        table = network.records.transit_tables[resource.id] = ChangedTable()
        if resource.action not in MADE:
            table.add_unreadable(UnknownId(f"what routes {resource.address} has"))


def _add_attachment(network: ChangedNetwork, resource: Resource) -> None:
    after, (subnets, others) = resource.after, resource.after.listed("subnet_ids")
    gateway_id, vpc_id = after.one(Kind.TRANSIT_GATEWAY), after.one("vpc_id")
    is_certain = others == Possible()
    is_default = after.known(f"transit_gateway_{_BY_DEFAULT}") is not False
    table_id = network.transit_default.get(gateway_id) if is_default else None
    unlisted = () if is_certain else (after.unknown("subnet_ids"),)
    # If the subnets are not certain, each of them may carry the traffic of any zone.
    appliance_mode = (
        not is_certain
        or after.known("appliance_mode_support") not in (None, "", "disable")
        or after.is_unknown("appliance_mode_support")
    )
    attachment = TransitGatewayAttachment(
        resource.id,
        gateway_id,
        "vpc",
        vpc_id,
        route_table_id=table_id,
        subnet_ids=(*subnets, *others.ids, *unlisted),
        appliance_mode=appliance_mode,
    )
    mode = "appliance_mode_support" if is_certain else "subnet_ids"
    network.put(network.records.attachments, resource, attachment, subnet_ids="subnet_ids", appliance_mode=mode)


def _associate(network: ChangedNetwork, resource: Resource) -> None:
    """Associate an attachment with a table, which is not known if the attachment may be another one."""
    found = resource.after.named(Kind.ATTACHMENT)
    table_id = resource.after.named(Kind.TRANSIT_TABLE).certain if found.certain else None
    for attachment_id in found.among(network.records.attachments):
        network.records.attachments[attachment_id] = replace(
            network.records.attachments[attachment_id], route_table_id=table_id
        )


def _propagate(network: ChangedNetwork, resource: Resource) -> None:
    """Add what is propagated. A VPC propagates its own addresses, where S3 Express is not; others, any route."""
    after = resource.after
    found = after.named(Kind.ATTACHMENT)
    attachments = [network.records.attachments.get(one) for one in found.ids]
    if not found.is_open and all(one is not None and one.resource_type == "vpc" for one in attachments):
        return
    for table_id in after.named(Kind.TRANSIT_TABLE).among(network.records.transit_tables):
        network.records.transit_tables[table_id].add_unreadable(UnknownId(f"what {resource.address} propagates"))


ADD = {
    "aws_ec2_transit_gateway": _add_gateway,
    "aws_ec2_transit_gateway_route_table": _add_table,
    "aws_ec2_transit_gateway_vpc_attachment": _add_attachment,
    "aws_ec2_transit_gateway_connect": add_nothing,
    "aws_ec2_transit_gateway_peering_attachment": add_nothing,
    "aws_ec2_transit_gateway_route_table_association": _associate,
    "aws_ec2_transit_gateway_route_table_propagation": _propagate,
    "aws_ec2_transit_gateway_route": add_route,
    "aws_ec2_transit_gateway_prefix_list_reference": add_route,
}
REMOVE = {
    "aws_ec2_transit_gateway_vpc_attachment": _remove_attachment,
    "aws_ec2_transit_gateway_route_table_association": _remove_association,
    "aws_ec2_transit_gateway_route_table_propagation": remove_propagation,
    "aws_ec2_transit_gateway_route": remove_route,
    "aws_ec2_transit_gateway_prefix_list_reference": remove_route,
}
