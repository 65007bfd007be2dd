"""Transit gateways: attachments, their route tables, and the routes in these."""

from collections.abc import Sequence
from dataclasses import replace

from express_path.domain.network.resources import Rank, Route, TargetKind, TransitGatewayAttachment
from express_path_cli.sources.proposal.draft import Draft, DraftTable, cidr_of
from express_path_cli.sources.proposal.families.routes import place, remove_route
from express_path_cli.sources.proposal.resource import GONE, MADE, Arguments, Kind, Resource, UnknownId

_PREFIX = "aws_ec2_transit_gateway"
_GATEWAY, _ATTACHMENT, _TABLE = _PREFIX, f"{_PREFIX}_vpc_attachment", f"{_PREFIX}_route_table"
_ASSOCIATION, _PROPAGATION = f"{_TABLE}_association", f"{_TABLE}_propagation"
_BY_DEFAULT = "default_route_table_association"
_ROUTES = (f"{_PREFIX}_route", f"{_PREFIX}_prefix_list_reference")
TYPES = frozenset(
    {
        _GATEWAY,
        _ATTACHMENT,
        _TABLE,
        _ASSOCIATION,
        _PROPAGATION,
        *_ROUTES,
        f"{_PREFIX}_connect",
        f"{_PREFIX}_peering_attachment",
    }
)


def remove(draft: Draft, resource: Resource) -> None:
    """Remove what connects attachments and tables, and routes. A VPC without its attachment drops what is routed to it."""
    before = resource.before
    table = draft.transit_tables.get(before.text(Kind.TRANSIT_TABLE))
    attachment = draft.attachments.get(before.text(Kind.ATTACHMENT))
    if resource.type in _ROUTES and table:
        remove_route(table, before)
    elif resource.type == _ASSOCIATION and attachment:
        draft.attachments[attachment.id] = replace(attachment, route_table_id=None)
    elif resource.type == _PROPAGATION and table:
        table.remove_propagated(before.text(Kind.ATTACHMENT))
    elif resource.action in GONE and resource.type == _ATTACHMENT:
        for vpc_table in draft.tables.values():
            if vpc_table.vpc_id == before.text("vpc_id"):
                vpc_table.blackhole({before.text(Kind.TRANSIT_GATEWAY)})


def add(draft: Draft, resources: Sequence[Resource]) -> None:
    """Add tables and attachments, then what connects them, then routes."""
    gateways = {one.id: one for one in resources if one.type == _GATEWAY}
    for gateway in gateways.values():
        if gateway.action in MADE:
            draft.transit_tables.setdefault(gateway.made("association_default_route_table_id"), DraftTable())
    for resource in resources:
        if resource.type == _TABLE and resource.id not in draft.transit_tables:
            table = draft.transit_tables[resource.id] = DraftTable()
            if resource.action not in MADE:
                table.add_unreadable(UnknownId(f"what routes {resource.address} has"))
    for resource in resources:
        if resource.type == _ATTACHMENT:
            _add_attachment(draft, resource, gateways)
    for resource in resources:
        if resource.type == _ASSOCIATION:
            _associate(draft, resource)
        elif resource.type == _PROPAGATION:
            _propagate(draft, resource)
    routes = [one for one in resources if one.type in _ROUTES]
    place(draft, routes, _route, Kind.TRANSIT_TABLE, draft.transit_tables)


def _add_attachment(draft: Draft, resource: Resource, gateways: dict[str, Resource]) -> None:
    after, known = resource.after, draft.attachments.get(resource.id)
    gateway_id = after.one(Kind.TRANSIT_GATEWAY)
    gateway = gateways.get(gateway_id)
    subnets = after.listed("subnet_ids")
    is_certain = not subnets.possible and not subnets.is_open
    table_id = known.route_table_id if known else None
    is_default = after.known("transit_gateway_default_route_table_association") is not False
    if not known and gateway and is_default and gateway.after.text(_BY_DEFAULT) != "disable":
        table_id = gateway.made("association_default_route_table_id")
    unlisted = () if is_certain else (after.unknown("subnet_ids"),)
    draft.attachments[resource.id] = TransitGatewayAttachment(
        id=resource.id,
        transit_gateway_id=gateway_id,
        resource_type="vpc",
        resource_id=known.resource_id if known else after.one("vpc_id"),
        route_table_id=table_id,
        subnet_ids=(*subnets.ids, *subnets.possible, *unlisted),
        # If the subnets are not certain, each of them may carry the traffic of any zone.
        appliance_mode=not is_certain
        or after.known("appliance_mode_support") not in (None, "", "disable")
        or after.is_unknown("appliance_mode_support"),
    )


def _associate(draft: Draft, resource: Resource) -> None:
    """Associate an attachment with a table, which is not known if the attachment may be another one."""
    found = resource.after.named(Kind.ATTACHMENT)
    table_id = resource.after.named(Kind.TRANSIT_TABLE).certain if found.certain else None
    for attachment_id in found.among(draft.attachments):
        draft.attachments[attachment_id] = replace(draft.attachments[attachment_id], route_table_id=table_id)


def _propagate(draft: Draft, resource: Resource) -> None:
    """Add what is propagated. A VPC propagates its own addresses, where S3 Express is not; others, any route."""
    after = resource.after
    found = after.named(Kind.ATTACHMENT)
    attachments = [draft.attachments.get(one) for one in found.ids]
    if not found.is_open and all(one is not None and one.resource_type == "vpc" for one in attachments):
        return
    for table_id in after.named(Kind.TRANSIT_TABLE).among(draft.transit_tables):
        draft.transit_tables[table_id].add_unreadable(UnknownId(f"what {resource.address} propagates"))


def _route(_: Draft, after: Arguments) -> Route:
    name = "prefix_list_id" if after.values.get("prefix_list_id") else "destination_cidr_block"
    cidr = cidr_of(after.known("destination_cidr_block"))
    destination = cidr or after.named("prefix_list_id").certain or after.unknown(name)
    rank = Rank.STATIC if cidr else Rank.PREFIX_LIST
    if after.known("blackhole") is True:
        return Route(destination, "", TargetKind.TRANSIT_GATEWAY_ATTACHMENT, rank, state="blackhole")
    return Route(destination, after.one(Kind.ATTACHMENT), TargetKind.TRANSIT_GATEWAY_ATTACHMENT, rank)
