"""Paths through a transit gateway: which table, which zone, and what counts as certain."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations

import pytest

from express_path.domain.network.addresses import parse_cidr
from express_path.domain.network.merging import merged
from express_path.domain.network.resources import (
    NetworkInterface,
    PolicyEntry,
    Rank,
    TransitGatewayAttachment,
    TransitGatewayPolicyTable,
    TransitGatewayRouteTable,
)
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import by_id, endpoint, firewalls, route, snapshot, subnet, table, verdict_on

SPOKE = TransitGatewayAttachment("tgw-attach-1", "tgw-1", "vpc", "vpc-1", route_table_id="tgw-rtb-1")
EGRESS = TransitGatewayAttachment("tgw-attach-2", "tgw-1", "vpc", "vpc-2", subnet_ids=("subnet-2a", "subnet-2b"))
TO_EGRESS = TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-2"),))
TO_NAT, TO_VPN, TO_NOTHING = (route("0.0.0.0/0", "nat-1"),), (route("0.0.0.0/0", "vgw-1"),), ()


def hub(*, first: tuple = TO_NAT, second: tuple = TO_NAT, spoke: object = SPOKE, egress: object = EGRESS) -> Snapshot:
    """A spoke whose default route leads through a transit gateway to vpc-2, with a table of its own in either zone."""
    return snapshot(
        subnets=by_id(
            subnet(availability_zone_id="use1-az1"),
            subnet("subnet-2a", "vpc-2", availability_zone_id="use1-az1"),
            subnet("subnet-2b", "vpc-2", availability_zone_id="use1-az2"),
        ),
        route_tables=by_id(
            table("rtb-1", route("0.0.0.0/0", "tgw-1"), subnets=("subnet-1",)),
            table("rtb-2a", *first, subnets=("subnet-2a",), vpc_id="vpc-2"),
            table("rtb-2b", *second, subnets=("subnet-2b",), vpc_id="vpc-2"),
        ),
        transit_gateway_attachments=by_id(spoke, egress),
        transit_gateway_route_tables=by_id(TO_EGRESS),
    )


def test_an_attachment_without_a_type_may_be_that_of_a_vpc() -> None:
    """A NAT beyond it stays one. Without a NAT, the path is unknown."""
    untyped = replace(EGRESS, resource_type="", subnet_ids=("subnet-2a",))
    assert verdict_on(hub(egress=untyped)).reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert verdict_on(hub(egress=untyped, first=TO_NOTHING)).reason == "UNRESOLVED_EGRESS"


UNRESOLVED = {
    "attachments unreadable": replace(hub(), transit_gateway_attachments=None),
    "route tables unreadable": replace(hub(), transit_gateway_route_tables=None),
    "no attachment of this VPC": hub(spoke=replace(SPOKE, resource_id="vpc-3")),
    "attachment being deleted": hub(spoke=replace(SPOKE, state="deleting")),
    "association unreadable": hub(spoke=replace(SPOKE, route_table_id=None)),
    "table not listed": hub(spoke=replace(SPOKE, route_table_id="tgw-rtb-9")),
    "truncated search": replace(hub(), transit_gateway_route_tables=by_id(replace(TO_EGRESS, truncated=True))),
    "next attachment not listed": replace(hub(), transit_gateway_attachments=by_id(SPOKE)),
    "a VPN attachment": hub(egress=replace(EGRESS, resource_type="vpn")),
    "next attachment being made": hub(egress=replace(EGRESS, state="pending")),
    "subnets unreadable": hub(egress=replace(EGRESS, subnet_ids=None)),
    "a subnet not listed": hub(egress=replace(EGRESS, subnet_ids=("subnet-9",))),
    "back to where it came from": hub(egress=replace(EGRESS, resource_id="vpc-1", subnet_ids=("subnet-1",))),
    "an internet gateway beyond": hub(first=(route("0.0.0.0/0", "igw-1"),)),
}


@pytest.mark.parametrize("network", UNRESOLVED.values(), ids=UNRESOLVED)
def test_what_cannot_be_followed_is_unresolved(network: Snapshot) -> None:
    """Every gap on the way through a transit gateway is said, never guessed."""
    verdict = verdict_on(network)
    assert verdict.reason == "UNRESOLVED_EGRESS"
    assert verdict.path[0].id == "tgw-1"
    assert "(" in verdict.annotation


@pytest.mark.parametrize(
    ("target_id", "note"),
    [
        ("", "somebody made this route of the transit gateway a blackhole; delete it, or replace it"),
        ("tgw-attach-2", "blackhole: its target does not exist any more, or is not attached"),
    ],
)
def test_a_blackhole_of_a_transit_gateway_says_where_it_comes_from(target_id: str, note: str) -> None:
    """A blackhole that somebody made has no attachment; one whose attachment was deleted still names it."""
    blackhole = replace(route("0.0.0.0/0", "tgw-attach-2", state="blackhole"), target_id=target_id)
    tables = by_id(TransitGatewayRouteTable("tgw-rtb-1", (blackhole,)))
    verdict = verdict_on(replace(hub(), transit_gateway_route_tables=tables))
    assert verdict.reason == "DROPPED"
    assert verdict.note.startswith(note)


NAT, VPN = "tgw-attach-2", "tgw-attach-3"


@pytest.mark.parametrize(
    ("routes", "reason"),
    [
        ([(NAT, Rank.SYSTEM)], "NAT_BEYOND_TRANSIT_GATEWAY"),
        ([(NAT, Rank.SYSTEM), (VPN, Rank.STATIC)], "NAT_BEYOND_TRANSIT_GATEWAY"),
        ([(NAT, Rank.SYSTEM), (VPN, Rank.PROPAGATED)], "NAT_BEYOND_TRANSIT_GATEWAY"),
        ([(NAT, Rank.STATIC), (VPN, Rank.SYSTEM)], "NAT_BEYOND_TRANSIT_GATEWAY"),
        ([(NAT, Rank.PROPAGATED), (VPN, Rank.SYSTEM)], "NAT_BEYOND_TRANSIT_GATEWAY"),
        ([(NAT, Rank.PROPAGATED), (VPN, Rank.STATIC)], "UNRESOLVED_EGRESS"),
        ([(NAT, Rank.PROPAGATED), (VPN, Rank.STATIC), (VPN, Rank.SYSTEM)], "UNRESOLVED_EGRESS"),
    ],
)
def test_a_system_route_ties_with_static_and_propagated_routes(routes: list[tuple[str, Rank]], reason: str) -> None:
    """AWS documents no order for it, so each of them counts; a static route still wins over a propagated one."""
    network = hub()
    vpn = replace(EGRESS, id=VPN, resource_type="vpn", subnet_ids=None)
    for ordered in permutations(routes):
        equal = tuple(route("0.0.0.0/0", target, rank=rank) for target, rank in ordered)
        found = replace(
            network,
            transit_gateway_attachments={**(network.transit_gateway_attachments or {}), VPN: vpn},
            transit_gateway_route_tables=by_id(TransitGatewayRouteTable("tgw-rtb-1", equal)),
        )
        assert verdict_on(found).reason == reason


COVERED = replace(SPOKE, subnet_ids=("subnet-1",))
LEFT_OUT = replace(SPOKE, subnet_ids=("subnet-1b",))


def spoke_zones(zone: str, other: str, spoke: TransitGatewayAttachment) -> Snapshot:
    """The hub, with the spoke's subnet in a zone and another one of the spoke VPC, subnet-1b, in another zone."""
    network = hub(spoke=spoke)
    zones = by_id(subnet(availability_zone_id=zone), subnet("subnet-1b", availability_zone_id=other))
    return replace(network, subnets={**network.subnets, **zones})


