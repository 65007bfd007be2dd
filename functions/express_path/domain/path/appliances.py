"""Follow a route to a Gateway Load Balancer endpoint, of AWS Network Firewall or of any other appliance."""

from dataclasses import replace
from functools import partial

from express_path.domain.network.resources import Firewall, Route, TargetKind, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.onward import RouteTracer, trace_from_any
from express_path.domain.path.outcomes import Hop, Outcome, Trace, TraceState, hop_of, terminal, unresolved
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.path.routing import AddressSet

FIREWALLS_NEEDED = (
    "its appliance may translate traffic; to find its firewall: network-firewall:ListFirewalls, DescribeFirewall, "
    "ListVpcEndpointAssociations, DescribeVpcEndpointAssociation"
)
_NO_FIREWALL = "no AWS Network Firewall that can be read names this endpoint, so its appliance may translate traffic"
_ONLY_TAGGED = f"{_NO_FIREWALL}; its tag AWSNetworkFirewallManaged is no evidence, because anyone may set it"
_UNLISTED = "the route table of the endpoint's subnet is not listed"


def follow_appliance_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, addresses: AddressSet, state: TraceState
) -> Trace:
    """Continue from the subnet of a Gateway Load Balancer endpoint; Network Firewall endpoints have the same type.

    A NAT/Proxy firewall may translate traffic itself and send it out through its own NAT gateway
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/nfw-proxy-how-it-works.html). Every other
    firewall forwards traffic unchanged
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/firewall-policy-settings.html).
    """
    kind = TargetKind.APPLIANCE_ENDPOINT
    if endpoint.state != "available":
        return unresolved(route, addresses, f"the endpoint's state is {endpoint.state}, not available", kind)
    firewall = tracer.snapshot.firewall_of_endpoint.get(endpoint.id)
    if firewall and firewall.translates:
        return _leave_through_firewall(firewall, endpoint, route, addresses)
    may_translate = _may_translate(tracer.snapshot, endpoint)
    if state.skip_gateway_endpoints and not firewall:
        return unresolved(route, addresses, may_translate, kind, lacks="network-firewall:")
    beyond = trace_from_any(tracer, endpoint.subnet_ids, addresses, state, _UNLISTED)
    lacks = "network-firewall:" if may_translate == FIREWALLS_NEEDED else ""
    trace = beyond.map(_nat_behind_appliance) if firewall else behind_appliance(beyond, may_translate, lacks)
    return trace.via(hop_of(route, kind), route)


def _leave_through_firewall(firewall: Firewall, endpoint: VpcEndpoint, route: Route, addresses: AddressSet) -> Trace:
    """End at the NAT gateway of a NAT/Proxy firewall, which DescribeFirewall names for the firewall's own endpoints."""
    trace = terminal(route, addresses, Reason.NAT_BEHIND_APPLIANCE, kind=TargetKind.APPLIANCE_ENDPOINT)
    gateway_id = firewall.nat_gateway_ids.get(endpoint.id)
    if gateway_id is None:
        return trace
    hop = Hop(TargetKind.NAT_GATEWAY, gateway_id, str(route.destination))
    return trace.map(lambda outcome: replace(outcome, path=(*outcome.path, hop)))


def _may_translate(snapshot: Snapshot, endpoint: VpcEndpoint) -> str:
    """Return why it is not certain that an endpoint's appliance forwards traffic unchanged."""
    if snapshot.firewalls is None or any(operation.startswith("network-firewall:") for operation in snapshot.denied):
        return FIREWALLS_NEEDED
    return _ONLY_TAGGED if "AWSNetworkFirewallManaged" in endpoint.tags else _NO_FIREWALL


def behind_appliance(trace: Trace, note: str, lacks: str = "") -> Trace:
    """Return what can be determined behind an appliance that may translate traffic: only a NAT. note says why."""
    return trace.map(partial(_certain_behind_appliance, note, lacks))


def _certain_behind_appliance(note: str, lacks: str, outcome: Outcome) -> Outcome:
    if outcome.reason in NAT_REASONS:
        return _nat_behind_appliance(outcome)
    if outcome.reason is Reason.UNRESOLVED_EGRESS:
        return outcome
    return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note, lacks=lacks)


def _nat_behind_appliance(outcome: Outcome) -> Outcome:
    """Return a NAT outcome as one behind an appliance; every other outcome stays the same.

    A NAT beyond a transit gateway keeps its reason, which takes precedence.
    """
    if outcome.reason in (Reason.NAT_GATEWAY, Reason.NAT_INSTANCE):
        return replace(outcome, reason=Reason.NAT_BEHIND_APPLIANCE)
    return outcome
