"""The quotas of gateway endpoints in a Region and of routes in a table."""

from dataclasses import replace

import pytest

from express_path.domain.heal.endpoints import counts_against_quota, needs_more_routes_than_default
from express_path.domain.heal.preflight import ENDPOINT_QUOTA, ROUTE_QUOTA, Evidence, Quota
from express_path.domain.heal.records import Action, Blocker
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList, Rank, Route
from tests.support.heal_situation import DUAL_STACK, EXPRESS_LIST_6, TO_NAT, blockers, evidence_of, network, planned
from tests.support.make import EXPRESS_LIST, REGION, endpoint, route

S3_LIST = PrefixList("pl-s3", f"com.amazonaws.{REGION}.s3", Family.IPV4, (parse_cidr("203.0.113.0/24"),) * 9)


def routes(quota: int) -> Evidence:
    """The account's quota of routes."""
    return Evidence(route_quota=replace(ROUTE_QUOTA, value=quota))


@pytest.mark.parametrize(
    ("there", "quota", "blocked"), [(19, 20, False), (20, 20, True), (21, 20, True), (20, 21, False)]
)
def test_endpoint_quota_blocks_one_more(there: int, quota: int, blocked: bool) -> None:
    """ENDPOINT_QUOTA: as many gateway endpoints in the Region as the quota allows, or more."""
    plan = planned(network(), Evidence(gateway_endpoints=there, endpoint_quota=Quota("L-1B52E74A", quota)))
    assert blockers(plan) == [Blocker.ENDPOINT_QUOTA] * blocked
    if blocked:
        assert (
            evidence_of(plan, Blocker.ENDPOINT_QUOTA)
            == f"the Region has {there} gateway endpoints; the quota is {quota}"
        )


def test_endpoint_quota_does_not_matter_where_none_is_made() -> None:
    """An endpoint that is there already takes no further place."""
    plan = planned(network(endpoints=(endpoint(),)), Evidence(gateway_endpoints=20))
    assert (plan.action, plan.blockers) == (Action.ASSOCIATE, ())


def filled(number: int, *others: Route, ipv6: bool = False) -> tuple[Route, ...]:
    """So many routes to single addresses, the way to the NAT gateway among them."""
    singles = [
        f"2001:db8:ffff::{host:x}/128" if ipv6 else f"10.0.{host >> 8}.{host & 255}/32" for host in range(number)
    ]
    return (TO_NAT, *(route(destination, "pcx-1") for destination in singles[int(not ipv6) :]), *others)


@pytest.mark.parametrize(("there", "blocked"), [(494, False), (495, True)])
def test_route_quota_counts_six_for_the_prefix_list(there: int, blocked: bool) -> None:
    """ROUTE_QUOTA: the s3express prefix list has weight 6, so 494 of 500 routes leave just enough room."""
    plan = planned(network(*filled(there)))
    assert blockers(plan) == [Blocker.ROUTE_QUOTA] * blocked
    if blocked:
        assert evidence_of(plan, Blocker.ROUTE_QUOTA).startswith("rtb-1 has 495 IPv4 routes, and")


def test_route_quota_may_be_raised() -> None:
    """If AWS raised the account's quota, the raised value applies."""
    assert planned(network(*filled(900)), routes(1000)).blockers == ()


def test_quota_that_could_not_be_read_says_so() -> None:
    """The blocker says that AWS's default counts, and why."""
    quota = replace(ENDPOINT_QUOTA, fault="the call was denied")
    plan = planned(network(), Evidence(gateway_endpoints=20, endpoint_quota=quota))
    told = evidence_of(plan, Blocker.ENDPOINT_QUOTA)
    assert told.endswith("the quota is 20 (AWS's default, because the call was denied)")


@pytest.mark.parametrize(("there", "expected"), [(494, False), (495, True)])
@pytest.mark.parametrize("ipv6", [False, True])
def test_quota_is_needed_if_the_default_could_be_exceeded(there: int, expected: bool, ipv6: bool) -> None:
    """No quota is lower than AWS's default, so below it, the account's own value does not matter."""
    found = network(*filled(there, ipv6=ipv6))
    assert needs_more_routes_than_default(found, found.route_tables["rtb-1"]) is expected


def test_route_quota_leaves_propagated_routes_out() -> None:
    """Propagated routes have a separate quota."""
    learned = route("192.168.0.0/16", "vgw-1", rank=Rank.PROPAGATED)
    assert planned(network(*filled(494, learned))).blockers == ()


def test_route_quota_counts_each_family_apart() -> None:
    """IPv6 routes take no IPv4 place."""
    assert planned(network(*filled(499, ipv6=True))).blockers == ()
    both = network(*filled(499, ipv6=True), subnets=(DUAL_STACK,), lists=(EXPRESS_LIST, EXPRESS_LIST_6))
    plan = planned(both)
    assert blockers(plan) == [Blocker.ROUTE_QUOTA]
    assert "IPv6" in evidence_of(plan, Blocker.ROUTE_QUOTA)


def test_other_services_lists_count_for_one() -> None:
    """The lists of S3 and DynamoDB have weight 1, however many entries they have."""
    lists = (EXPRESS_LIST, S3_LIST)
    assert planned(network(*filled(493, route("pl-s3", "vpce-s3")), lists=lists)).blockers == ()
    assert blockers(planned(network(*filled(494, route("pl-s3", "vpce-s3")), lists=lists))) == [Blocker.ROUTE_QUOTA]


def test_list_of_the_other_family_takes_no_place() -> None:
    """An IPv6 list's entries are IPv6 routes."""
    lists = (EXPRESS_LIST, replace(EXPRESS_LIST_6, id="pl-6", aws_owned=False))
    assert planned(network(*filled(494, route("pl-6", "pcx-1")), lists=lists)).blockers == ()


def test_customer_list_counts_with_its_maximum() -> None:
    """A customer's prefix list takes as many places as its maximum number of entries, not as it has entries now.

    https://docs.aws.amazon.com/vpc/latest/userguide/managed-prefix-lists.html
    """
    own = PrefixList("pl-own", "own", EXPRESS_LIST.family, (parse_cidr("10.0.0.0/8"),), aws_owned=False)
    own = replace(own, max_entries=100)  # type: ignore[call-arg]
    found = network(TO_NAT, route("pl-own", "pcx-1"), lists=(EXPRESS_LIST, own))
    assert blockers(planned(found, routes(106))) == [Blocker.ROUTE_QUOTA]
    assert blockers(planned(found, routes(107))) == []


def test_list_that_the_table_has_already_is_not_counted_twice() -> None:
    """Associating an associated table takes no further place."""
    found = network(
        TO_NAT, route("pl-express", "vpce-express"), route("198.51.100.9/32", "nat-1"), endpoints=(endpoint(),)
    )
    assert blockers(planned(found, routes(8))) == [Blocker.MORE_SPECIFIC_ROUTE]


def test_endpoints_that_are_gone_do_not_count_against_the_quota() -> None:
    """One that is being deleted still does."""
    assert not counts_against_quota("Deleted")
    assert counts_against_quota("deleting")