def test_a_zone_without_an_attachment_subnet_is_dropped() -> None:
    """Whatever the transit gateway's routes are, and whether they can be read; the annotation says what to add."""
    assert verdict_on(spoke_zones("use1-az1", "use1-az2", COVERED)).reason == "NAT_BEYOND_TRANSIT_GATEWAY"
    network = spoke_zones("use1-az1", "use1-az2", LEFT_OUT)
    for routes in (network.transit_gateway_route_tables, None):
        verdict = verdict_on(replace(network, transit_gateway_route_tables=routes))
        assert (verdict.compliance, verdict.reason) == ("NOT_APPLICABLE", "DROPPED")
        assert "add a subnet in use1-az1 to tgw-attach-1" in verdict.annotation


@pytest.mark.parametrize(
    ("zone", "other", "subnet_ids"),
    [
        ("use1-az1", "use1-az2", ("subnet-1b", "subnet-unlisted")),
        ("use1-az1", "", ("subnet-1b",)),
        ("use1-bos1-az1", "use1-az2", ("subnet-1b",)),
        ("use1-wl1-bos-wlz1", "use1-az2", ("subnet-1b",)),
        ("", "use1-az2", ("subnet-1b",)),
        ("use1-az1", "use1-az2", None),
    ],
    ids=[
        "subnet not listed",
        "zone not known",
        "Local Zone",
        "Wavelength Zone",
        "own zone not known",
        "subnets unread",
    ],
)
def test_a_zone_that_may_be_covered_is_not_dropped(zone: str, other: str, subnet_ids: tuple | None) -> None:
    """A drop is certain only if all the attachment's subnets are known and the zone is an Availability Zone."""
    network = spoke_zones(zone, other, replace(SPOKE, subnet_ids=subnet_ids))
    assert verdict_on(network).reason == "NAT_BEYOND_TRANSIT_GATEWAY"


