"""Following a route through a transit gateway into the VPC that its own route table leads to."""

import re
from collections.abc import Mapping
from dataclasses import replace

from express_path.domain.network.resources import Route, TransitGatewayAttachment
from express_path.domain.path.onward import NextTable, RouteTracer, trace_from, trace_from_any
from express_path.domain.path.outcomes import Outcome, Traced, TraceState, hop_of, terminal, unresolved
from express_path.domain.path.reasons import NAT_REASONS, NO_WAY_OUT, Reason
from express_path.domain.path.routing import AddressSet

_NEEDED = "set networkRoleArn: ec2:SearchTransitGatewayRoutes of its owner would resolve it"
_BOTH_NEEDED = (
    "set networkRoleArn: ec2:DescribeTransitGatewayAttachments and ec2:SearchTransitGatewayRoutes of its owner would "
    "resolve it"
)
_ATTACHMENTS_NEEDED = "set networkRoleArn: ec2:DescribeTransitGatewayAttachments of its owner would resolve it"
_BEYOND = "beyond a transit gateway, only a NAT is certain"
_UNSEEN = "the route tables of the attachment's subnets are not listed"
_AVAILABILITY_ZONE = re.compile(r"[a-z]+[0-9]+-az[0-9]+")
"""The ids of Availability Zones; those of Local Zones and Wavelength Zones have more parts
(https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html)."""


def follow_transit_gateway(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A transit gateway: on from the transit gateway route table with which the VPC's attachment is associated.

    A spoke account cannot read that table: only the transit gateway's owner can
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    if state.skip_gateway_endpoints:
        return unresolved(route, region, _BEYOND)
    attachments = tracer.snapshot.transit_gateway_attachments
    if attachments is None:
        return unresolved(route, region, _ATTACHMENTS_NEEDED)
    attachment = _attachment_of(attachments, route.target_id, state.vpc_id)
    if attachment is None:
        return unresolved(route, region, f"{_ATTACHMENTS_NEEDED}; no attachment of {state.vpc_id} is listed")
    if not _may_enter(tracer, attachment, state.zone):
        fix = f"add a subnet in {state.zone} to {attachment.id}, which has none there"
        return terminal(route, region, Reason.DROPPED, fix)
    onward = _onward_from_table_of(tracer, attachment, region, state)
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


def _may_enter(tracer: RouteTracer, attachment: TransitGatewayAttachment, zone: str) -> bool:
    """Whether a zone's traffic may reach the transit gateway: it needs an attachment subnet in its Availability Zone.

    https://docs.aws.amazon.com/vpc/latest/tgw/tgw-vpc-attachments.html
    """
    if attachment.subnet_ids is None or not _AVAILABILITY_ZONE.fullmatch(zone):
        return True
    subnets = [tracer.snapshot.subnets.get(each) for each in attachment.subnet_ids]
    return any(each is None or each.availability_zone_id in ("", zone) for each in subnets)


def _onward_from_table_of(
    tracer: RouteTracer, attachment: TransitGatewayAttachment, region: AddressSet, state: TraceState
) -> list[Traced]:
    """On from the transit gateway route table that an attachment is associated with."""
    tables = tracer.snapshot.transit_gateway_route_tables
    table = (tables or {}).get(attachment.route_table_id or "")
    note = ""
    if attachment.route_table_id is None:
        note = _BOTH_NEEDED
    elif tables is None:
        note = _NEEDED
    elif table is None:
        note = f"{_NEEDED}; the route table of {attachment.id} cannot be read"
    elif table.truncated:
        note = f"{table.id} has more routes than one search returns"
    if table is None or note:
        return [Traced(region, (Outcome(Reason.UNRESOLVED_EGRESS, note=note),))]
    return trace_from(tracer, NextTable(table, state), region)


def _beyond_transit_gateway(traced: Traced) -> Traced:
    """Only what is certainly a NAT, or certainly no way out, may be concluded beyond a transit gateway."""
    return Traced(traced.region, tuple(map(_seen_from_before, traced.outcomes)))


def _seen_from_before(outcome: Outcome) -> Outcome:
    if outcome.reason in NAT_REASONS:
        return replace(outcome, reason=Reason.NAT_BEYOND_TRANSIT_GATEWAY)
    if outcome.reason in NO_WAY_OUT:
        return outcome
    note = outcome.note or f"beyond the transit gateway it is {outcome.reason}, which is not certainly a NAT"
    return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note)


def follow_attachment(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A transit gateway's route to an attachment: on into its VPC, or through a firewall to the attachment's table.

    https://docs.aws.amazon.com/network-firewall/latest/developerguide/tgw-firewall.html
    """
    attachment = (tracer.snapshot.transit_gateway_attachments or {}).get(route.target_id)
    if attachment is None:
        return unresolved(route, region, f"{_ATTACHMENTS_NEEDED}; this attachment is not listed")
    if attachment.resource_type not in ("vpc", "network-function"):
        return unresolved(route, region, f"it leaves by a {attachment.resource_type} attachment")
    if attachment.state != "available":
        return unresolved(route, region, f"the attachment's state is {attachment.state}, not available")
    if attachment.resource_type == "network-function":
        onward = _onward_from_table_of(tracer, attachment, region, state)
    else:
        onward = trace_from_any(tracer, _entrances(tracer, attachment, state.zone), region, state, _UNSEEN)
    return [each.via(hop_of(route), route) for each in onward]


def _entrances(tracer: RouteTracer, attachment: TransitGatewayAttachment, zone: str) -> tuple[str, ...]:
    """The subnets that may carry traffic out of an attachment.

    A transit gateway keeps to the zone that traffic enters in if the attachment has a subnet there; in appliance mode
    it picks one by flow (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    subnet_ids = attachment.subnet_ids or ()
    subnets = [tracer.snapshot.subnets.get(subnet_id) for subnet_id in subnet_ids]
    in_zone = tuple(each.id for each in subnets if each is not None and each.availability_zone_id == zone)
    return in_zone if in_zone and not attachment.appliance_mode else subnet_ids
