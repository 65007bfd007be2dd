"""Follow traffic beyond a hop: one function for each kind of route target.

Paths may have MAX_ROUTE_TABLES route tables. The functions that call each other once for each hop use `map` with
`partial`, because before Python 3.12 a comprehension takes a frame of its own, and frames are limited to 1,000.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from express_path.domain.network.addresses import Cidr, Family, from_nat64
from express_path.domain.network.resources import (
    AnyRouteTable,
    BlockMode,
    Firewall,
    NatGateway,
    NetworkInterface,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayPolicyTable,
    VpcEndpoint,
    strictest,
    target_ids,
)
from express_path.domain.network.snapshot import AttachedVpc, Snapshot, is_express_service
from express_path.domain.path.outcomes import (
    Hop,
    Outcome,
    Trace,
    TracedAddresses,
    TraceState,
    alternatives,
    any_of,
    hop_of,
    join,
    terminal,
    unresolved,
    without_hop,
)
from express_path.domain.path.reasons import NAT_REASONS, NO_WAY_OUT, Reason, Unknown
from express_path.domain.path.routing import AddressSet, RoutingIndex, contains, overlap


class RouteTracer(Protocol):
    """What the functions that follow a hop need from the tracer."""

    snapshot: Snapshot

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the route table that governs a subnet; None if it cannot be seen."""

    def possible_tables(self, subnet: Subnet) -> tuple[RouteTable | None, ...]:
        """Return the route tables that may govern a subnet: several if accounts disagree. None: it cannot be seen."""

    def indexes_of(self, table: AnyRouteTable) -> tuple[RoutingIndex, ...]:
        """Return an index of each set of routes that a table may have: one, unless accounts disagree."""

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Follow a block of addresses from a route table."""


Follow = Callable[[RouteTracer, Route, AddressSet, TraceState], Trace]
"""A function that follows addresses along a route to one kind of target."""


@dataclass(frozen=True, slots=True)
class NextTable:
    """The route table that decides next, and the state in which traffic reaches it."""

    table: AnyRouteTable
    state: TraceState


def next_tables_in(tracer: RouteTracer, subnet_id: str, state: TraceState) -> list[NextTable | None]:
    """Return the route table of a subnet that traffic leaves from, in that subnet's zone; None if it is not known.

    There are several if accounts disagree about the subnet. Whatever mode of Block Public Access the subnet has counts from
    there on, too.
    """
    subnet = tracer.snapshot.subnets.get(subnet_id)
    if subnet is None:
        return [None]
    next_tables: list[NextTable | None] = []
    for version in tracer.snapshot.versions_of(subnet):
        mode = strictest((state.block_mode, version.block_mode))
        beyond = state._replace(zone=version.availability_zone_id, block_mode=mode)
        next_tables += [NextTable(table, beyond) if table else None for table in tracer.possible_tables(version)]
    return next_tables


def trace_from(tracer: RouteTracer, next_table: NextTable, addresses: AddressSet) -> Trace:
    """Follow addresses from one route table."""
    return join(list(map(partial(tracer.trace, next_table.table, state=next_table.state), addresses.blocks())))


def trace_from_any(
    tracer: RouteTracer, subnet_ids: Iterable[str], addresses: AddressSet, state: TraceState, unlisted: str
) -> Trace:
    """Follow addresses from several subnets, any of which may carry them: their outcomes are alternatives.

    unlisted is the note of the outcome for a subnet whose route table is not listed.
    """
    next_tables = [
        next_table for subnet_id in sorted(subnet_ids) for next_table in next_tables_in(tracer, subnet_id, state)
    ]
    distinct = {
        (next_table.table.id, next_table.state) if next_table else None: next_table for next_table in next_tables
    }
    unknown = without_hop(addresses, Reason.UNRESOLVED_EGRESS, unlisted)
    traces = [trace_from(tracer, next_table, addresses) if next_table else unknown for next_table in distinct.values()]
    return alternatives(traces or [unknown])


_CLOSED = "VPC Block Public Access blocks it: create an exclusion for the subnet"
_NAT_CLOSED = "VPC Block Public Access blocks the NAT gateway's subnet {}: create an exclusion for it"
_REGIONAL_NAT_CLOSED = "a regional NAT gateway in a VPC that VPC Block Public Access blocks in both directions"
_NOT_KNOWN_OPEN = "this source does not show whether VPC Block Public Access blocks it; scan the account itself"
_NEW_MODE = "the mode of VPC Block Public Access is not known here, so it may block this"
_INGRESS_ONLY = "under block-ingress, AWS documents only NAT gateways and egress-only internet gateways as open"


def follow_nat_gateway(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a NAT gateway, whether it is zonal, regional, or private, and whether or not it is listed.

    VPC Block Public Access also blocks NAT gateways in the subnets that it closes
    (https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html). That is certain only for a public
    zonal one whose traffic can leave nowhere but through an internet gateway.
    """
    gateway = tracer.snapshot.nat_gateways.get(route.target_id)
    if gateway is None:
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    versions = tracer.snapshot.versions_of(gateway)
    return any_of([_end_at_nat_gateway(tracer, version, route, addresses) for version in versions])