def test_an_attachment_that_is_not_available_is_named_with_its_state() -> None:
    """A VPC whose attachment is being modified has one, so the sentence must not say that none is listed."""
    modifying = replace(SPOKE, state="modifying")
    network = spoke_zones("use1-az1", "use1-az1", modifying)
    verdict = verdict_on(network)
    assert verdict.reason == "UNRESOLVED_EGRESS"
    assert verdict.note == f"the state of {modifying.id} is modifying, not available"
    second = replace(SPOKE, id="tgw-attach-zz")
    attachments = {**(network.transit_gateway_attachments or {}), second.id: second}
    assert verdict_on(replace(network, transit_gateway_attachments=attachments)).reason == "NAT_BEYOND_TRANSIT_GATEWAY"


BY_POLICY = replace(SPOKE, route_table_id=None, policy_table_id="tgw-ptb-1")
LEADS_NOWHERE = replace(hub(), transit_gateway_route_tables=by_id(replace(TO_EGRESS, routes=())))
DISAGREEMENTS = {
    "a policy table decides, or a route table to a NAT": (
        "NAT_BEYOND_TRANSIT_GATEWAY",
        hub(spoke=BY_POLICY),
        hub(),
    ),
    "a policy table decides, or a route table that leads nowhere": (
        "UNRESOLVED_EGRESS",
        replace(LEADS_NOWHERE, transit_gateway_attachments=by_id(BY_POLICY, EGRESS)),
        LEADS_NOWHERE,
    ),
    "a search that is whole, or not": (
        "UNRESOLVED_EGRESS",
        replace(hub(), transit_gateway_route_tables=by_id(replace(TO_EGRESS, routes=(), truncated=True))),
        LEADS_NOWHERE,
    ),
}


@pytest.mark.parametrize(("reason", "one", "other"), DISAGREEMENTS.values(), ids=DISAGREEMENTS)
def test_accounts_disagree_about_what_decides(reason: str, one: Snapshot, other: Snapshot) -> None:
    """Each description counts, and the worst result is reported."""
    for first, second in ((one, other), (other, one)):
        assert verdict_on(merged([first, replace(second, account_id="444455556666")])).reason == reason


