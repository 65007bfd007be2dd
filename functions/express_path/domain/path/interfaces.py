"""Following a route to a network interface or an instance, which may translate traffic or only forward it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from express_path.domain.network.addresses import Cidr, Family, from_nat64, nat64
from express_path.domain.network.resources import NetworkInterface, Route
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.appliances import behind_appliance
from express_path.domain.path.onward import NextTable, RouteTracer, next_table_in, trace_from
from express_path.domain.path.outcomes import Hop, Traced, TraceState, alternatives, unresolved
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet

_FORWARDS = "it forwards traffic to no NAT and not certainly to an internet gateway, and may translate it"


def follow_network_interface(tracer: RouteTracer, route: Route, region: AddressSet, state: TraceState) -> list[Traced]:
    """A network interface or instance forwards only with its source/destination check off, by its own subnet's table.

    https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html
    """
    if state.skip_gateway_endpoints:
        return unresolved(route, region, _FORWARDS)
    if tracer.snapshot.network_interfaces is None:
        return unresolved(route, region, "whether it forwards is unknown: grant ec2:DescribeNetworkInterfaces")
    interface = _interface_of(tracer.snapshot.network_interfaces, route.target_id)
    if interface is None:
        return unresolved(route, region, "this network interface is not listed (ec2:DescribeNetworkInterfaces)")
    if interface.source_dest_check:
        return unresolved(route, region, "its source/destination check is on, so it does not forward")
    next_table = _next_table_of(tracer, interface, state)
    if next_table is None:
        return unresolved(route, region, f"the route table of its subnet {interface.subnet_id} is not listed")
    hop = Hop(TargetKind.NETWORK_INTERFACE, interface.id, str(route.destination))
    return [traced.via(hop, route) for block in region.blocks() for traced in _forwarded(tracer, next_table, block)]


def _interface_of(interfaces: Mapping[str, NetworkInterface], target_id: str) -> NetworkInterface | None:
    if target_id in interfaces:
        return interfaces[target_id]
    attached = [each for each in interfaces.values() if each.instance_id == target_id]
    return min(attached, key=lambda each: (each.device_index or 0, each.id), default=None)


def _next_table_of(tracer: RouteTracer, interface: NetworkInterface, state: TraceState) -> NextTable | None:
    """What the interface sends out comes from its own subnet, so only that subnet's Block Public Access counts."""
    subnet = tracer.snapshot.subnets.get(interface.subnet_id)
    closed = subnet.internet_closed if subnet else None
    return next_table_in(tracer, interface.subnet_id, state._replace(closed=closed))


def _forwarded(tracer: RouteTracer, next_table: NextTable, block: Cidr) -> list[Traced]:
    """Where an interface sends a block: IPv4 it may translate, IPv6 it need not, 64:ff9b:: either way."""
    if block.family is Family.IPV4:
        return list(_translated(tracer, next_table, block))
    unchanged = [behind_appliance(each, _FORWARDS) for each in trace_from(tracer, next_table, AddressSet(block))]
    ipv4 = from_nat64(block)
    if ipv4 is None:
        return unchanged
    translated = [Traced(_as_nat64(each.region), each.outcomes) for each in _translated(tracer, next_table, ipv4)]
    return alternatives([translated, unchanged])


def _as_nat64(region: AddressSet) -> AddressSet:
    return AddressSet(nat64(region.block), tuple(map(nat64, region.holes)))


def _translated(tracer: RouteTracer, next_table: NextTable, block: Cidr) -> Iterator[Traced]:
    """A NAT instance if its table, without gateway endpoints, leads to an internet gateway; else an appliance."""
    aside = NextTable(next_table.table, next_table.state._replace(skip_gateway_endpoints=True))
    for found in trace_from(tracer, aside, AddressSet(block)):
        direct = tuple(
            replace(outcome, reason=Reason.NAT_INSTANCE)
            for outcome in found.outcomes
            if outcome.reason is Reason.INTERNET_GATEWAY
        )
        if len(direct) == len(found.outcomes):
            yield Traced(found.region, direct)
            continue
        for each in trace_from(tracer, next_table, found.region):
            yield Traced(each.region, (*direct, *behind_appliance(each, _FORWARDS).outcomes))
