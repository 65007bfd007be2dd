"""Follow a route to a network interface or an instance, which may translate traffic or only forward it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from express_path.domain.network.addresses import Cidr, Family, from_nat64
from express_path.domain.network.resources import BlockMode, NetworkInterface, Route, TargetKind, target_ids
from express_path.domain.path.appliances import behind_appliance
from express_path.domain.path.onward import NextTable, RouteTracer, next_table_in, trace_from
from express_path.domain.path.outcomes import Hop, Trace, TracedAddresses, TraceState, alternatives, join, unresolved
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import AddressSet

_MAY_TRANSLATE = "it may translate traffic, and its path does not clearly lead to a NAT or an internet gateway"


def follow_network_interface(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """Continue from the subnet of a network interface or instance, which forwards only if its source/dest check is off.

    https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html
    """
    if state.skip_gateway_endpoints:
        return unresolved(route, addresses, _MAY_TRANSLATE)
    if tracer.snapshot.network_interfaces is None:
        note = "to find out whether it forwards traffic, grant ec2:DescribeNetworkInterfaces"
        return unresolved(route, addresses, note, lacks="ec2:DescribeNetworkInterfaces")
    interface = _interface_of(tracer.snapshot.network_interfaces, route.target_id)
    if interface is None:
        return unresolved(route, addresses, "this network interface is not listed (ec2:DescribeNetworkInterfaces)")
    if interface.source_dest_check:
        return unresolved(route, addresses, "its source/destination check is on, so it does not forward traffic")
    # What the interface sends comes from its own subnet, so only that subnet's Block Public Access counts.
    next_table = next_table_in(tracer, interface.subnet_id, state._replace(block_mode=BlockMode.OFF))
    if next_table is None:
        return unresolved(route, addresses, f"the route table of its subnet {interface.subnet_id} is not listed")
    hop = Hop(TargetKind.NETWORK_INTERFACE, interface.id, str(route.destination))
    return join(list(map(partial(_trace_forwarded, tracer, interface, next_table), addresses.blocks()))).via(hop, route)


def _interface_of(interfaces: Mapping[str, NetworkInterface], target_id: str) -> NetworkInterface | None:
    if target_id in interfaces:
        return interfaces[target_id]
    attached = [interface for interface in interfaces.values() if interface.instance_id == target_id]
    return min(attached, key=lambda interface: (interface.device_index or 0, interface.id), default=None)


def _trace_forwarded(tracer: RouteTracer, interface: NetworkInterface, next_table: NextTable, block: Cidr) -> Trace:
    """Follow a block that an interface forwards: IPv4 possibly translated, IPv6 unchanged, 64:ff9b:: both ways."""
    if block.family is Family.IPV4:
        return _trace_translated(tracer, interface, next_table, block)
    unchanged = behind_appliance(trace_from(tracer, next_table, AddressSet(block)), _MAY_TRANSLATE)
    ipv4 = from_nat64(block)
    if ipv4 is None:
        return unchanged
    return alternatives([_as_nat64(_trace_translated(tracer, interface, next_table, ipv4)), unchanged])


def _as_nat64(trace: Trace) -> Trace:
    """Return the trace of IPv4 addresses as a trace of the 64:ff9b:: addresses that stand for them."""
    results = [TracedAddresses(traced.addresses.under_nat64(), traced.outcomes) for traced in trace.results]
    return Trace(tuple(results), trace.consulted)


def _two_armed(tracer: RouteTracer, interface: NetworkInterface) -> str:
    """Return what suggests that an instance translates and sends traffic out through another of its interfaces.

    Routes do not show that. The note is empty unless the table of another interface's subnet has a route to an internet
    gateway.
    """
    if interface.instance_id is None:
        return ""
    interfaces = (tracer.snapshot.network_interfaces or {}).values()
    subnets = {other.id: other.subnet_id for other in interfaces if other.instance_id == interface.instance_id}
    if interface.instance_id in tracer.snapshot.instances:
        subnets |= tracer.snapshot.instances[interface.instance_id].subnet_of_interface
    for other_id, subnet_id in sorted(subnets.items()):
        subnet = tracer.snapshot.subnets.get(subnet_id)
        table = tracer.governing_table(subnet) if subnet and other_id != interface.id else None
        if table and target_ids([table], TargetKind.INTERNET_GATEWAY):
            return (
                f"{interface.instance_id} may be a NAT: its other interface {other_id} leads to an internet gateway; "
                "check whether it translates (nft list ruleset)"
            )
    return ""


def _trace_translated(tracer: RouteTracer, interface: NetworkInterface, next_table: NextTable, block: Cidr) -> Trace:
    """Follow a block as a NAT instance would send it: to an internet gateway, whatever gateway endpoints there are.

    If the route table does not lead to an internet gateway, the interface is an appliance.
    """
    state = next_table.state._replace(skip_gateway_endpoints=True)
    past_endpoints = trace_from(tracer, NextTable(next_table.table, state), AddressSet(block))
    traces = list(map(partial(_nat_instance_or_appliance, tracer, interface, next_table), past_endpoints.results))
    return join(traces, past_endpoints.consulted)


def _nat_instance_or_appliance(
    tracer: RouteTracer, interface: NetworkInterface, next_table: NextTable, past_endpoints: TracedAddresses
) -> Trace:
    direct = tuple(
        replace(outcome, reason=Reason.NAT_INSTANCE)
        for outcome in past_endpoints.outcomes
        if outcome.reason is Reason.INTERNET_GATEWAY
    )
    if len(direct) == len(past_endpoints.outcomes):
        return Trace((TracedAddresses(past_endpoints.addresses, direct),))
    note = _two_armed(tracer, interface) or _MAY_TRANSLATE
    beyond = behind_appliance(trace_from(tracer, next_table, past_endpoints.addresses), note)
    results = (TracedAddresses(traced.addresses, (*direct, *traced.outcomes)) for traced in beyond.results)
    return Trace(tuple(results), beyond.consulted)
