"""Following a route to the target where a path ends: a NAT gateway, an internet gateway, a gateway endpoint."""

from express_path.domain.network.resources import Route, VpcEndpoint
from express_path.domain.network.snapshot import is_express_service
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.appliances import follow_appliance_endpoint
from express_path.domain.path.onward import RouteTracer
from express_path.domain.path.outcomes import Traced, TraceState, terminal, unresolved
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet

_CLOSED = "VPC Block Public Access closes it: create an exclusion for the subnet"
_NOT_KNOWN_OPEN = "this source does not show whether VPC Block Public Access closes it; scan the account itself"


def follow_nat_gateway(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A NAT gateway ends the path, whether zonal, regional or private, listed or not."""
    return terminal(route, region, Reason.NAT_GATEWAY)


def follow_internet_gateway(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """An internet gateway, egress-only or not, ends the path without a NAT, unless Block Public Access closes it.

    https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa.html
    """
    if state.closed:
        return terminal(route, region, Reason.DROPPED, _CLOSED)
    # Of an interface in front of the gateway it is asked only whether it may be a NAT instance.
    if state.closed is None and not state.skip_gateway_endpoints:
        return unresolved(route, region, _NOT_KNOWN_OPEN)
    return terminal(route, region, Reason.INTERNET_GATEWAY)


def follow_local(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A local route keeps traffic in the VPC, where S3 Express is not."""
    return terminal(route, region, Reason.NO_ROUTE, "the route keeps traffic in the VPC")


def follow_vpc_endpoint(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A vpce- target: a gateway endpoint ends the path, an appliance's endpoint leads on from its own subnet."""
    endpoint = tracer.snapshot.vpc_endpoints.get(route.target_id)
    if endpoint is None:
        return unresolved(route, region, "this endpoint is not listed (ec2:DescribeVpcEndpoints)")
    if endpoint.endpoint_type == "gateway":
        return _end_at_gateway_endpoint(tracer, endpoint, route, region)
    if endpoint.endpoint_type == "gatewayloadbalancer":
        return follow_appliance_endpoint(tracer, endpoint, route, region, state)
    return unresolved(route, region, f"an endpoint of type {endpoint.endpoint_type} is no known way out")


def _end_at_gateway_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, region: AddressSet
) -> list[Traced]:
    kind = TargetKind.GATEWAY_ENDPOINT
    if not is_express_service(endpoint.service_name, tracer.snapshot.region):
        return unresolved(route, region, f"the endpoint is for {endpoint.service_name}, another service", kind)
    if endpoint.state != "available":
        return unresolved(route, region, f"the endpoint's state is {endpoint.state}, not available", kind)
    return terminal(route, region, Reason.ENDPOINT, kind=kind)


def follow_unseen(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A target that no route table describes."""
    return unresolved(route, region, f"what lies behind {UNSEEN[route.target_kind]} cannot be read from routes")


UNSEEN = {
    TargetKind.VPC_PEERING_CONNECTION: "a peering connection",
    TargetKind.VIRTUAL_PRIVATE_GATEWAY: "a virtual private gateway (VPN or Direct Connect)",
    TargetKind.CORE_NETWORK: "a Cloud WAN core network",
    TargetKind.CARRIER_GATEWAY: "a carrier gateway",
    TargetKind.LOCAL_GATEWAY: "a local gateway (Outposts)",
    TargetKind.ODB_NETWORK: "an Oracle Database@AWS network",
    TargetKind.UNKNOWN: "a target of this kind",
}
"""The kinds of targets that cannot be followed, in words."""
