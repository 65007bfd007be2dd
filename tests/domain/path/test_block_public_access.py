"""Internet gateways that VPC Block Public Access closes, by the states of the subnets that traffic comes from."""

from dataclasses import replace

import pytest

from express_path.domain.network.resources import NetworkInterface
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import by_id, endpoint, evaluator, route, snapshot, subnet, table, verdict_on

DEFAULT = "0.0.0.0/0"
FIREWALL = endpoint(
    "vpce-f",
    endpoint_type="gatewayloadbalancer",
    subnet_ids=("subnet-2",),
    tags={"AWSNetworkFirewallManaged": "true"},
)
INTERFACE = NetworkInterface("eni-1", "subnet-2", source_dest_check=False)


def network(to: str, *, first: bool | None = False, second: bool | None = False, beyond: str = "igw-1") -> Snapshot:
    """subnet-1 with a default route, and subnet-2 behind a firewall or an interface, each closed or not or unknown."""
    return snapshot(
        subnets=by_id(subnet(internet_closed=first), subnet("subnet-2", internet_closed=second)),
        route_tables=by_id(
            table("rtb-1", route(DEFAULT, to), subnets=("subnet-1",)),
            table("rtb-2", route(DEFAULT, beyond), subnets=("subnet-2",)),
        ),
        vpc_endpoints=by_id(FIREWALL),
        network_interfaces=by_id(INTERFACE),
    )


@pytest.mark.parametrize(
    ("to", "first", "second", "reason"),
    [
        ("igw-1", False, True, "INTERNET_GATEWAY"),
        ("igw-1", True, False, "DROPPED"),
        ("eigw-1", True, False, "DROPPED"),
        ("igw-1", None, False, "UNRESOLVED_EGRESS"),
        ("nat-1", True, False, "NAT_GATEWAY"),
        ("vpce-f", False, False, "INTERNET_GATEWAY"),
        ("vpce-f", False, True, "DROPPED"),
        ("vpce-f", True, False, "DROPPED"),
        ("vpce-f", True, None, "DROPPED"),
        ("vpce-f", None, False, "UNRESOLVED_EGRESS"),
        ("eni-1", False, True, "UNRESOLVED_EGRESS"),
        ("eni-1", True, False, "NAT_INSTANCE"),
        ("eni-1", False, None, "NAT_INSTANCE"),
    ],
)
def test_the_states_of_the_subnets_on_the_way_count(
    to: str, first: bool | None, second: bool | None, reason: str
) -> None:
    """The subnet itself and those of firewalls close a gateway; an interface sends traffic from its own subnet."""
    verdict = verdict_on(network(to, first=first, second=second))
    assert verdict.reason == reason
    says_why = reason == "DROPPED" or (reason == "UNRESOLVED_EGRESS" and first is None)
    assert ("Block Public Access" in verdict.annotation) == says_why


@pytest.mark.parametrize("to", ["igw-1", "vpce-f"])
@pytest.mark.parametrize("order", [1, -1], ids=["open first", "closed first"])
def test_paths_that_meet_differ(to: str, order: int) -> None:
    """Two subnets with one route table, or one firewall, have different verdicts if the gateway is closed to one."""
    both = network(to)
    closed = subnet("subnet-3", internet_closed=True)
    shared = table("rtb-1", route(DEFAULT, to), subnets=("subnet-1", "subnet-3"))
    asked = evaluator(
        replace(
            both,
            subnets={**both.subnets, "subnet-3": closed},
            route_tables={**both.route_tables, "rtb-1": shared},
        )
    )
    reasons = {subnet_id: asked.verdict(subnet_id).reason for subnet_id in ("subnet-1", "subnet-3")[::order]}
    assert reasons == {"subnet-1": "INTERNET_GATEWAY", "subnet-3": "DROPPED"}


def test_a_firewall_between_an_interface_and_the_gateway_counts() -> None:
    """The interface forwards to a firewall in a closed subnet: it has no way to the internet gateway."""
    network_of_three = network("eni-1", second=True)
    apart = by_id(subnet("subnet-3"))
    tables = by_id(table("rtb-3", route(DEFAULT, "vpce-f"), subnets=("subnet-3",)))
    moved = replace(
        network_of_three,
        subnets={**network_of_three.subnets, **apart},
        route_tables={**network_of_three.route_tables, **tables},
        network_interfaces=by_id(replace(INTERFACE, subnet_id="subnet-3")),
    )
    assert verdict_on(moved).reason == "UNRESOLVED_EGRESS"
    opened = replace(moved, subnets={**moved.subnets, "subnet-2": subnet("subnet-2")})
    assert verdict_on(opened).reason == "NAT_INSTANCE"