def test_account_that_sees_no_association_takes_that_of_another_one() -> None:
    """Only the owner of a transit gateway sees associations, whether with a route table or with a policy table."""
    spoke_owner = hub(spoke=replace(SPOKE, route_table_id=None))
    for seen, reason in ((hub(), "NAT_BEYOND_TRANSIT_GATEWAY"), (hub(spoke=BY_POLICY), "UNRESOLVED_EGRESS")):
        assert verdict_on(merged([spoke_owner, replace(seen, account_id="444455556666")])).reason == reason


# --- policy tables ---------------------------------------------------------------------------------------------------

SOURCE, OTHER_SOURCE = parse_cidr("10.0.0.0/24"), parse_cidr("10.9.0.0/24")
PART = parse_cidr("10.0.0.128/25")
ADDRESSES, HALF = parse_cidr("198.51.100.0/24"), parse_cidr("198.51.100.0/25")
TO_THE_NAT, TO_NO_ROUTE = "tgw-rtb-1", "tgw-rtb-empty"
NAT_FIRST, NONE_LEFT, UNKNOWN = "NAT_BEYOND_TRANSIT_GATEWAY", "DROPPED", "UNRESOLVED_EGRESS"
EVERYTHING = PolicyEntry(100, TO_NO_ROUTE)
ENTRIES = {
    "the lowest number that matches": ("NO_ROUTE", [PolicyEntry(2, TO_THE_NAT), PolicyEntry(1, TO_NO_ROUTE)]),
    "no entry": (NONE_LEFT, []),
    "no entry that matches": (NONE_LEFT, [PolicyEntry(1, TO_THE_NAT, source=OTHER_SOURCE)]),
    "another source": ("NO_ROUTE", [PolicyEntry(1, TO_THE_NAT, source=OTHER_SOURCE), EVERYTHING]),
    "its source": (NAT_FIRST, [PolicyEntry(1, TO_THE_NAT, source=SOURCE), EVERYTHING]),
    "a part of its source": (NAT_FIRST, [PolicyEntry(1, TO_THE_NAT, source=PART), EVERYTHING]),
    "a part of its source, and no other": (NONE_LEFT, [PolicyEntry(1, TO_NO_ROUTE, source=PART)]),
    "its destination": (NAT_FIRST, [PolicyEntry(1, TO_THE_NAT, destination=ADDRESSES), EVERYTHING]),
    "a part of its destination": (NAT_FIRST, [PolicyEntry(1, TO_THE_NAT, destination=HALF), EVERYTHING]),
    "a part of its destination first": (
        NAT_FIRST,
        [PolicyEntry(1, TO_NO_ROUTE, destination=HALF), PolicyEntry(2, TO_THE_NAT)],
    ),
    "another destination": ("NO_ROUTE", [PolicyEntry(1, TO_THE_NAT, destination=SOURCE), EVERYTHING]),
    "another family": ("NO_ROUTE", [PolicyEntry(1, TO_THE_NAT, source=parse_cidr("::/0")), EVERYTHING]),
    "what may match": (NAT_FIRST, [PolicyEntry(1, TO_THE_NAT, is_certain=False), EVERYTHING]),
    "what may match before": (NAT_FIRST, [PolicyEntry(1, TO_NO_ROUTE, is_certain=False), PolicyEntry(2, TO_THE_NAT)]),
    "what AWS manages": (NAT_FIRST, [PolicyEntry(None, TO_THE_NAT), EVERYTHING]),
    "what AWS manages and nothing else": (NONE_LEFT, [PolicyEntry(None, TO_NO_ROUTE)]),
    "a table that cannot be read": (UNKNOWN, [PolicyEntry(1, "tgw-rtb-9")]),
    "a target that is not shown": (UNKNOWN, [PolicyEntry(1, "")]),
}


def by_policy(entries: Iterable[PolicyEntry], *, blocks: tuple[str, ...] = ("10.0.0.0/24",)) -> Snapshot:
    """The hub, whose spoke has a policy table in place of a route table."""
    network = hub(spoke=BY_POLICY)
    tables = by_id(TO_EGRESS, TransitGatewayRouteTable(TO_NO_ROUTE))
    return replace(
        network,
        subnets={**network.subnets, **by_id(subnet(availability_zone_id="use1-az1", blocks=blocks))},
        transit_gateway_route_tables=tables,
        transit_gateway_policy_tables=by_id(TransitGatewayPolicyTable("tgw-ptb-1", tuple(entries))),
    )


