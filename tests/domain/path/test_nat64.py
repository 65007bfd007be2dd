"""DNS64: the addresses under 64:ff9b::/96 that it makes of IPv4 ones, and what translates them back."""

from dataclasses import replace

import pytest

from express_path.domain.network.resources import NetworkInterface, Route
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import (
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


def test_an_interface_whose_table_governs_the_subnet_too_is_no_loop() -> None:
    """What comes back to the same route table is another address by then, an IPv4 one."""
    both = table("rtb-1", route(NAT64, "eni-1"), route(DEFAULT, "igw-1"), subnets=("subnet-1", "subnet-2"))
    assert verdict_on(network(route_tables=by_id(both))).reason == "NAT_INSTANCE"


@pytest.mark.parametrize(
    ("routes", "reason"),
    [((), "NO_ROUTE"), ((route(NAT64, "nat-1"),), "UNRESOLVED_EGRESS"), ((route(NAT64, "local"),), "NO_ROUTE")],
)
def test_an_ipv4_list_that_cannot_be_read_hides_them_too(routes: tuple[Route, ...], reason: str) -> None:
    """An IPv6-native subnet reaches the unknown IPv4 addresses by any IPv6 route that leads out."""
    hidden = by_id(replace(EXPRESS_LIST, cidrs=None))
    assert verdict_on(network(*routes, of=NATIVE, prefix_lists=hidden)).reason == reason
