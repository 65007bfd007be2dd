"""Following a route to a network interface or an instance, which may translate traffic or only forward it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from express_path.domain.network.addresses import Cidr, Family, from_nat64, nat64
from express_path.domain.network.resources import NetworkInterface, Route
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.appliances import behind_appliance
from express_path.domain.path.onward import Entry, Network, entry_in, onward_from
from express_path.domain.path.outcomes import Hop, Traced, Visit, overlaid, unresolved
from express_path.domain.path.reasons import Reason
from express_path.domain.path.routing import Region

_FORWARDS = "it forwards traffic to no NAT and not certainly to an internet gateway, and may translate it"


def follow_network_interface(network: Network, route: Route, region: Region, visit: Visit) -> list[Traced]:
    """A network interface or instance forwards only with its source/destination check off, by its own subnet's table.

    https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html
    """
    if visit.endpoints_aside:
        return unresolved(route, region, _FORWARDS)
    if network.snapshot.network_interfaces is None:
        return unresolved(route, region, "whether it forwards is unknown: grant ec2:DescribeNetworkInterfaces")
    interface = _interface_of(network.snapshot.network_interfaces, route.target_id)
    if interface is None:
        return unresolved(route, region, "this network interface is not listed (ec2:DescribeNetworkInterfaces)")
    if interface.source_dest_check:
        return unresolved(route, region, "its source/destination check is on, so it does not forward")
    entry = _entry_of(network, interface, visit)
    if entry is None:
        return unresolved(route, region, f"the route table of its subnet {interface.subnet_id} is not listed")
    hop = Hop(TargetKind.NETWORK_INTERFACE, interface.id, str(route.destination))
    return [traced.via(hop, route) for block in region.blocks() for traced in _forwarded(network, entry, block)]


def _interface_of(interfaces: Mapping[str, NetworkInterface], target_id: str) -> NetworkInterface | None:
    if target_id in interfaces:
        return interfaces[target_id]
    attached = [each for each in interfaces.values() if each.instance_id == target_id]
    return min(attached, key=lambda each: (each.device_index or 0, each.id), default=None)


def _entry_of(network: Network, interface: NetworkInterface, visit: Visit) -> Entry | None:
    """What the interface sends out comes from its own subnet, so only that subnet's Block Public Access counts."""
    subnet = network.snapshot.subnets.get(interface.subnet_id)
    closed = subnet.internet_closed if subnet else None
    return entry_in(network, interface.subnet_id, visit._replace(closed=closed))


def _forwarded(network: Network, entry: Entry, block: Cidr) -> list[Traced]:
    """Where an interface sends a block: IPv4 it may translate, IPv6 it need not, 64:ff9b:: either way."""
    if block.family is Family.IPV4:
        return list(_translated(network, entry, block))
    unchanged = [behind_appliance(each, _FORWARDS) for each in onward_from(network, entry, Region(block))]
    ipv4 = from_nat64(block)
    if ipv4 is None:
        return unchanged
    translated = [Traced(_as_nat64(each.region), each.outcomes) for each in _translated(network, entry, ipv4)]
    return overlaid([translated, unchanged])


def _as_nat64(region: Region) -> Region:
    return Region(nat64(region.block), tuple(map(nat64, region.holes)))


def _translated(network: Network, entry: Entry, block: Cidr) -> Iterator[Traced]:
    """A NAT instance if its table, without gateway endpoints, leads to an internet gateway; else an appliance."""
    aside = Entry(entry.table, entry.visit._replace(endpoints_aside=True))
    for found in onward_from(network, aside, Region(block)):
        direct = tuple(
            replace(outcome, reason=Reason.NAT_INSTANCE)
            for outcome in found.outcomes
            if outcome.reason is Reason.INTERNET_GATEWAY
        )
        if len(direct) == len(found.outcomes):
            yield Traced(found.region, direct)
            continue
        for each in onward_from(network, entry, found.region):
            yield Traced(each.region, (*direct, *behind_appliance(each, _FORWARDS).outcomes))
