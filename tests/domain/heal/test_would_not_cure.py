"""Heals that would not make the verdict COMPLIANT: a route hijacks, a family has no endpoint, a NAT translates."""

from dataclasses import replace

import pytest

from express_path.domain.heal.endpoints import with_association
from express_path.domain.heal.records import MANAGED_TAG, Action, Blocker
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList, Rank, Route, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.heal_situation import (
    BOTH,
    DUAL_STACK,
    EXPRESS_LIST_6,
    IPV6_ONLY,
    TO_NAT,
    blockers,
    evidence_of,
    network,
    planned,
)
from tests.support.make import EXPRESS_LIST, endpoint, route, subnet

OWN_LIST = PrefixList("pl-own", "own", Family.IPV4, (parse_cidr("198.51.100.128/25"),), aws_owned=False)
TWIN = replace(OWN_LIST, cidrs=EXPRESS_LIST.cidrs)
MANAGED = {MANAGED_TAG: "true"}
HIDDEN = PrefixList("pl-hidden", "hidden", Family.IPV4, None, aws_owned=False)


@pytest.mark.parametrize(
    ("hijack", "block"),
    [
        (route("198.51.100.0/25", "nat-1"), "198.51.100.0/25"),
        (route("198.51.100.77/32", "nat-1"), "198.51.100.77/32"),
        (route("198.51.100.0/24", "nat-1"), "198.51.100.0/24"),
        (route("198.51.100.0/25", "nat-1", rank=Rank.PROPAGATED), "198.51.100.0/25"),
        (route("pl-own", "nat-1"), "198.51.100.128/25"),
    ],
    ids=["longer", "host", "static and equal", "propagated and longer", "customer's list"],
)
@pytest.mark.parametrize("endpoints", [(), (endpoint(),)], ids=["to be created", "existing"])
def test_route_that_wins_over_the_endpoint_is_named(hijack: Route, block: str, endpoints: tuple[()]) -> None:
    """MORE_SPECIFIC_ROUTE names the route, its table and the addresses that it takes from the endpoint."""
    plan = planned(network(TO_NAT, hijack, endpoints=endpoints, lists=(EXPRESS_LIST, OWN_LIST)))
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.MORE_SPECIFIC_ROUTE])
    shown = evidence_of(plan, Blocker.MORE_SPECIFIC_ROUTE)
    assert shown == f"{hijack.destination} -> nat-1 in rtb-1 wins {block} over the endpoint's route"


def test_every_such_route_is_named() -> None:
    """A person who deletes routes wants to know all of them at once."""
    plan = planned(network(TO_NAT, route("198.51.100.0/26", "nat-1"), route("198.51.100.64/26", "eni-1")))
    assert blockers(plan) == [Blocker.MORE_SPECIFIC_ROUTE] * 2
    assert {concern.evidence.partition(" in ")[0] for concern in plan.blockers} == {
        "198.51.100.0/26 -> nat-1",
        "198.51.100.64/26 -> eni-1",
    }


@pytest.mark.parametrize("endpoints", [(), (endpoint(ip_address_type="dualstack"),)], ids=["to be created", "existing"])
def test_nat64_of_a_dual_stack_subnet_is_named_with_its_fixes(endpoints: tuple[VpcEndpoint, ...]) -> None:
    """An endpoint matches no 64:ff9b:: address: one concern for the route, and the two ways to fix it."""
    routes = [route(prefix_list.id, endpoints[0].id) for prefix_list in BOTH for _ in endpoints]
    two = replace(EXPRESS_LIST, cidrs=(*EXPRESS_LIST.cidrs, parse_cidr("203.0.113.0/24")))
    plan = planned(
        network(
            TO_NAT,
            route("64:ff9b::/96", "nat-1"),
            *routes,
            subnets=(replace(DUAL_STACK, dns64=True),),
            lists=(two, EXPRESS_LIST_6),
            endpoints=endpoints,
        )
    )
    assert plan.verdict.reason == ("PARTLY_NAT" if endpoints else "NAT_GATEWAY")
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.WOULD_NOT_CURE])
    shown = evidence_of(plan, Blocker.WOULD_NOT_CURE)
    assert shown.startswith("64:ff9b::/96 -> nat-1 in rtb-1 would still carry S3 Express traffic to 64:ff9b::")
    for part in ("turn off DNS64", "dual-stack host names", "the verdict changes only when"):
        assert part in plan.blockers[0].cure