def _end_at_nat_gateway(tracer: RouteTracer, gateway: NatGateway, route: Route, addresses: AddressSet) -> Trace:
    if gateway.connectivity != "public":
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    if gateway.subnet_id is None:
        vpc = tracer.snapshot.vpcs.get(gateway.vpc_id)
        if vpc and vpc.block_mode is BlockMode.BIDIRECTIONAL:
            return unresolved(route, addresses, _REGIONAL_NAT_CLOSED, unknown=Unknown.REGIONAL_NAT_CLOSED)
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    subnet = tracer.snapshot.subnets.get(gateway.subnet_id)
    if subnet is None:
        return terminal(route, addresses, Reason.NAT_GATEWAY)
    possible = []
    for version in tracer.snapshot.versions_of(subnet):
        for table in tracer.possible_tables(version):
            if table is None or version.block_mode is not BlockMode.BIDIRECTIONAL:
                possible.append(terminal(route, addresses, Reason.NAT_GATEWAY))
                continue
            closed = [_end_at_closed_nat_gateway(index, subnet, route, addresses) for index in tracer.indexes_of(table)]
            possible.append(join([any_of(closed)], frozenset({table.id})))
    return any_of(possible)


def _end_at_closed_nat_gateway(index: RoutingIndex, subnet: Subnet, route: Route, addresses: AddressSet) -> Trace:
    """End at a NAT gateway in a closed subnet: at a NAT unless its traffic can leave only through an internet gateway."""
    closed, traces = _NAT_CLOSED.format(subnet.id), list[Trace]()
    for block in addresses.blocks():
        translated = from_nat64(block) or block
        for routed in index.split(translated):
            only_internet = all(
                winner.target_kind is TargetKind.INTERNET_GATEWAY and winner.state == "active"
                for winner in routed.routes
            )
            unreadable = any(route.may_match(translated.family) for route in index.unreadable)
            block_addresses = routed.addresses if translated is block else routed.addresses.under_nat64()
            if routed.routes and only_internet and not unreadable:
                traces.append(terminal(route, block_addresses, Reason.DROPPED, closed, is_closed=True))
            else:
                traces.append(terminal(route, block_addresses, Reason.NAT_GATEWAY))
    return join(traces)


