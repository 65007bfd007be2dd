"""DNS64: the addresses under 64:ff9b::/96 that it makes of IPv4 ones, and what translates them back."""

from dataclasses import replace

import pytest

from express_path.domain.network.addresses import Family, from_nat64, nat64, parse_cidr
from express_path.domain.network.resources import NetworkInterface, PrefixList, Route
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import (
    EXPRESS,
    EXPRESS_LIST,
    by_id,
    endpoint,
    firewalls,
    route,
    snapshot,
    subnet,
    table,
    verdict_on,
)

DUAL_STACK = subnet(has_ipv6=True, dns64=True)
NATIVE = subnet(has_ipv6=True, ipv6_native=True, dns64=True)
NAT64, DEFAULT, DEFAULT6 = "64:ff9b::/96", "0.0.0.0/0", "::/0"
TO_ENDPOINT = route("pl-express", "vpce-express")


def network(*first: Route, beyond: tuple[Route, ...] = (), of: object = DUAL_STACK, **more: object) -> Snapshot:
    """subnet-1 with DNS64 and these routes; subnet-2 with an interface that forwards, a firewall and those beyond."""
    firewall = endpoint("vpce-f", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-2",))
    described = {
        "subnets": by_id(of, subnet("subnet-2")),
        "route_tables": by_id(
            table("rtb-1", *first, subnets=("subnet-1",)), table("rtb-2", *beyond, subnets=("subnet-2",))
        ),
        "vpc_endpoints": by_id(endpoint(), firewall),
        "firewalls": firewalls("vpce-f"),
        "network_interfaces": by_id(NetworkInterface("eni-1", "subnet-2", source_dest_check=False)),
        **more,
    }
    return snapshot(**described)


@pytest.mark.parametrize(
    ("routes", "reason"),
    [
        ((TO_ENDPOINT, route(NAT64, "nat-1")), "PARTLY_NAT"),
        ((TO_ENDPOINT, route(NAT64, "nat-1", state="blackhole")), "ENDPOINT"),
        ((TO_ENDPOINT, route(DEFAULT6, "eigw-1")), "ENDPOINT"),
        ((TO_ENDPOINT, route(NAT64, "vgw-1")), "UNRESOLVED_EGRESS"),
        ((route(DEFAULT, "igw-1"), route(NAT64, "nat-1")), "NAT_GATEWAY"),
        ((route(NAT64, "nat-1"),), "NAT_GATEWAY"),
        ((route(NAT64, "local"),), "NO_ROUTE"),
        ((route(NAT64, "nat-1", state="blackhole"),), "DROPPED"),
    ],
)
def test_a_dual_stack_subnet_also_uses_the_synthesized_addresses(routes: tuple[Route, ...], reason: str) -> None:
    """They count in addition to IPv4 unless they have no route; without DNS64, no host uses them."""
    assert verdict_on(network(*routes)).reason == reason
    without = verdict_on(network(*routes, of=replace(DUAL_STACK, dns64=False))).reason
    assert without in ("ENDPOINT", "INTERNET_GATEWAY", "NO_ROUTE")


@pytest.mark.parametrize(
    ("beyond", "reason"),
    [
        ((route(DEFAULT, "igw-1"),), "NAT_INSTANCE"),
        ((route(DEFAULT, "igw-1"), TO_ENDPOINT), "NAT_INSTANCE"),
        ((route(DEFAULT, "nat-1"),), "NAT_BEHIND_APPLIANCE"),
        ((route(NAT64, "nat-1"),), "NAT_BEHIND_APPLIANCE"),
        ((route(DEFAULT, "vgw-1"), route(NAT64, "nat-1")), "NAT_BEHIND_APPLIANCE"),
        ((route(DEFAULT6, "igw-1"),), "UNRESOLVED_EGRESS"),
        ((TO_ENDPOINT,), "UNRESOLVED_EGRESS"),
        ((), "UNRESOLVED_EGRESS"),
    ],
)
@pytest.mark.parametrize("of", [DUAL_STACK, NATIVE], ids=["dual stack", "IPv6-native"])
def test_an_interface_translates_or_passes_them_on(beyond: tuple[Route, ...], reason: str, of: object) -> None:
    """Both are followed, and the worst result decides."""
    assert verdict_on(network(route(NAT64, "eni-1"), beyond=beyond, of=of)).reason == reason


def test_an_interface_whose_table_governs_the_subnet_too_is_no_loop() -> None:
    """What comes back to the same route table is another address by then, an IPv4 one."""
    both = table("rtb-1", route(NAT64, "eni-1"), route(DEFAULT, "igw-1"), subnets=("subnet-1", "subnet-2"))
    assert verdict_on(network(route_tables=by_id(both))).reason == "NAT_INSTANCE"


@pytest.mark.parametrize(
    ("beyond", "reason"),
    [
        ((route(NAT64, "nat-1"),), "NAT_BEHIND_APPLIANCE"),
        ((route(DEFAULT, "nat-1"), route(DEFAULT6, "igw-1")), "NO_ROUTE"),
        ((route(DEFAULT, "nat-1"),), "NO_ROUTE"),
    ],
)
def test_a_firewall_passes_them_on_unchanged(beyond: tuple[Route, ...], reason: str) -> None:
    """Behind a firewall the address is looked up as it is, and a gateway does not translate it."""
    assert verdict_on(network(route(NAT64, "vpce-f"), beyond=beyond)).reason == reason


@pytest.mark.parametrize("target", ["igw-1", "eigw-1"])
@pytest.mark.parametrize("beyond", [route("2001:db8::/32", "igw-1"), route("2001:db8::/32", "eigw-1")])
def test_an_interface_in_front_of_a_gateway_is_no_nat_for_ipv6(target: str, beyond: Route) -> None:
    """IPv6 needs no translation: the interface may be a router or a proxy. A NAT behind it is a NAT all the same."""
    express6 = PrefixList("pl-6", EXPRESS.replace(".s3", ".ipv6.s3"), Family.IPV6, (parse_cidr("2001:db8::/48"),))
    of = subnet(has_ipv6=True)
    lists = by_id(EXPRESS_LIST, express6)
    found = network(route(DEFAULT6, "eni-1"), beyond=(beyond, route(DEFAULT, target)), of=of, prefix_lists=lists)
    assert verdict_on(found).reason == "UNRESOLVED_EGRESS"
    through = network(route(DEFAULT6, "eni-1"), beyond=(route(DEFAULT6, "nat-1"),), of=of, prefix_lists=lists)
    assert verdict_on(through).reason == "NAT_BEHIND_APPLIANCE"


@pytest.mark.parametrize(
    ("routes", "reason"),
    [((), "NO_ROUTE"), ((route(NAT64, "nat-1"),), "UNRESOLVED_EGRESS"), ((route(NAT64, "local"),), "NO_ROUTE")],
)
def test_an_ipv4_list_that_cannot_be_read_hides_them_too(routes: tuple[Route, ...], reason: str) -> None:
    """An IPv6-native subnet reaches the unknown IPv4 addresses by any IPv6 route that leads out."""
    hidden = by_id(replace(EXPRESS_LIST, cidrs=None))
    assert verdict_on(network(*routes, of=NATIVE, prefix_lists=hidden)).reason == reason


@pytest.mark.parametrize("text", ["198.51.100.0/24", "64:ff9a::/96", "64:ff9b:1::/96", "64:ff9b::/95", "::/0"])
def test_other_blocks_hold_no_ipv4_addresses(text: str) -> None:
    """Only 64:ff9b::/96 is translated (RFC 6052)."""
    assert from_nat64(parse_cidr(text)) is None
    assert from_nat64(nat64(parse_cidr("198.51.100.0/24"))) == parse_cidr("198.51.100.0/24")