@pytest.mark.parametrize(("reason", "entries"), ENTRIES.values(), ids=ENTRIES)
def test_first_entry_that_matches_decides(reason: str, entries: list[PolicyEntry]) -> None:
    """Every entry that may match counts, up to the first that certainly does."""
    for ordered in (entries, entries[::-1]):
        assert verdict_on(by_policy(ordered)).reason == reason


@pytest.mark.parametrize("blocks", [(), ("10.0.0.0/24", "10/8"), ("2001:db8::/64",)])
def test_source_that_is_not_known_may_match(blocks: tuple[str, ...]) -> None:
    """A source may be missing, or have a new form."""
    entries = [PolicyEntry(1, TO_THE_NAT, source=OTHER_SOURCE), EVERYTHING]
    assert verdict_on(by_policy(entries, blocks=blocks)).reason == NAT_FIRST
    assert verdict_on(by_policy([PolicyEntry(1, TO_NO_ROUTE, source=SOURCE)], blocks=blocks)).reason == NONE_LEFT


def test_policy_table_that_cannot_be_read_is_named() -> None:
    """The annotation says which policy table it is, and what would show its entries."""
    verdict = verdict_on(replace(by_policy([]), transit_gateway_policy_tables=None))
    assert verdict.reason == UNKNOWN
    assert "policy table tgw-ptb-1 decides" in verdict.annotation
    assert verdict.lacks == "ec2:GetTransitGatewayPolicyTableEntries"
    assert verdict.lacks in verdict.annotation


def test_accounts_disagree_about_a_policy_table() -> None:
    """Each description of its entries counts."""
    one, other = by_policy([PolicyEntry(1, TO_THE_NAT)]), by_policy([PolicyEntry(1, TO_NO_ROUTE)])
    for first, second in ((one, other), (other, one)):
        assert verdict_on(merged([first, replace(second, account_id="444455556666")])).reason == NAT_FIRST


FORWARDING = NetworkInterface("eni-1", "subnet-f", source_dest_check=False)
LOAD_BALANCER = endpoint("vpce-1", endpoint_type="gatewayloadbalancer", service_name="", subnet_ids=("subnet-f",))
APPLIANCES = {
    "an interface": ("eni-1", {"network_interfaces": by_id(FORWARDING)}, NAT_FIRST),
    "a Gateway Load Balancer": ("vpce-1", {"vpc_endpoints": by_id(LOAD_BALANCER)}, NAT_FIRST),
    "a firewall": (
        "vpce-1",
        {"vpc_endpoints": by_id(LOAD_BALANCER), "firewalls": firewalls("vpce-1")},
        "NO_ROUTE",
    ),
}


@pytest.mark.parametrize(("target", "more", "reason"), APPLIANCES.values(), ids=APPLIANCES)
def test_only_a_firewall_keeps_the_source(target: str, more: dict, reason: str) -> None:
    """Any other appliance may translate it, so that an entry for the subnet's own addresses may not match."""
    network = by_policy([PolicyEntry(1, TO_NO_ROUTE, source=SOURCE), PolicyEntry(2, TO_THE_NAT)])
    assert verdict_on(network).reason == "NO_ROUTE"
    tables = by_id(
        table("rtb-1", route("0.0.0.0/0", target), subnets=("subnet-1",)),
        table("rtb-f", route("0.0.0.0/0", "tgw-1"), subnets=("subnet-f",)),
    )
    behind = replace(
        network,
        subnets={**network.subnets, **by_id(subnet("subnet-f", availability_zone_id="use1-az1"))},
        route_tables={**network.route_tables, **tables},
        **more,
    )
    assert verdict_on(behind).reason == reason