def follow_internet_gateway(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at an internet gateway or egress-only internet gateway, without a NAT, unless Block Public Access closes it.

    https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html
    """
    if state.block_mode is BlockMode.BIDIRECTIONAL:
        return terminal(route, addresses, Reason.DROPPED, _CLOSED, is_closed=True)
    # With skip_gateway_endpoints, the question is only whether an interface may be a NAT instance.
    if state.block_mode in (BlockMode.UNKNOWN, BlockMode.NEW) and not state.skip_gateway_endpoints:
        note = _NEW_MODE if state.block_mode is BlockMode.NEW else _NOT_KNOWN_OPEN
        return unresolved(route, addresses, note)
    is_egress_only = route.target_kind is TargetKind.EGRESS_ONLY_INTERNET_GATEWAY
    if state.block_mode is BlockMode.INGRESS and not is_egress_only:
        return unresolved(route, addresses, _INGRESS_ONLY, unknown=Unknown.BLOCK_INGRESS)
    return terminal(route, addresses, Reason.INTERNET_GATEWAY)


def follow_local(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a local route, which keeps traffic in the VPC. S3 Express is not there."""
    return terminal(route, addresses, Reason.NO_ROUTE, "the local route keeps traffic in the VPC")


def follow_vpc_endpoint(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """Follow a vpce- target: end at a gateway endpoint, or continue from the subnet of an appliance's endpoint."""
    endpoint = tracer.snapshot.vpc_endpoints.get(route.target_id)
    if endpoint is None:
        note = "this endpoint is not listed (ec2:DescribeVpcEndpoints)"
        return unresolved(route, addresses, note, unknown=Unknown.PERMISSION)
    versions = tracer.snapshot.versions_of(endpoint)
    return any_of([_follow_endpoint(tracer, version, route, addresses, state) for version in versions])


def _follow_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, addresses: AddressSet, state: TraceState
) -> Trace:
    if endpoint.endpoint_type == "gateway":
        return _end_at_gateway_endpoint(tracer, endpoint, route, addresses, state)
    return follow_appliance_endpoint(tracer, endpoint, route, addresses, state)


def _end_at_gateway_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, addresses: AddressSet, state: TraceState
) -> Trace:
    """End at a gateway endpoint, which serves only its own VPC.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
    """
    kind = TargetKind.GATEWAY_ENDPOINT
    if endpoint.vpc_id != state.vpc_id:
        note = f"the endpoint is in {endpoint.vpc_id or 'a VPC that is not shown'}, and serves only its own VPC"
        return unresolved(route, addresses, note, kind)
    if not endpoint.service_name:
        return unresolved(route, addresses, "the endpoint's service is not shown", kind)
    if not is_express_service(endpoint.service_name, tracer.snapshot.region):
        return unresolved(route, addresses, f"the endpoint is for {endpoint.service_name}, another service", kind)
    if endpoint.state != "available":
        return unresolved(route, addresses, _not_available("the endpoint's state", endpoint.state), kind)
    return terminal(route, addresses, Reason.ENDPOINT, kind=kind)


def _not_available(name: str, state: str) -> str:
    """Return why a resource in this state may not carry traffic. name says whose state it is."""
    return f"{name} is {state}, not available" if state else f"{name} is not shown"


def may_carry_nothing(trace: Trace, note: str) -> Trace:
    """Return a trace beyond a hop that may carry nothing, because something about it is not shown: then it is unknown.

    note says what is not shown.
    """
    results = []
    for traced in trace.results:
        certain = [outcome for outcome in traced.outcomes if outcome.reason is not Reason.UNRESOLVED_EGRESS]
        unknown = [replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note, is_closed=False) for outcome in certain]
        results.append(TracedAddresses(traced.addresses, (*traced.outcomes, *unknown)))
    return Trace(tuple(results), trace.consulted)


_PEERING = "a peering connection carries only traffic to the peer VPC's own addresses"