def test_partly_nat_by_a_more_specific_route_is_not_healed_twice() -> None:
    """A table that has the endpoint already, and a NAT for some addresses, needs a person, not another association."""
    found = network(
        TO_NAT, route("pl-express", "vpce-express"), route("198.51.100.9/32", "nat-1"), endpoints=(endpoint(),)
    )
    plan = planned(found)
    assert (plan.verdict.reason, blockers(plan)) == ("PARTLY_NAT", [Blocker.MORE_SPECIFIC_ROUTE])
    assert plan.blockers[0].cure.startswith("delete 198.51.100.9/32 from rtb-1,")


@pytest.mark.parametrize(
    "used",
    [endpoint(), endpoint(state="pending"), endpoint(tags={"aws:cloudformation:stack-name": "network"})],
    ids=["available", "pending", "a stack's"],
)
@pytest.mark.parametrize("others", [(), (endpoint("vpce-0"),), (endpoint("vpce-0", tags=MANAGED),)])
def test_table_that_uses_an_endpoint_gets_no_patch(used: VpcEndpoint, others: tuple[VpcEndpoint, ...]) -> None:
    """An association that is there already changes nothing, so no patch shows it, and no tool is asked to make it.

    Neither does another endpoint of the VPC help; only the route in the way does, and the cure names it.
    """
    hijack = route("198.51.100.9/32", "nat-1")
    found = network(TO_NAT, route("pl-express", "vpce-express"), hijack, endpoints=(*others, used))
    plan = planned(found)
    assert (plan.patches, plan.endpoint_id, blockers(plan)) == ({}, "vpce-express", [Blocker.MORE_SPECIFIC_ROUTE])


def test_table_that_uses_an_endpoint_for_one_family_gets_a_patch() -> None:
    """A dual-stack endpoint without its IPv6 route still needs the association."""
    dual = endpoint(ip_address_type="dualstack")
    hijack = route("198.51.100.9/32", "nat-1")
    half = network(TO_NAT, route("pl-express", dual.id), hijack, subnets=(DUAL_STACK,), lists=BOTH, endpoints=(dual,))
    assert planned(half).patches


