"""Following a route to a Gateway Load Balancer endpoint: one of Network Firewall, or of any other appliance."""

from dataclasses import replace

from express_path.domain.network.resources import Route, VpcEndpoint
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.onward import RouteTracer, trace_from_any
from express_path.domain.path.outcomes import Outcome, Traced, TraceState, hop_of, unresolved
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.path.routing import AddressSet

_MAY_TRANSLATE = (
    "AWS Network Firewall does not manage this Gateway Load Balancer endpoint, so its appliance may translate traffic"
)
_UNSEEN = "the route table of the endpoint's subnet is not listed"


def follow_appliance_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, region: AddressSet, state: TraceState
) -> list[Traced]:
    """Gateway Load Balancer and Network Firewall endpoints share a type; traffic goes on from the endpoint's subnet.

    https://docs.aws.amazon.com/network-firewall/latest/developerguide/firewall-policy-settings.html
    """
    kind = TargetKind.APPLIANCE_ENDPOINT
    if endpoint.state != "available":
        return unresolved(route, region, f"the endpoint's state is {endpoint.state}, not available", kind)
    if state.skip_gateway_endpoints and not endpoint.is_network_firewall:
        return unresolved(route, region, _MAY_TRANSLATE, kind)
    closed = _closed_after(tracer, endpoint, state)
    onward = trace_from_any(tracer, endpoint.subnet_ids, region, state._replace(closed=closed), _UNSEEN)
    seen = _behind_firewall if endpoint.is_network_firewall else _behind_any_other
    return [seen(each).via(hop_of(route, kind), route) for each in onward]


def _closed_after(tracer: RouteTracer, endpoint: VpcEndpoint, state: TraceState) -> bool | None:
    """Whether internet gateways are closed to traffic that passed the endpoint's subnet; None if that is unknown."""
    subnets = (tracer.snapshot.subnets.get(each) for each in endpoint.subnet_ids)
    states = {state.closed, *(each.internet_closed for each in subnets if each)}
    return True if True in states else None if None in states else False


def _behind_firewall(traced: Traced) -> Traced:
    """A NAT behind a firewall, seen from before it; every other outcome stays what it is."""
    return Traced(traced.region, tuple(map(_nat_from_before, traced.outcomes)))


def _behind_any_other(traced: Traced) -> Traced:
    return behind_appliance(traced, _MAY_TRANSLATE)


def behind_appliance(traced: Traced, unknown: str) -> Traced:
    """What lies behind an appliance that may translate traffic: a NAT, else unknown, and the note says why."""

    def seen_from_before(outcome: Outcome) -> Outcome:
        if outcome.reason in NAT_REASONS:
            return _nat_from_before(outcome)
        if outcome.reason is Reason.UNRESOLVED_EGRESS:
            return outcome
        return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=unknown)

    return Traced(traced.region, tuple(map(seen_from_before, traced.outcomes)))


def _nat_from_before(outcome: Outcome) -> Outcome:
    """A NAT that follows an appliance; beyond a transit gateway it is what it is already."""
    if outcome.reason in (Reason.NAT_GATEWAY, Reason.NAT_INSTANCE):
        return replace(outcome, reason=Reason.NAT_BEHIND_APPLIANCE)
    return outcome
