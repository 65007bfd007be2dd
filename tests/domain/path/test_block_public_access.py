"""Internet gateways that VPC Block Public Access closes, by the states of the subnets that traffic comes from."""

from dataclasses import replace

import pytest

from express_path.domain.network.resources import BlockMode, NatGateway, NetworkInterface
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import (
    by_id,
    endpoint,
    firewalls,
    route,
    snapshot,
    subnet,
    table,
    verdict_on,
)

DEFAULT = "0.0.0.0/0"
OFF, INGRESS, UNKNOWN, NEW, CLOSED = BlockMode
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
        ("igw-1", NEW, OFF, "UNRESOLVED_EGRESS"),
        ("nat-1", NEW, NEW, "NAT_GATEWAY"),
        ("vpce-f", OFF, NEW, "UNRESOLVED_EGRESS"),
        ("eni-1", OFF, NEW, "NAT_INSTANCE"),
        ("eni-1", OFF, CLOSED, "UNRESOLVED_EGRESS"),
        ("eni-1", CLOSED, OFF, "NAT_INSTANCE"),
        ("eni-1", OFF, UNKNOWN, "NAT_INSTANCE"),
        ("igw-1", INGRESS, OFF, "UNRESOLVED_EGRESS"),
        ("eigw-1", INGRESS, OFF, "INTERNET_GATEWAY"),
        ("nat-1", INGRESS, OFF, "NAT_GATEWAY"),
        ("vpce-f", OFF, INGRESS, "UNRESOLVED_EGRESS"),
        ("vpce-f", UNKNOWN, INGRESS, "UNRESOLVED_EGRESS"),
        ("eni-1", OFF, INGRESS, "UNRESOLVED_EGRESS"),
    ],
)
def test_the_states_of_the_subnets_on_the_way_count(to: str, first: BlockMode, second: BlockMode, reason: str) -> None:
    """The subnet itself and those of firewalls close a gateway; an interface sends traffic from its own subnet."""
    verdict = verdict_on(network(to, first=first, second=second))
    assert verdict.reason == reason
    says_why = reason == "DROPPED" or (reason == "UNRESOLVED_EGRESS" and bool({UNKNOWN, NEW} & {first, second}))
    assert ("Block Public Access" in verdict.annotation) == says_why


@pytest.mark.parametrize(("connectivity", "reason"), [("public", "DROPPED"), ("private", "NAT_GATEWAY")])
def test_a_closed_subnet_closes_public_nat_gateways(connectivity: str, reason: str) -> None:
    """A private NAT gateway in a closed subnet still translates: its traffic need not reach an internet gateway."""
    gateway = NatGateway("nat-1", "vpc-1", "subnet-2", connectivity)
    assert verdict_on(replace(network("nat-1", second=CLOSED), nat_gateways=by_id(gateway))).reason == reason
