"""Blockers together: all at once, and some as warnings."""

from dataclasses import replace

import pytest

from express_path.domain.heal.preflight import Evidence, NetworkAcl, Policy, Quota
from express_path.domain.heal.records import MAY_WARN, Action, Blocker, HealSettings
from tests.support.heal_situation import NOW, TO_NAT, blockers, healed, network, planned
from tests.support.make import endpoint, route, subnet

SOURCE_IP = Policy("data--use1-az4--x-s3", '{"Statement":[{"Condition":{"IpAddress":{"aws:SourceIp":"192.0.2.1"}}}]}')
EVERYTHING = Evidence(
    group_sets=frozenset({frozenset({"sg-1"})}),
    network_acls=(NetworkAcl("acl-1", ()),),
    dns_support=False,
    policies=(SOURCE_IP,),
    gateway_endpoints=20,
    calendar_open=False,
)
TEAMS = [
    Blocker.SECURITY_GROUP_EGRESS,
    Blocker.NETWORK_ACL,
    Blocker.NETWORK_ACL,
    Blocker.SOURCE_IP_POLICY,
    Blocker.DNS_ATTRIBUTES,
]
"""What teams may turn into warnings, as EVERYTHING has it: the network ACL stops both ways."""


def test_all_blockers_are_named_at_once() -> None:
    """A plan reports all blockers at once, not one after another."""
    found = network(
        TO_NAT,
        route("198.51.100.9/32", "nat-1"),
        endpoints=(endpoint(state="deleting"),),
    )
    evidence = replace(EVERYTHING, route_quota=Quota("L-93826ACB", 7))
    plan = planned(found, evidence, ledger=healed(NOW.isoformat(), "vpce-gone"))
    assert plan.action is Action.BLOCKED
    assert blockers(plan) == [
        Blocker.MORE_SPECIFIC_ROUTE,
        Blocker.ENDPOINT_DELETING,
        Blocker.ENDPOINT_QUOTA,
        Blocker.ROUTE_QUOTA,
        Blocker.REVERTED_BY_OTHERS,
        *TEAMS,
        Blocker.CHANGE_CALENDAR_CLOSED,
    ]
    assert all(concern.evidence and concern.cure for concern in plan.blockers)


def test_blocked_plan_still_says_what_it_would_have_done() -> None:
    """The patch is for a person who wants to make the change anyway."""
    plan = planned(network(), Evidence(dns_support=False))
    assert (plan.action, plan.service_name, plan.ip_address_type) == (
        Action.BLOCKED,
        "com.amazonaws.us-east-1.s3express",
        "ipv4",
    )
    assert plan.patches


def test_four_blockers_may_be_warnings() -> None:
    """A team can turn blockers of security groups, network ACLs, policies, and DNS into warnings."""
    evidence = replace(EVERYTHING, endpoint_quota=Quota("L-1B52E74A", 21))
    plan = planned(network(), evidence, warn_only=frozenset(Blocker))
    assert [concern.blocker for concern in plan.warnings] == TEAMS
    assert blockers(plan) == [Blocker.CHANGE_CALENDAR_CLOSED]


@pytest.mark.parametrize("blocker", sorted(MAY_WARN))
def test_each_of_the_four_may_be_a_warning_by_itself(blocker: Blocker) -> None:
    """A team chooses each apart; the others block as before."""
    plan = planned(network(), EVERYTHING, warn_only=frozenset({blocker}))
    assert {concern.blocker for concern in plan.warnings} == {blocker}
    assert set(TEAMS) - {blocker} <= set(blockers(plan))
    assert blocker not in blockers(plan)


def test_dns_attributes_warn_by_default() -> None:
    """A gateway endpoint changes no DNS answer, and Terraform's aws_vpc leaves DNS host names off."""
    settings = HealSettings()
    plan = planned(network(), Evidence(dns_hostnames=False), warn_only=settings.warn_only)
    assert (blockers(plan), [concern.blocker for concern in plan.warnings]) == ([], [Blocker.DNS_ATTRIBUTES])


def test_plan_with_nothing_but_warnings_is_carried_out() -> None:
    """Warnings change nothing about the action."""
    evidence = Evidence(dns_support=False, policies=(SOURCE_IP,))
    plan = planned(network(), evidence, warn_only=MAY_WARN)
    assert (plan.action, len(plan.warnings)) == (Action.CREATE_AND_ASSOCIATE, 2)


@pytest.mark.parametrize("blocker", sorted(set(Blocker) - MAY_WARN))
def test_no_other_blocker_may_be_a_warning(blocker: Blocker) -> None:
    """The blockers of heals that would fail, or conflict with other changes, cannot become warnings."""
    found = network(
        TO_NAT,
        route("198.51.100.9/32", "nat-1"),
        endpoints=(endpoint(state="deleting"),),
    )
    asked, ledger = frozenset({blocker}), healed(NOW.isoformat(), "vpce-gone")
    expected = blockers(planned(found, EVERYTHING, ledger=ledger))
    assert blockers(planned(found, EVERYTHING, ledger=ledger, warn_only=asked)) == expected


def test_may_warn_are_the_four() -> None:
    """No fifth."""
    assert {blocker.value for blocker in MAY_WARN} == {
        "SECURITY_GROUP_EGRESS",
        "NETWORK_ACL",
        "SOURCE_IP_POLICY",
        "DNS_ATTRIBUTES",
    }


def test_closed_calendar_is_named_beside_what_is_decided_before_routing() -> None:
    """All blockers are listed at once, for a subnet that is excluded too."""
    plan = planned(network(subnets=(subnet(tags={"express-path:exclude": ""}),)), Evidence(calendar_open=False))
    assert blockers(plan) == [Blocker.EXCLUDED, Blocker.CHANGE_CALENDAR_CLOSED]


@pytest.mark.parametrize(("number", "listed"), [(10, 10), (11, 11), (1000, 11)])
def test_many_blockers_of_one_name_are_listed_briefly(number: int, listed: int) -> None:
    """Ten are listed, one more counts the rest, and blockers of other names are all listed."""
    sets = frozenset(frozenset({f"sg-{group}"}) for group in range(number))
    plan = planned(network(), Evidence(group_sets=sets, dns_support=False))
    assert blockers(plan) == [*[Blocker.SECURITY_GROUP_EGRESS] * listed, Blocker.DNS_ATTRIBUTES]
    if number > 10:
        assert plan.blockers[10].evidence == f"and {number - 10} more"
