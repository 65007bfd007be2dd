"""Internet gateways that VPC Block Public Access closes, by the states of the subnets that traffic comes from."""

from dataclasses import replace

import pytest

from express_path.domain.network.resources import BlockMode, NatGateway, NetworkInterface
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import (
    EXPRESS_LIST,
    by_id,
    endpoint,
    evaluator,
    firewalls,
    route,
    snapshot,
    subnet,
    table,
    verdict_on,
)

DEFAULT = "0.0.0.0/0"
OFF, INGRESS, UNKNOWN, CLOSED = BlockMode
FIREWALL = endpoint(
    "vpce-f",
    endpoint_type="gatewayloadbalancer",
    subnet_ids=("subnet-2",),
)
INTERFACE = NetworkInterface("eni-1", "subnet-2", source_dest_check=False)


def network(to: str, *, first: BlockMode = OFF, second: BlockMode = OFF, beyond: str = "igw-1") -> Snapshot:
    """subnet-1 with a default route, and subnet-2 behind a firewall or an interface, each closed or not or unknown."""
    return snapshot(
        subnets=by_id(subnet(block_mode=first), subnet("subnet-2", block_mode=second)),
        route_tables=by_id(
            table("rtb-1", route(DEFAULT, to), subnets=("subnet-1",)),
            table("rtb-2", route(DEFAULT, beyond), subnets=("subnet-2",)),
        ),
        vpc_endpoints=by_id(FIREWALL),
        firewalls=firewalls("vpce-f"),
        network_interfaces=by_id(INTERFACE),
    )


@pytest.mark.parametrize(
    ("to", "first", "second", "reason"),
    [
        ("igw-1", OFF, CLOSED, "INTERNET_GATEWAY"),
        ("igw-1", CLOSED, OFF, "DROPPED"),
        ("eigw-1", CLOSED, OFF, "DROPPED"),
        ("igw-1", UNKNOWN, OFF, "UNRESOLVED_EGRESS"),
        ("nat-1", CLOSED, OFF, "NAT_GATEWAY"),
        ("vpce-f", OFF, OFF, "INTERNET_GATEWAY"),
        ("vpce-f", OFF, CLOSED, "DROPPED"),
        ("vpce-f", CLOSED, OFF, "DROPPED"),
        ("vpce-f", CLOSED, UNKNOWN, "DROPPED"),
        ("vpce-f", UNKNOWN, OFF, "UNRESOLVED_EGRESS"),
        ("eni-1", OFF, CLOSED, "UNRESOLVED_EGRESS"),
        ("eni-1", CLOSED, OFF, "NAT_INSTANCE"),
        ("eni-1", OFF, UNKNOWN, "NAT_INSTANCE"),
        ("igw-1", INGRESS, OFF, "UNRESOLVED_EGRESS"),
        ("eigw-1", INGRESS, OFF, "INTERNET_GATEWAY"),
        ("nat-1", INGRESS, OFF, "NAT_GATEWAY"),
        ("vpce-f", OFF, INGRESS, "UNRESOLVED_EGRESS"),
        ("vpce-f", UNKNOWN, INGRESS, "UNRESOLVED_EGRESS"),
        ("eni-1", OFF, INGRESS, "NAT_INSTANCE"),
    ],
)
def test_the_states_of_the_subnets_on_the_way_count(to: str, first: BlockMode, second: BlockMode, reason: str) -> None:
    """The subnet itself and those of firewalls close a gateway; an interface sends traffic from its own subnet."""
    verdict = verdict_on(network(to, first=first, second=second))
    assert verdict.reason == reason
    says_why = reason == "DROPPED" or (reason == "UNRESOLVED_EGRESS" and first is UNKNOWN)
    assert ("Block Public Access" in verdict.annotation) == says_why


@pytest.mark.parametrize("to", ["igw-1", "vpce-f"])
@pytest.mark.parametrize("order", [1, -1], ids=["open first", "closed first"])
def test_paths_that_meet_differ(to: str, order: int) -> None:
    """Two subnets with one route table, or one firewall, have different verdicts if the gateway is closed to one."""
    both = network(to)
    closed = subnet("subnet-3", block_mode=CLOSED)
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
    network_of_three = network("eni-1", second=CLOSED)
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


@pytest.mark.parametrize(("other", "reason"), [("igw-1", "DROPPED"), ("tgw-1", "NAT_GATEWAY")])
def test_a_nat_gateway_is_closed_only_if_all_that_may_win_is_an_internet_gateway(other: str, reason: str) -> None:
    """AWS decides at random between the routes to two prefix lists with the same entries."""
    lists = [replace(EXPRESS_LIST, id=key, name=key, aws_owned=False) for key in ("pl-1", "pl-2")]
    closed = snapshot(
        subnets=by_id(subnet(), subnet("subnet-2", block_mode=CLOSED)),
        route_tables=by_id(
            table("rtb-1", route(DEFAULT, "nat-1"), subnets=("subnet-1",)),
            table("rtb-2", route("pl-1", "igw-1"), route("pl-2", other), subnets=("subnet-2",)),
        ),
        nat_gateways=by_id(NatGateway("nat-1", "vpc-1", "subnet-2")),
        prefix_lists=by_id(EXPRESS_LIST, *lists),
    )
    assert verdict_on(closed).reason == reason
