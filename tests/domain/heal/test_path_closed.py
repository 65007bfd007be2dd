"""Heals that would open a path which VPC Block Public Access closes."""

from dataclasses import replace

import pytest

from express_path.domain.heal.records import Action, Blocker
from express_path.domain.network.resources import BlockMode, NatGateway, Subnet
from express_path.domain.network.snapshot import Snapshot
from tests.support.heal_situation import BOTH, DUAL_STACK, TO_NAT, blockers, evidence_of, network, planned
from tests.support.make import by_id, endpoint, route, subnet, table

CLOSED = BlockMode.BIDIRECTIONAL
TO_EIGW = route("::/0", "eigw-1")


def behind_closed_nat(*routes: object, **more: object) -> Snapshot:
    """Return a network whose NAT gateway nat-1 is in a subnet that Block Public Access closes."""
    return network(
        *routes,
        other_subnets=(subnet("subnet-nat", block_mode=CLOSED),),
        tables=(table("rtb-nat", route("0.0.0.0/0", "igw-1"), subnets=("subnet-nat",)),),
        nat_gateways=by_id(NatGateway("nat-1", "vpc-1", "subnet-nat")),
        **more,
    )


def test_a_subnet_behind_a_closed_nat_gateway_is_not_healed() -> None:
    """All of its traffic is dropped, because somebody closed the path; a heal would open it."""
    plan = planned(behind_closed_nat(TO_NAT))
    assert (plan.verdict.reason, plan.action, blockers(plan)) == ("DROPPED", Action.BLOCKED, [Blocker.PATH_CLOSED])
    assert "subnet-nat" in evidence_of(plan, Blocker.PATH_CLOSED)


def test_traffic_that_is_dropped_for_another_cause_needs_no_heal() -> None:
    """Nobody closed a blackhole on purpose, so far as AWS shows."""
    plan = planned(network(route("0.0.0.0/0", "nat-1", state="blackhole")))
    assert (plan.verdict.reason, plan.action) == ("DROPPED", Action.NOTHING_TO_DO)


def test_a_heal_that_would_open_a_part_is_blocked() -> None:
    """A part of the addresses crosses an open NAT, and the rest is dropped at the closed one."""
    plan = planned(behind_closed_nat(TO_NAT, route("198.51.100.0/25", "nat-2")))
    assert plan.verdict.reason == "NAT_GATEWAY"
    assert Blocker.PATH_CLOSED in blockers(plan)
    assert "198.51.100.128/25" in evidence_of(plan, Blocker.PATH_CLOSED)


@pytest.mark.parametrize(
    ("neighbor", "blocked"),
    [
        (subnet("subnet-2", has_ipv6=True, block_mode=CLOSED), True),
        (subnet("subnet-2", has_ipv6=True), False),
        (subnet("subnet-2", block_mode=CLOSED), False),
    ],
    ids=["closed", "open", "closed, without IPv6"],
)
def test_a_neighbor_that_the_heal_would_open_blocks_it(neighbor: Subnet, blocked: bool) -> None:
    """The existing endpoint serves IPv6 too, where the neighbor's egress-only internet gateway is closed."""
    both = endpoint(ip_address_type="dualstack")
    found = network(TO_NAT, TO_EIGW, subnets=(DUAL_STACK, neighbor), endpoints=(both,), lists=BOTH)
    plan = planned(found)
    assert (Blocker.PATH_CLOSED in blockers(plan)) is blocked
    only_ipv4 = planned(replace(found, vpc_endpoints=by_id(endpoint())))
    assert Blocker.PATH_CLOSED not in blockers(only_ipv4)
