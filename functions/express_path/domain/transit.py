"""Following a route through a transit gateway into the VPC that its own route table leads to."""

from collections.abc import Mapping
from dataclasses import replace

from express_path.domain.hops import Entry, Network, entries_of, onward_from
from express_path.domain.network import Route, TransitGatewayAttachment
from express_path.domain.path import Outcome, Traced, Visit, hop_of, unresolved
from express_path.domain.reasons import NAT_REASONS, Reason
from express_path.domain.routing import Region

_NEEDED = "set networkRoleArn: ec2:SearchTransitGatewayRoutes of its owner would resolve it"
_ATTACHMENTS_NEEDED = "set networkRoleArn: ec2:DescribeTransitGatewayAttachments of its owner would resolve it"


def follow_transit_gateway(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """A transit gateway: on from the transit gateway route table with which the VPC's attachment is associated.

    A spoke account cannot read that table: only the transit gateway's owner can
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    attachments = network.snapshot.transit_gateway_attachments
    tables = network.snapshot.transit_gateway_route_tables
    if attachments is None:
        return unresolved(route, region, _ATTACHMENTS_NEEDED)
    if tables is None:
        return unresolved(route, region, _NEEDED)
    attachment = _attachment_of(attachments, route.target_id, visit.vpc_id)
    if attachment is None:
        return unresolved(route, region, f"{_ATTACHMENTS_NEEDED}; no attachment of {visit.vpc_id} is listed")
    table = tables.get(attachment.route_table_id or "")
    if table is None:
        return unresolved(route, region, f"{_NEEDED}; the route table of {attachment.id} cannot be read")
    if table.truncated:
        return unresolved(route, region, f"{table.id} has more routes than one search returns")
    onward = onward_from(network, [Entry(table, visit.zone)], region, visit)
    return [_beyond_transit_gateway(each).via(hop_of(route), route) for each in onward]


def _attachment_of(
    attachments: Mapping[str, TransitGatewayAttachment], transit_gateway_id: str, vpc_id: str
) -> TransitGatewayAttachment | None:
    fitting = (
        each
        for each in attachments.values()
        if each.transit_gateway_id == transit_gateway_id
        and each.resource_type == "vpc"
        and each.resource_id == vpc_id
        and each.state == "available"
    )
    return min(fitting, key=lambda each: each.id, default=None)


def _beyond_transit_gateway(traced: Traced) -> Traced:
    """Only what is certainly a NAT, or certainly no way out, may be concluded beyond a transit gateway."""
    reasons = {outcome.reason for outcome in traced.outcomes}
    if reasons <= NAT_REASONS:
        beyond = Reason.NAT_BEYOND_TRANSIT_GATEWAY
    elif reasons == {Reason.NO_ROUTE}:
        beyond = Reason.NO_ROUTE
    else:
        beyond = Reason.UNRESOLVED_EGRESS
    return Traced(traced.region, tuple(_seen_from_before(outcome, beyond) for outcome in traced.outcomes))


def _seen_from_before(outcome: Outcome, reason: Reason) -> Outcome:
    known = outcome.note
    if reason is Reason.UNRESOLVED_EGRESS and not known:
        known = f"beyond the transit gateway it is {outcome.reason}, which is not certainly a NAT"
    return replace(outcome, reason=reason, note=known)


def follow_attachment(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """A transit gateway's route to a VPC attachment: on from the table of the attachment's subnet in the right zone."""
    attachment = (network.snapshot.transit_gateway_attachments or {}).get(route.target_id)
    if attachment is None:
        return unresolved(route, region, f"{_ATTACHMENTS_NEEDED}; this attachment is not listed")
    if attachment.resource_type != "vpc":
        return unresolved(route, region, f"it leaves by a {attachment.resource_type} attachment")
    if attachment.state != "available":
        return unresolved(route, region, f"the attachment's state is {attachment.state}, not available")
    entries = _zone_entries(network, attachment, visit.zone)
    if not entries:
        return unresolved(route, region, "the route tables of the attachment's subnets cannot be seen")
    return [each.via(hop_of(route), route) for each in onward_from(network, entries, region, visit)]


def _zone_entries(network: Network, attachment: TransitGatewayAttachment, zone: str) -> list[Entry]:
    """The tables that may carry traffic out of an attachment.

    A transit gateway keeps to the zone that traffic enters in where the attachment has a subnet there; in appliance
    mode it picks one by flow (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    subnet_ids = attachment.subnet_ids or ()
    subnets = [network.snapshot.subnets.get(subnet_id) for subnet_id in subnet_ids]
    in_zone = [each.id for each in subnets if each is not None and each.availability_zone_id == zone]
    if in_zone and not attachment.appliance_mode:
        return entries_of(network, in_zone)
    return entries_of(network, subnet_ids)