def follow_peering_connection(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a peering connection, which carries traffic to no NAT, gateway, or endpoint of the peer VPC.

    https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-basics.html
    """
    return terminal(route, addresses, Reason.DROPPED, _PEERING)


def follow_unreadable_target(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """End at a target beyond which no route table can be read."""
    return unresolved(route, addresses, f"routes do not show what is beyond {UNREADABLE_TARGETS[route.target_kind]}")


UNREADABLE_TARGETS = {
    TargetKind.VIRTUAL_PRIVATE_GATEWAY: "a virtual private gateway (VPN or Direct Connect)",
    TargetKind.CORE_NETWORK: "a Cloud WAN core network",
    TargetKind.CARRIER_GATEWAY: "a carrier gateway",
    TargetKind.LOCAL_GATEWAY: "a local gateway (Outposts)",
    TargetKind.ODB_NETWORK: "an Oracle Database@AWS network",
    TargetKind.UNKNOWN: "a target of this kind",
}
"""The kinds of targets that cannot be followed, in words."""


_FIREWALL_READS = "network-firewall:"
"""The reads that show which firewall an endpoint belongs to."""
_APPLIANCE = "its appliance may translate traffic"
_TO_FIND_IT = (
    "to find its firewall: network-firewall:ListFirewalls, DescribeFirewall, ListVpcEndpointAssociations, "
    "DescribeVpcEndpointAssociation"
)
_NO_FIREWALL = "no AWS Network Firewall that can be read names this endpoint"
_ONLY_TAGGED = "its tag AWSNetworkFirewallManaged is no evidence, because anyone may set it"
_OTHER_TYPE = "endpoints of type {} are route targets only if a firewall names them; {}"
_TYPE_NOT_SHOWN = "the endpoint's type is not shown"
_ENDPOINT_UNLISTED = "the route table of the endpoint's subnet is not listed"


def follow_appliance_endpoint(
    tracer: RouteTracer, endpoint: VpcEndpoint, route: Route, addresses: AddressSet, state: TraceState
) -> Trace:
    """Continue from the subnet of a Gateway Load Balancer endpoint, or of an endpoint of any type that a firewall names.

    A NAT/Proxy firewall may translate traffic itself and send it out through its own NAT gateway
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/nfw-proxy-how-it-works.html). Every other
    firewall forwards traffic unchanged
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/firewall-policy-settings.html).
    """
    note = _not_available("the endpoint's state", endpoint.state)
    if endpoint.state not in ("", "available"):
        return unresolved(route, addresses, note, TargetKind.APPLIANCE_ENDPOINT)
    firewalls = tracer.snapshot.firewalls_of(endpoint)
    trace = any_of(list(map(partial(_pass_appliance, tracer, endpoint, route, addresses, state), firewalls)))
    return trace if endpoint.state else may_carry_nothing(trace, note)


def _pass_appliance(
    tracer: RouteTracer,
    endpoint: VpcEndpoint,
    route: Route,
    addresses: AddressSet,
    state: TraceState,
    firewall: Firewall | None,
) -> Trace:
    """Continue behind an endpoint of a firewall; None: of any other appliance."""
    kind = TargetKind.APPLIANCE_ENDPOINT
    gateway_id = gateway_of_proxy(tracer.snapshot, endpoint, firewall)
    if gateway_id is not None:
        return _leave_through_gateway(gateway_id, route, addresses)
    if _needs_firewalls(tracer.snapshot):
        unknown, lacks = Unknown.PERMISSION, _FIREWALL_READS
        whose, may_translate = _TO_FIND_IT, f"{_APPLIANCE}; {_TO_FIND_IT}"
    else:
        unknown, lacks = None, ""
        whose, may_translate = _NO_FIREWALL, _may_translate(endpoint)
    if not firewall and endpoint.endpoint_type not in ("", "gatewayloadbalancer"):
        note = _OTHER_TYPE.format(endpoint.endpoint_type, whose)
        return unresolved(route, addresses, note, lacks=lacks, unknown=unknown)
    if state.skip_gateway_endpoints and not firewall:
        return unresolved(route, addresses, may_translate, kind, lacks=_FIREWALL_READS, unknown=unknown)
    # Only a firewall is known to leave the source as it is.
    onward = state if firewall else state._replace(sources=())
    unlisted = _ENDPOINT_UNLISTED if endpoint.endpoint_type else _TYPE_NOT_SHOWN
    beyond = trace_from_any(tracer, endpoint.subnet_ids, addresses, onward, unlisted)
    if firewall:
        trace = beyond.map(_nat_behind_appliance)
    else:
        trace = behind_appliance(beyond, may_translate, lacks, unknown)
    return trace.via(hop_of(route, kind), route)


def gateway_of_proxy(snapshot: Snapshot, endpoint: VpcEndpoint, firewall: Firewall | None) -> str | None:
    """Return the NAT gateway of a NAT/Proxy firewall that translates traffic; empty if it is not known, None if none does.

    DescribeFirewall names it for the firewall's own endpoints, and DescribeNatGateways names the endpoint
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NatGatewayAttachedAppliance.html).
    """
    by_gateway = snapshot.proxy_gateway_ids
    if firewall is None:
        return by_gateway.get(endpoint.id)
    if firewall.forwards:
        return None
    named = by_gateway.get(endpoint.id, by_gateway.get(firewall.arn))
    return firewall.nat_gateway_ids.get(endpoint.id, named or "") if firewall.is_proxy else named


def _leave_through_gateway(gateway_id: str, route: Route, addresses: AddressSet) -> Trace:
    """End at the NAT gateway of a NAT/Proxy firewall, whose id is empty if it is not known."""
    trace = terminal(route, addresses, Reason.NAT_BEHIND_APPLIANCE, kind=TargetKind.APPLIANCE_ENDPOINT)
    if not gateway_id:
        return trace
    hop = Hop(TargetKind.NAT_GATEWAY, gateway_id, str(route.destination))
    return trace.map(lambda outcome: replace(outcome, path=(*outcome.path, hop)))


def _needs_firewalls(snapshot: Snapshot) -> bool:
    """Return whether a read is missing that would show the firewall of an endpoint."""
    return snapshot.firewalls is None or any(operation.startswith(_FIREWALL_READS) for operation in snapshot.denied)


def _may_translate(endpoint: VpcEndpoint) -> str:
    """Return why it is not certain that the appliance of an endpoint of no firewall forwards traffic unchanged."""
    note = f"{_NO_FIREWALL}, so {_APPLIANCE}" if endpoint.endpoint_type else f"{_TYPE_NOT_SHOWN}, and {_NO_FIREWALL}"
    return f"{note}; {_ONLY_TAGGED}" if "AWSNetworkFirewallManaged" in endpoint.tags else note


def behind_appliance(trace: Trace, note: str, lacks: str = "", unknown: Unknown | None = None) -> Trace:
    """Return what can be determined behind an appliance that may translate traffic: only a NAT. note says why."""
    return trace.map(partial(_certain_behind_appliance, note, lacks, unknown))


def _certain_behind_appliance(note: str, lacks: str, unknown: Unknown | None, outcome: Outcome) -> Outcome:
    if outcome.reason in NAT_REASONS:
        return _nat_behind_appliance(outcome)
    if outcome.reason is Reason.UNRESOLVED_EGRESS:
        return outcome
    return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note, lacks=lacks, unknown=unknown)


def _nat_behind_appliance(outcome: Outcome) -> Outcome:
    """Return a NAT outcome as one behind an appliance; every other outcome stays the same.

    A NAT beyond a transit gateway keeps its reason, which takes precedence.
    """
    if outcome.reason in (Reason.NAT_GATEWAY, Reason.NAT_INSTANCE):
        return replace(outcome, reason=Reason.NAT_BEHIND_APPLIANCE)
    return outcome


_MAY_TRANSLATE = "it may translate traffic, and its path does not clearly lead to a NAT or an internet gateway"


def follow_network_interface(tracer: RouteTracer, route: Route, addresses: AddressSet, state: TraceState) -> Trace:
    """Continue from the subnet of a network interface or instance, which forwards only if its source/dest check is off.

    https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html
    """
    if state.skip_gateway_endpoints:
        return unresolved(route, addresses, _MAY_TRANSLATE)
    if tracer.snapshot.network_interfaces is None:
        note = "to find out whether it forwards traffic, grant ec2:DescribeNetworkInterfaces"
        return unresolved(route, addresses, note, lacks="ec2:DescribeNetworkInterfaces", unknown=Unknown.PERMISSION)
    possible = []
    for interface in _interfaces_of(tracer.snapshot, route.target_id):
        if interface is None:
            note = "this network interface is not listed (ec2:DescribeNetworkInterfaces)"
            possible.append(unresolved(route, addresses, note, unknown=Unknown.PERMISSION))
        elif interface.source_dest_check:
            note = "its source/destination check is on, so it does not forward traffic"
            possible.append(unresolved(route, addresses, note))
        else:
            # What the interface sends comes from its own subnet, so only that subnet's Block Public Access counts.
            here = state._replace(block_mode=BlockMode.OFF, sources=())
            next_tables = next_tables_in(tracer, interface.subnet_id, here)
            possible += list(map(partial(_forward, tracer, interface, route, addresses), next_tables))
    return any_of(possible)


def _forward(
    tracer: RouteTracer,
    interface: NetworkInterface,
    route: Route,
    addresses: AddressSet,
    next_table: NextTable | None,
) -> Trace:
    if next_table is None:
        return unresolved(route, addresses, f"the route table of its subnet {interface.subnet_id} is not listed")
    hop = Hop(TargetKind.NETWORK_INTERFACE, interface.id, str(route.destination))
    return join(list(map(partial(_trace_forwarded, tracer, interface, next_table), addresses.blocks()))).via(hop, route)


def _interfaces_of(snapshot: Snapshot, target_id: str) -> list[NetworkInterface | None]:
    """Return the interface that a route's target is, or the primary one of an instance; None if it is not listed.

    There are several if accounts disagree about it, or do not show which one is the primary one.
    """
    interfaces = snapshot.network_interfaces or {}
    if target_id in interfaces:
        return [*snapshot.versions_of(interfaces[target_id])]
    described = [version for interface in interfaces.values() for version in snapshot.versions_of(interface)]
    primary = [version for version in described if version.instance_id == target_id and version.may_be_primary]
    first_of = Counter(version.id for version in primary if version.device_index == 0)
    certain = [key for key, count in first_of.items() if count == len(snapshot.versions_of(interfaces[key]))]
    if len(certain) == 1:
        return [version for version in primary if version.id == certain[0]]
    return [*primary, None]


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
    subnets = {sibling.id: sibling.subnet_id for sibling in interfaces if sibling.instance_id == interface.instance_id}
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


_TABLES_NEEDED = "set networkRoleArn; its role needs ec2:SearchTransitGatewayRoutes"
_ATTACHMENTS_NEEDED = "set networkRoleArn; its role needs ec2:DescribeTransitGatewayAttachments"
_BOTH_NEEDED = f"{_ATTACHMENTS_NEEDED} and ec2:SearchTransitGatewayRoutes"
_ATTACHMENTS = "ec2:DescribeTransitGatewayAttachments"
_POLICY_ENTRIES = "ec2:GetTransitGatewayPolicyTableEntries"
_POLICY_TABLE = f"policy table {{}} decides; set networkRoleArn; its role needs {_POLICY_ENTRIES}"
_NO_TABLE = "{} is associated with no route table or policy table now"
_NO_ENTRY = "no entry of policy table {} matches it: add one to the policy table"
_SERVES_ITS_VPC = (
    "gateway endpoint {} serves only its own VPC, not traffic from a transit gateway: give this VPC its own endpoint"
)
_NOT_CERTAIN = "beyond a transit gateway, only the presence of a NAT can be determined"
_ATTACHMENT_UNLISTED = "the route tables of the attachment's subnets are not listed"
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
        return unresolved(route, addresses, _ATTACHMENTS_NEEDED, lacks=_ATTACHMENTS, unknown=Unknown.PERMISSION)
    attachments = tracer.snapshot.vpc_attachments.get(AttachedVpc(route.target_id, state.vpc_id))
    if attachments is None:
        note = f"no attachment of {state.vpc_id} is listed; {_ATTACHMENTS_NEEDED}"
        return unresolved(route, addresses, note, unknown=Unknown.PERMISSION)
    return any_of(list(map(partial(_enter_transit_gateway, tracer, route, addresses, state), attachments)))


def _enter_transit_gateway(
    tracer: RouteTracer,
    route: Route,
    addresses: AddressSet,
    state: TraceState,
    attachment: TransitGatewayAttachment,
) -> Trace:
    note = _not_available(f"the state of {attachment.id}", attachment.state)
    if attachment.state not in ("", "available"):
        return unresolved(route, addresses, note)
    possible = []
    covered = _covers_zone(tracer, attachment, state.zone)
    if False in covered:
        fix = f"add a subnet in {state.zone} to {attachment.id}, which has none there"
        possible.append(terminal(route, addresses, Reason.DROPPED, fix))
    if True in covered:
        beyond = _trace_from_table_of(tracer, attachment, addresses, state)
        possible.append(beyond.map(_certain_beyond_transit_gateway).via(hop_of(route), route))
    trace = any_of(possible)
    return trace if attachment.state else may_carry_nothing(trace, note)


def _covers_zone(tracer: RouteTracer, attachment: TransitGatewayAttachment, zone: str) -> set[bool]:
    """Return whether traffic may reach the transit gateway: its zone needs a subnet of the attachment.

    Both is possible if accounts disagree about the zone of a subnet
    (https://docs.aws.amazon.com/vpc/latest/tgw/tgw-vpc-attachments.html).
    """
    if attachment.subnet_ids is None or not _AVAILABILITY_ZONE.fullmatch(zone):
        return {True}
    subnets = [tracer.snapshot.subnets.get(subnet_id) for subnet_id in attachment.subnet_ids]
    covered: list[set[bool]] = []
    for subnet in subnets:
        zones = {version.availability_zone_id for version in tracer.snapshot.versions_of(subnet)} if subnet else {""}
        covered.append({version_zone in ("", zone) for version_zone in zones})
    if {True} in covered:
        return {True}
    return {False}.union(*covered)


def _trace_from_table_of(
    tracer: RouteTracer, attachment: TransitGatewayAttachment, addresses: AddressSet, state: TraceState
) -> Trace:
    """Continue from the route table or the policy table of a transit gateway that an attachment is associated with."""
    if attachment.policy_table_id:
        trace = _trace_from_policy_table(tracer, attachment.policy_table_id, addresses, state)
    elif attachment.route_table_id:
        note = f"the route table of {attachment.id} cannot be read; {_TABLES_NEEDED}"
        trace = _trace_from_transit_gateway_table(tracer, attachment.route_table_id, note, state, addresses)
    elif attachment.shows_association:
        return without_hop(addresses, Reason.UNRESOLVED_EGRESS, _NO_TABLE.format(attachment.id))
    else:
        return _unread_tables(addresses, _BOTH_NEEDED)
    if attachment.is_association_certain:
        return trace
    return may_carry_nothing(trace, f"the association of {attachment.id} may have no effect now")


def _trace_from_transit_gateway_table(
    tracer: RouteTracer, table_id: str, unread: str, state: TraceState, addresses: AddressSet
) -> Trace:
    """Continue from a transit gateway's route table. unread is the note if that table cannot be read."""
    tables = tracer.snapshot.transit_gateway_route_tables
    if tables is None:
        return _unread_tables(addresses, _TABLES_NEEDED)
    if table_id not in tables:
        return _unread_tables(addresses, unread)
    table = tables[table_id]
    versions = tracer.snapshot.versions_of(table)
    possible = []
    if any(version.truncated for version in versions):
        note = f"{table.id} has more routes than one search returns"
        possible.append(without_hop(addresses, Reason.UNRESOLVED_EGRESS, note))
    if not all(version.truncated for version in versions):
        possible.append(trace_from(tracer, NextTable(table, state), addresses))
    return any_of(possible)


def _unread_tables(addresses: AddressSet, note: str) -> Trace:
    lacks = "ec2:SearchTransitGatewayRoutes"
    return without_hop(addresses, Reason.UNRESOLVED_EGRESS, note, lacks=lacks, unknown=Unknown.PERMISSION)


def _trace_from_policy_table(
    tracer: RouteTracer, policy_table_id: str, addresses: AddressSet, state: TraceState
) -> Trace:
    """Continue from each route table to which a policy table may lead HTTPS traffic from its source to these addresses.

    The first entry that matches decides. If none does, the traffic is dropped
    (https://docs.aws.amazon.com/vpc/latest/tgw/tgw-policy-tables-concepts.html).
    """
    policy_table = (tracer.snapshot.transit_gateway_policy_tables or {}).get(policy_table_id)
    if policy_table is None:
        note = _POLICY_TABLE.format(policy_table_id)
        return without_hop(addresses, Reason.UNRESOLVED_EGRESS, note, lacks=_POLICY_ENTRIES, unknown=Unknown.PERMISSION)
    versions = tracer.snapshot.versions_of(policy_table)
    return any_of(list(map(partial(_trace_from_entries, tracer, addresses, state), versions)))


def _trace_from_entries(
    tracer: RouteTracer, addresses: AddressSet, state: TraceState, policy_table: TransitGatewayPolicyTable
) -> Trace:
    destinations = {entry.destination for entry in policy_table.entries if entry.destination}
    # Addresses whose longest destination is the same match the same entries.
    index = RoutingIndex((Route(block, "", TargetKind.UNKNOWN) for block in destinations), {})
    routed = (part.addresses for block in addresses.blocks() for part in index.split(block))
    return join(list(map(partial(_trace_from_entry, tracer, state, policy_table), routed)))


def _trace_from_entry(
    tracer: RouteTracer, state: TraceState, policy_table: TransitGatewayPolicyTable, addresses: AddressSet
) -> Trace:
    table_ids, is_covered = _possible_targets(policy_table, addresses.block, state.sources)
    note = f"the route table of an entry of {policy_table.id} cannot be read; {_TABLES_NEEDED}"
    follow = partial(_trace_from_transit_gateway_table, tracer, unread=note, state=state, addresses=addresses)
    possible = list(map(follow, table_ids))
    if not is_covered:
        possible.append(without_hop(addresses, Reason.DROPPED, _NO_ENTRY.format(policy_table.id)))
    return any_of(possible)


def _possible_targets(
    policy_table: TransitGatewayPolicyTable, block: Cidr, sources: Iterable[Cidr]
) -> tuple[list[str], bool]:
    """Return the route tables of the entries that may match, and whether one of them certainly does: the last that counts.

    The destination of an entry contains the whole block, or none of it.
    """
    table_ids: dict[str, None] = {}
    of_family = [source for source in sources if source.family is block.family]
    for entry in sorted(policy_table.entries, key=lambda entry: entry.number or 0):
        if entry.destination and not contains(entry.destination, block):
            continue
        if entry.source and entry.source.family is not block.family:
            continue
        if entry.source and of_family and not any(overlap(entry.source, source) for source in of_family):
            continue
        table_ids[entry.table_id] = None
        matches = entry.source is None or (of_family and all(contains(entry.source, source) for source in of_family))
        if matches and entry.is_certain and entry.number is not None:
            return list(table_ids), True
    return list(table_ids), False


def _certain_beyond_transit_gateway(outcome: Outcome) -> Outcome:
    """Return what can be determined beyond a transit gateway: a NAT, or no way out. Everything else is unresolved.

    A gateway endpoint serves only its own VPC
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
    """
    if outcome.reason in NAT_REASONS:
        return replace(outcome, reason=Reason.NAT_BEYOND_TRANSIT_GATEWAY)
    if outcome.reason is Reason.ENDPOINT:
        return replace(outcome, reason=Reason.DROPPED, note=_SERVES_ITS_VPC.format(outcome.path[-1].id))
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
        note = f"this attachment is not listed; {_ATTACHMENTS_NEEDED}"
        return unresolved(route, addresses, note, unknown=Unknown.PERMISSION)
    versions = tracer.snapshot.versions_of(attachment)
    return any_of(list(map(partial(_leave_transit_gateway, tracer, route, addresses, state), versions)))


def _leave_transit_gateway(
    tracer: RouteTracer,
    route: Route,
    addresses: AddressSet,
    state: TraceState,
    attachment: TransitGatewayAttachment,
) -> Trace:
    if attachment.resource_type not in ("vpc", "network-function", ""):
        note = f"traffic leaves through an attachment of type {attachment.resource_type}, which cannot be followed"
        return unresolved(route, addresses, note)
    note = _not_available("the attachment's state", attachment.state)
    if attachment.state not in ("", "available"):
        return unresolved(route, addresses, note)
    ways = []
    if attachment.resource_type in ("network-function", ""):
        ways.append(_trace_from_table_of(tracer, attachment, addresses, state))
    if attachment.resource_type in ("vpc", ""):
        subnet_ids = _subnets_that_may_carry(tracer, attachment, state.zone)
        ways.append(trace_from_any(tracer, subnet_ids, addresses, state, _ATTACHMENT_UNLISTED))
    beyond = any_of(ways)
    if not attachment.resource_type:
        beyond = may_carry_nothing(beyond, "the attachment's type is not shown")
    trace = beyond.via(hop_of(route), route)
    return trace if attachment.state else may_carry_nothing(trace, note)


def _subnets_that_may_carry(tracer: RouteTracer, attachment: TransitGatewayAttachment, zone: str) -> tuple[str, ...]:
    """Return the attachment's subnets through which traffic from a zone may enter the VPC.

    A transit gateway keeps traffic in its zone if the attachment has a subnet there. In appliance mode, it picks a zone
    for each flow (https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html).
    """
    subnet_ids = attachment.subnet_ids or ()
    listed = [tracer.snapshot.subnets[subnet_id] for subnet_id in subnet_ids if subnet_id in tracer.snapshot.subnets]
    in_zone = [
        (subnet.id, {version.availability_zone_id == zone for version in tracer.snapshot.versions_of(subnet)})
        for subnet in listed
    ]
    is_kept = not attachment.appliance_mode and any(are_in_zone == {True} for _, are_in_zone in in_zone)
    return tuple(subnet_id for subnet_id, are_in_zone in in_zone if True in are_in_zone) if is_kept else subnet_ids


FOLLOW: Mapping[TargetKind, Follow] = {
    TargetKind.LOCAL: follow_local,
    TargetKind.NAT_GATEWAY: follow_nat_gateway,
    TargetKind.INTERNET_GATEWAY: follow_internet_gateway,
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: follow_internet_gateway,
    TargetKind.VPC_ENDPOINT: follow_vpc_endpoint,
    TargetKind.NETWORK_INTERFACE: follow_network_interface,
    TargetKind.INSTANCE: follow_network_interface,
    TargetKind.TRANSIT_GATEWAY: follow_transit_gateway,
    TargetKind.TRANSIT_GATEWAY_ATTACHMENT: follow_attachment,
    TargetKind.VPC_PEERING_CONNECTION: follow_peering_connection,
    **dict.fromkeys(UNREADABLE_TARGETS, follow_unreadable_target),
}
"""How each kind of route target is followed."""