@pytest.mark.parametrize(
    "harmless",
    [
        route("198.51.101.0/24", "nat-1"),
        route("198.51.0.0/16", "nat-1"),
        route("198.51.100.0/24", "nat-1", rank=Rank.PROPAGATED),
        route("198.51.100.0/25", "nat-1", state="blackhole"),
        route("pl-hidden", "vpce-express"),
    ],
    ids=["elsewhere", "shorter", "propagated and equal", "blackhole", "unreadable with the endpoint's target"],
)
def test_route_that_does_not_win_blocks_nothing(harmless: Route) -> None:
    """Routes that lose to the endpoint's route, or that carry no traffic, do not block."""
    found = network(TO_NAT, harmless, endpoints=(endpoint(),), lists=(EXPRESS_LIST, HIDDEN))
    assert (planned(found).action, planned(found).blockers) == (Action.ASSOCIATE, ())


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (
            network(route("::/0", "nat-1"), route("64:ff9b::/96", "nat-1"), subnets=(replace(IPV6_ONLY, dns64=True),)),
            "64:ff9b::/96 -> nat-1 in rtb-1 would still carry S3 Express traffic to 64:ff9b::c633:6400/120",
        ),
        (
            network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK,), lists=BOTH, endpoints=(endpoint(),)),
            "::/0 -> nat-2 in rtb-1 would still carry S3 Express traffic to 2001:db8::/36",
        ),
        (
            network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK, subnet("subnet-2")), lists=BOTH),
            "::/0 -> nat-2 in rtb-1 would still carry S3 Express traffic to 2001:db8::/36",
        ),
        (
            network(TO_NAT, route("pl-own", "nat-2"), lists=(EXPRESS_LIST, TWIN)),
            "pl-own -> nat-2 in rtb-1 would still carry S3 Express traffic to 198.51.100.0/24",
        ),
        (
            network(TO_NAT, route("pl-hidden", "nat-2"), lists=(EXPRESS_LIST, HIDDEN)),
            "pl-hidden -> nat-2 in rtb-1 would still carry S3 Express traffic to 198.51.100.0/24",
        ),
        (
            network(
                TO_NAT,
                route("::/0", "igw-1"),
                subnets=(DUAL_STACK,),
                lists=(EXPRESS_LIST, replace(EXPRESS_LIST_6, cidrs=None)),
            ),
            "rtb-1 would still carry S3 Express traffic to ::/0",
        ),
    ],
    ids=[
        "NAT64",
        "endpoint of one family",
        "families that differ",
        "customer's twin",
        "customer's unreadable list",
        "unreadable entries of the service's list",
    ],
)
def test_traffic_that_no_endpoint_route_can_win_is_named(found: Snapshot, shown: str) -> None:
    """WOULD_NOT_CURE names the blocking route, or the route table if the addresses cannot be read."""
    plan = planned(found)
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.WOULD_NOT_CURE])
    assert evidence_of(plan, Blocker.WOULD_NOT_CURE) == shown


def test_both_families_are_healed_by_an_endpoint_of_both() -> None:
    """A dual-stack endpoint takes IPv4 and IPv6 off their NATs together."""
    found = network(TO_NAT, route("::/0", "nat-2"), subnets=(DUAL_STACK,), lists=BOTH)
    plan = planned(found)
    assert (plan.action, plan.ip_address_type, plan.blockers) == (Action.CREATE_AND_ASSOCIATE, "dualstack", ())


def test_rest_that_leaves_by_an_internet_gateway_follows_the_parameter() -> None:
    """An IPv6 path through an egress-only gateway blocks only if public paths are NON_COMPLIANT."""
    found = network(TO_NAT, route("::/0", "eigw-1"), subnets=(DUAL_STACK, subnet("subnet-2")), lists=BOTH)
    assert planned(found).blockers == ()
    strict = planned(found, parameters=RuleParameters(public_subnets=Compliance.NON_COMPLIANT))
    assert blockers(strict) == [Blocker.WOULD_NOT_CURE]


@pytest.mark.parametrize(
    ("ip_address_type", "brought"),
    [("ipv4", {"pl-express"}), ("ipv6", {"pl-express6"}), ("dualstack", {"pl-express", "pl-express6"})],
)
def test_endpoint_brings_the_lists_of_its_address_type(ip_address_type: str, brought: set[str]) -> None:
    """The address type of an endpoint decides which prefix lists are put into its route tables."""
    found = network(lists=BOTH, endpoints=(endpoint(ip_address_type=ip_address_type, state="pending"),))
    after = with_association(found, found.route_tables["rtb-1"], found.vpc_endpoints["vpce-express"])
    in_table = after.route_tables["rtb-1"].routes
    routes = {added.destination for added in in_table if added.target_id == "vpce-express"}
    assert routes == brought
    assert after.vpc_endpoints["vpce-express"].state == "available"
    assert found.vpc_endpoints["vpce-express"].state == "pending"


@pytest.mark.parametrize("endpoints", [(), (endpoint(),)], ids=["to be created", "existing"])
def test_route_to_the_list_itself_blocks(endpoints: tuple[()]) -> None:
    """A table that routes the s3express list elsewhere cannot take the endpoint's route: RouteAlreadyExists."""
    plan = planned(network(TO_NAT, route("pl-express", "nat-1"), endpoints=endpoints))
    assert plan.action is Action.BLOCKED
    assert any("pl-express -> nat-1 in rtb-1" in concern.evidence for concern in plan.blockers)
