"""Follow a route to a target where a path ends: a NAT gateway, an internet gateway, a gateway endpoint."""

from express_path.domain.network.addresses import from_nat64
from express_path.domain.network.resources import BlockMode, Route, TargetKind, VpcEndpoint
from express_path.domain.network.snapshot import is_express_service
from express_path.domain.path.appliances import follow_appliance_endpoint
from express_path.domain.path.onward import RouteTracer
from express_path.domain.path.outcomes import Trace, TraceState, join, terminal, unresolved
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet

_CLOSED = "VPC Block Public Access blocks it: create an exclusion for the subnet"
_NAT_CLOSED = "VPC Block Public Access blocks the NAT gateway's subnet {}: create an exclusion for it"
REGIONAL_NAT_CLOSED = "a regional NAT gateway in a VPC that VPC Block Public Access blocks in both directions"
_NOT_KNOWN_OPEN = "this source does not show whether VPC Block Public Access blocks it; scan the account itself"
INGRESS_ONLY = "under block-ingress, AWS documents only NAT gateways and egress-only internet gateways as open"


def follow_nat_gateway(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a NAT gateway, whether it is zonal, regional, or private, and whether or not it is listed.

    VPC Block Public Access also blocks NAT gateways in the subnets that it closes
    (https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html). That is certain only for a public
    zonal one whose traffic can leave nowhere but through an internet gateway.
    """
    gateway = tracer.snapshot.nat_gateways.get(route.target_id)
    if gateway is None or gateway.connectivity != "public":
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    if gateway.subnet_id is None:
        vpc = tracer.snapshot.vpcs.get(gateway.vpc_id)
        if vpc and vpc.block_mode is BlockMode.BIDIRECTIONAL:
            return unresolved(route, addresses, REGIONAL_NAT_CLOSED)
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    subnet = tracer.snapshot.subnets.get(gateway.subnet_id)
    table = tracer.governing_table(subnet) if subnet else None
    if subnet is None or table is None or subnet.block_mode is not BlockMode.BIDIRECTIONAL:
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    index = tracer.index_of(table)
    closed, traces = _NAT_CLOSED.format(subnet.id), list[Trace]()
    for block in addresses.blocks():
        translated = from_nat64(block) or block
        for routed in index.split(translated):
            only_internet = all(
                winner.target_kind is TargetKind.INTERNET_GATEWAY and winner.state == "active"
                for winner in routed.routes
            )
            unreadable = any(route.may_match(translated.family) for route in index.unreadable)
            found = routed.addresses if translated is block else routed.addresses.under_nat64()
            if routed.routes and only_internet and not unreadable:
                traces.append(terminal(route, found, Reason.DROPPED, closed, is_closed=True))
            else:
                traces.append(terminal(route, found, Reason.NAT_GATEWAY))
    return join(traces, frozenset({table.id}))


def follow_internet_gateway(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at an internet gateway or egress-only internet gateway, without a NAT, unless Block Public Access closes it.

    https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html
    """
    if state.block_mode is BlockMode.BIDIRECTIONAL:
        return terminal(route, addresses, Reason.DROPPED, _CLOSED, is_closed=True)
    # With skip_gateway_endpoints, the question is only whether an interface may be a NAT instance.
    if state.block_mode is BlockMode.UNKNOWN and not state.skip_gateway_endpoints:
        return unresolved(route, addresses, _NOT_KNOWN_OPEN)
    is_egress_only = route.target_kind is TargetKind.EGRESS_ONLY_INTERNET_GATEWAY
    if state.block_mode is BlockMode.INGRESS and not is_egress_only and not state.skip_gateway_endpoints:
        return unresolved(route, addresses, INGRESS_ONLY)
    return terminal(route, addresses, Reason.INTERNET_GATEWAY)


def follow_local(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a local route, which keeps traffic in the VPC. S3 Express is not there."""
    return terminal(route, addresses, Reason.NO_ROUTE, "the local route keeps traffic in the VPC")


def follow_vpc_endpoint(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """Follow a vpce- target: end at a gateway endpoint, or continue from the subnet of an appliance's endpoint."""
    endpoint = tracer.snapshot.vpc_endpoints.get(route.target_id)
    if endpoint is None:
        return unresolved(route, addresses, "this endpoint is not listed (ec2:DescribeVpcEndpoints)")
    if endpoint.endpoint_type == "gateway":
        return _end_at_gateway_endpoint(tracer, endpoint, route, addresses)
    if endpoint.endpoint_type == "gatewayloadbalancer":
        return follow_appliance_endpoint(tracer, endpoint, route, addresses, state)
    return unresolved(
        route, addresses, f"endpoints of type {endpoint.endpoint_type} are not supported as route targets"
    )


def _end_at_gateway_endpoint(tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, addresses: AddressSet) -> Trace:
    kind = TargetKind.GATEWAY_ENDPOINT
    if not is_express_service(endpoint.service_name, tracer.snapshot.region):
        return unresolved(route, addresses, f"the endpoint is for {endpoint.service_name}, another service", kind)
    if endpoint.state != "available":
        return unresolved(route, addresses, f"the endpoint's state is {endpoint.state}, not available", kind)
    return terminal(route, addresses, Reason.ENDPOINT, kind=kind)


def follow_unreadable_target(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a target beyond which no route table can be read."""
    return unresolved(route, addresses, f"routes do not show what is beyond {UNREADABLE_TARGETS[route.target_kind]}")


UNREADABLE_TARGETS = {
    TargetKind.VPC_PEERING_CONNECTION: "a peering connection",
    TargetKind.VIRTUAL_PRIVATE_GATEWAY: "a virtual private gateway (VPN or Direct Connect)",
    TargetKind.CORE_NETWORK: "a Cloud WAN core network",
    TargetKind.CARRIER_GATEWAY: "a carrier gateway",
    TargetKind.LOCAL_GATEWAY: "a local gateway (Outposts)",
    TargetKind.ODB_NETWORK: "an Oracle Database@AWS network",
    TargetKind.UNKNOWN: "a target of this kind",
}
"""The kinds of targets that cannot be followed, in words."""
