"""Follow a route through a transit gateway into the VPC that its own route table leads to."""

import re
from dataclasses import replace

from express_path.domain.network.resources import Route, TransitGatewayAttachment
from express_path.domain.network.snapshot import AttachedVpc
from express_path.domain.path.onward import NextTable, RouteTracer, trace_from, trace_from_any
from express_path.domain.path.outcomes import Outcome, Trace, TraceState, hop_of, terminal, unresolved, without_hop
from express_path.domain.path.reasons import NAT_REASONS, NO_WAY_OUT, Reason
from express_path.domain.path.routing import AddressSet

_TABLES_NEEDED = "set networkRoleArn; its role needs ec2:SearchTransitGatewayRoutes"
_ATTACHMENTS_NEEDED = "set networkRoleArn; its role needs ec2:DescribeTransitGatewayAttachments"
_BOTH_NEEDED = f"{_ATTACHMENTS_NEEDED} and ec2:SearchTransitGatewayRoutes"
_ATTACHMENTS = "ec2:DescribeTransitGatewayAttachments"
_NOT_CERTAIN = "beyond a transit gateway, only a NAT can be determined"
_UNLISTED = "the route tables of the attachment's subnets are not listed"
_AVAILABILITY_ZONE = re.compile(r"[a-z]+[0-9]+-az[0-9]+")
"""The ids of Availability Zones; those of Local Zones and Wavelength Zones have more parts
(https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html)."""


def follow_transit_gateway(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """Continue from the transit gateway route table that is associated with the VPC's attachment.

    Only the transit gateway's owner can read that table, so networkRoleArn names a role in the owner's account
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    if state.skip_gateway_endpoints:
        return unresolved(route, addresses, _NOT_CERTAIN)
    if tracer.snapshot.transit_gateway_attachments is None:
        return unresolved(route, addresses, _ATTACHMENTS_NEEDED, lacks=_ATTACHMENTS)
    attachment = tracer.snapshot.vpc_attachments.get(AttachedVpc(route.target_id, state.vpc_id))
    if attachment is None:
        return unresolved(route, addresses, f"no attachment of {state.vpc_id} is listed; {_ATTACHMENTS_NEEDED}")
    if attachment.state != "available":
        return unresolved(route, addresses, f"the state of {attachment.id} is {attachment.state}, not available")
    if not _may_enter(tracer, attachment, state.zone):
        fix = f"add a subnet in {state.zone} to {attachment.id}, which has none there"
        return terminal(route, addresses, Reason.DROPPED, fix)
    beyond = _trace_from_table_of(tracer, attachment, addresses, state)
    return beyond.map(_certain_beyond_transit_gateway).via(hop_of(route), route)


def _may_enter(tracer: RouteTracer, attachment: TransitGatewayAttachment, zone: str) -> bool:
    """Return whether traffic may reach the transit gateway: its zone needs a subnet of the attachment.

    https://docs.aws.amazon.com/vpc/latest/tgw/tgw-vpc-attachments.html
    """
    if attachment.subnet_ids is None or not _AVAILABILITY_ZONE.fullmatch(zone):
        return True
    subnets = [tracer.snapshot.subnets.get(subnet_id) for subnet_id in attachment.subnet_ids]
    return any(subnet is None or subnet.availability_zone_id in ("", zone) for subnet in subnets)


def _trace_from_table_of(
    tracer: RouteTracer, attachment: TransitGatewayAttachment, addresses: AddressSet, state: TraceState
) -> Trace:
    """Continue from the transit gateway route table that an attachment is associated with."""
    tables = tracer.snapshot.transit_gateway_route_tables
    table = (tables or {}).get(attachment.route_table_id or "")
    note = ""
    if attachment.route_table_id is None:
        note = _BOTH_NEEDED
    elif tables is None:
        note = _TABLES_NEEDED
    elif table is None:
        note = f"the route table of {attachment.id} cannot be read; {_TABLES_NEEDED}"
    elif table.truncated:
        note = f"{table.id} has more routes than one search returns"
    if table is None or note:
        lacks = "" if table else "ec2:SearchTransitGatewayRoutes"
        return without_hop(addresses, Reason.UNRESOLVED_EGRESS, note, lacks=lacks)
    return trace_from(tracer, NextTable(table, state), addresses)


def _certain_beyond_transit_gateway(outcome: Outcome) -> Outcome:
    """Return what can be determined beyond a transit gateway: a NAT, or no way out. Everything else is unresolved."""
    if outcome.reason in NAT_REASONS:
        return replace(outcome, reason=Reason.NAT_BEYOND_TRANSIT_GATEWAY)
    if outcome.reason in NO_WAY_OUT:
        return outcome
    note = outcome.note or f"the result beyond the transit gateway is {outcome.reason}, so a NAT is not certain"
    return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note)


def follow_attachment(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """Follow a transit gateway's route to an attachment: into its VPC, or through a firewall to the attachment's table.

    https://docs.aws.amazon.com/network-firewall/latest/developerguide/tgw-firewall.html
    """
    attachment = (tracer.snapshot.transit_gateway_attachments or {}).get(route.target_id)
    if attachment is None:
        return unresolved(route, addresses, f"this attachment is not listed; {_ATTACHMENTS_NEEDED}")
    if attachment.resource_type not in ("vpc", "network-function"):
        return unresolved(
            route,
            addresses,
            f"traffic leaves through an attachment of type {attachment.resource_type}, which cannot be followed",
        )
    if attachment.state != "available":
        return unresolved(route, addresses, f"the attachment's state is {attachment.state}, not available")
    if attachment.resource_type == "network-function":
        beyond = _trace_from_table_of(tracer, attachment, addresses, state)
    else:
        subnet_ids = _subnets_that_may_carry(tracer, attachment, state.zone)
        beyond = trace_from_any(tracer, subnet_ids, addresses, state, _UNLISTED)
    return beyond.via(hop_of(route), route)


def _subnets_that_may_carry(tracer: RouteTracer, attachment: TransitGatewayAttachment, zone: str) -> tuple[str, ...]:
    """Return the attachment's subnets through which traffic from a zone may enter the VPC.

    A transit gateway keeps traffic in its zone if the attachment has a subnet there. In appliance mode, it picks a zone
    for each flow (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    subnet_ids = attachment.subnet_ids or ()
    subnets = [tracer.snapshot.subnets.get(subnet_id) for subnet_id in subnet_ids]
    in_zone = tuple(subnet.id for subnet in subnets if subnet is not None and subnet.availability_zone_id == zone)
    return in_zone if in_zone and not attachment.appliance_mode else subnet_ids
