"""Follow a route to a Gateway Load Balancer endpoint, of AWS Network Firewall or of any other appliance."""

from dataclasses import replace
from functools import partial

from express_path.domain.network.resources import Route, VpcEndpoint
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.onward import RouteTracer, trace_from_any
from express_path.domain.path.outcomes import Outcome, Trace, TraceState, hop_of, unresolved
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.path.routing import AddressSet

_MAY_TRANSLATE = (
    "AWS Network Firewall does not manage this Gateway Load Balancer endpoint, so its appliance may translate traffic"
)
_UNLISTED = "the route table of the endpoint's subnet is not listed"


def follow_appliance_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, addresses: AddressSet, state: TraceState
) -> Trace:
    """Continue from the subnet of a Gateway Load Balancer endpoint; Network Firewall endpoints have the same type.

    https://docs.aws.amazon.com/network-firewall/latest/developerguide/firewall-policy-settings.html
    """
    kind = TargetKind.APPLIANCE_ENDPOINT
    if endpoint.state != "available":
        return unresolved(route, addresses, f"the endpoint's state is {endpoint.state}, not available", kind)
    if state.skip_gateway_endpoints and not endpoint.is_network_firewall:
        return unresolved(route, addresses, _MAY_TRANSLATE, kind)
    state = state._replace(internet_closed=_internet_closed_beyond(tracer, endpoint, state))
    beyond = trace_from_any(tracer, endpoint.subnet_ids, addresses, state, _UNLISTED)
    trace = (
        beyond.map(_nat_behind_appliance) if endpoint.is_network_firewall else behind_appliance(beyond, _MAY_TRANSLATE)
    )
    return trace.via(hop_of(route, kind), route)


def _internet_closed_beyond(tracer: RouteTracer, endpoint: VpcEndpoint, state: TraceState) -> bool | None:
    """Return whether internet gateways are closed to traffic from the endpoint's subnet; None if that is unknown."""
    subnets = (tracer.snapshot.subnets.get(subnet_id) for subnet_id in endpoint.subnet_ids)
    known = {state.internet_closed, *(subnet.internet_closed for subnet in subnets if subnet)}
    if True in known:
        return True
    return None if None in known else False


def behind_appliance(trace: Trace, note: str) -> Trace:
    """Return what can be determined behind an appliance that may translate traffic: only a NAT. note says why."""
    return trace.map(partial(_certain_behind_appliance, note))


def _certain_behind_appliance(note: str, outcome: Outcome) -> Outcome:
    if outcome.reason in NAT_REASONS:
        return _nat_behind_appliance(outcome)
    if outcome.reason is Reason.UNRESOLVED_EGRESS:
        return outcome
    return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note)


def _nat_behind_appliance(outcome: Outcome) -> Outcome:
    """Return a NAT outcome as one behind an appliance; every other outcome stays the same.

    A NAT beyond a transit gateway keeps its reason, which takes precedence.
    """
    if outcome.reason in (Reason.NAT_GATEWAY, Reason.NAT_INSTANCE):
        return replace(outcome, reason=Reason.NAT_BEHIND_APPLIANCE)
    return outcome
