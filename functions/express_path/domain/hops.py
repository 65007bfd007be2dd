"""Following a route to its target: one function per kind of target."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from express_path.domain.addresses import Cidr
from express_path.domain.network import (
    NetworkInterface,
    Route,
    RouteTable,
    Subnet,
    TransitGatewayRouteTable,
    VpcEndpoint,
)
from express_path.domain.path import Hop, Outcome, Traced, Visit, ends, hop_of, overlaid, unresolved
from express_path.domain.reasons import Reason
from express_path.domain.routing import Region
from express_path.domain.snapshot import Snapshot, is_express_service
from express_path.domain.targets import TargetKind

AnyRouteTable = RouteTable | TransitGatewayRouteTable


class Network(Protocol):
    """What following a hop needs to ask of the network around it."""

    snapshot: Snapshot

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """The route table in force for a subnet."""

    def trace(self, table: AnyRouteTable, block: Cidr, visit: Visit) -> Iterator[Traced]:
        """Follow a block of addresses from a route table on."""


Follow = Callable[[Network, Route, Region, Visit], list[Traced]]


def follow_nat_gateway(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """A NAT gateway ends the path, whether zonal, regional or private, listed or not."""
    return ends(route, region, Reason.NAT_GATEWAY)


def follow_internet_gateway(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """An internet gateway, egress-only or not, ends the path without a NAT."""
    return ends(route, region, Reason.INTERNET_GATEWAY)


def follow_vpc_endpoint(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """A vpce- target: a gateway endpoint ends the path, an appliance's endpoint leads on from its own subnet.

    Gateway Load Balancer and Network Firewall endpoints share the type GatewayLoadBalancer
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/firewall-policy-settings.html).
    """
    endpoint = network.snapshot.vpc_endpoints.get(route.target_id)
    if endpoint is None:
        return unresolved(route, region, "this endpoint is not listed (ec2:DescribeVpcEndpoints)")
    if endpoint.endpoint_type == "gateway":
        return _end_at_gateway_endpoint(network, endpoint, route, region)
    if endpoint.endpoint_type == "gatewayloadbalancer":
        return _follow_appliance_endpoint(network, endpoint, route, region, visit)
    return unresolved(route, region, f"an endpoint of type {endpoint.endpoint_type} is no known way out")


def _end_at_gateway_endpoint(network: Network, endpoint: VpcEndpoint, route: Route, region: Region) -> list[Traced]:
    kind = TargetKind.GATEWAY_ENDPOINT
    if not is_express_service(endpoint.service_name, network.snapshot.region):
        return unresolved(route, region, f"the endpoint is for {endpoint.service_name}, another service", kind)
    if endpoint.state != "available":
        return unresolved(route, region, f"the endpoint's state is {endpoint.state}, not available", kind)
    return ends(route, region, Reason.ENDPOINT, kind=kind)


def _follow_appliance_endpoint(
    network: Network, endpoint: VpcEndpoint, route: Route, region: Region, visit: Visit
) -> list[Traced]:
    kind = TargetKind.APPLIANCE_ENDPOINT
    if endpoint.state != "available":
        return unresolved(route, region, f"the endpoint's state is {endpoint.state}, not available", kind)
    entries = entries_of(network, endpoint.subnet_ids)
    if not entries:
        return unresolved(route, region, "the route table of the endpoint's subnet cannot be seen", kind)
    onward = onward_from(network, entries, region, visit)
    return [_behind_appliance(each).via(hop_of(route, kind), route) for each in onward]


class Entry(NamedTuple):
    """Where traffic goes on: a route table, and the Availability Zone id that it is in by then."""

    table: AnyRouteTable
    zone: str


def entries_of(network: Network, subnet_ids: Iterable[str]) -> list[Entry]:
    """The tables in force for subnets, with their zones, each once; none where that of any subnet cannot be seen."""
    entries: dict[tuple[str, str], Entry] = {}
    for subnet_id in sorted(subnet_ids):
        subnet = network.snapshot.subnets.get(subnet_id)
        table = network.governing_table(subnet) if subnet else None
        if subnet is None or table is None:
            return []
        entries[table.id, subnet.availability_zone_id] = Entry(table, subnet.availability_zone_id)
    return list(entries.values())


def onward_from(network: Network, entries: Sequence[Entry], region: Region, visit: Visit) -> list[Traced]:
    """Follow a region from one table, or from several of which any may carry it: their outcomes are alternatives."""
    return [
        traced
        for block in region.blocks()
        for traced in overlaid(
            [list(network.trace(each.table, block, visit._replace(zone=each.zone))) for each in entries]
        )
    ]


def _behind_appliance(traced: Traced) -> Traced:
    def seen_from_before(outcome: Outcome) -> Outcome:
        """A NAT behind the appliance, seen from before it."""
        if outcome.reason in (Reason.NAT_GATEWAY, Reason.NAT_INSTANCE):
            return replace(outcome, reason=Reason.NAT_BEHIND_APPLIANCE)
        return outcome

    return Traced(traced.region, tuple(seen_from_before(outcome) for outcome in traced.outcomes))


def follow_network_interface(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """A network interface or instance forwards only with its source/destination check off, by its own subnet's table.

    https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html
    """
    if network.snapshot.network_interfaces is None:
        return unresolved(route, region, "ec2:DescribeNetworkInterfaces would tell whether it forwards")
    interface = _interface_of(network.snapshot.network_interfaces, route.target_id)
    if interface is None:
        return unresolved(route, region, "this network interface is not listed (ec2:DescribeNetworkInterfaces)")
    if interface.source_dest_check:
        return unresolved(route, region, "its source/destination check is on, so it does not forward")
    entries = entries_of(network, [interface.subnet_id])
    if not entries:
        return unresolved(route, region, f"the route table of its subnet {interface.subnet_id} cannot be seen")
    hop = Hop(TargetKind.NETWORK_INTERFACE, interface.id, str(route.destination))
    return [
        traced.via(hop, route) for block in region.blocks() for traced in _forwarded(network, entries[0], block, visit)
    ]


def _interface_of(interfaces: Mapping[str, NetworkInterface], target_id: str) -> NetworkInterface | None:
    if target_id in interfaces:
        return interfaces[target_id]
    attached = [each for each in interfaces.values() if each.instance_id == target_id]
    return min(attached, key=lambda each: (each.device_index or 0, each.id), default=None)


def _forwarded(network: Network, entry: Entry, block: Cidr, visit: Visit) -> Iterator[Traced]:
    """A NAT instance if its table, gateway endpoints left aside, leads to an internet gateway; else an appliance."""
    for aside in onward_from(network, [entry], Region(block), visit._replace(endpoints_aside=True)):
        direct = tuple(
            replace(outcome, reason=Reason.NAT_INSTANCE)
            for outcome in aside.outcomes
            if outcome.reason is Reason.INTERNET_GATEWAY
        )
        if len(direct) == len(aside.outcomes):
            yield Traced(aside.region, direct)
            continue
        # Behind another interface endpoints are left aside already: following twice would double with every hop.
        again = [aside] if visit.endpoints_aside else onward_from(network, [entry], aside.region, visit)
        for onward in again:
            yield Traced(onward.region, (*direct, *_beyond_interface(onward).outcomes))


def _beyond_interface(traced: Traced) -> Traced:
    def seen_from_before(outcome: Outcome) -> Outcome:
        """What an interface may do with traffic that its table takes nowhere certain is unknown."""
        if outcome.reason in (Reason.NO_ROUTE, Reason.INTERNET_GATEWAY):
            note = "its subnet's table does not certainly lead to an internet gateway"
            return replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note)
        return outcome

    return _behind_appliance(Traced(traced.region, tuple(seen_from_before(outcome) for outcome in traced.outcomes)))
