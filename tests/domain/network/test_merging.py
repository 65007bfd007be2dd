"""One network out of what several accounts see."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from random import Random

import pytest
from hypothesis import given, settings

from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.merging import merged
from express_path.domain.network.resources import (
    BlockMode,
    NatGateway,
    NetworkInterface,
    PrefixList,
    TransitGatewayRouteTable,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.drawing import SEEDS
from tests.support.make import EXPRESS_LIST, by_id, endpoint, firewalls, route, snapshot, subnet, table, verdict_on
from tests.support.random_networks import ACCOUNT, NEIGHBOUR, SUBNETS, parameters, partly, snapshots

OWNERS = {"vpc-a": ACCOUNT, "vpc-b": NEIGHBOUR}


def owned(whole: Snapshot) -> Snapshot:
    """The same network, with each VPC and its resources in a separate account."""
    of_vpc = lambda resource: replace(resource, owner_id=OWNERS[resource.vpc_id])  # noqa: E731  # two short functions
    return replace(
        whole,
        vpcs={key: replace(vpc, owner_id=OWNERS[key]) for key, vpc in whole.vpcs.items()},
        subnets={key: of_vpc(subnet) for key, subnet in whole.subnets.items()},
        route_tables={key: of_vpc(table) for key, table in whole.route_tables.items()},
    )


def view(whole: Snapshot, vpc_id: str) -> Snapshot:
    """What the owner of a VPC sees of the whole; the transit gateway belongs to the owner of vpc-b."""
    of_vpc = lambda records: {key: record for key, record in records.items() if record.vpc_id == vpc_id}  # noqa: E731  # two short functions
    subnets, hub = of_vpc(whole.subnets), vpc_id == "vpc-b"
    interfaces, attachments = whole.network_interfaces, whole.transit_gateway_attachments
    return replace(
        whole,
        account_id=OWNERS[vpc_id],
        vpcs={vpc_id: whole.vpcs[vpc_id]},
        subnets=subnets,
        route_tables=of_vpc(whole.route_tables),
        vpc_endpoints=of_vpc(whole.vpc_endpoints),
        nat_gateways=of_vpc(whole.nat_gateways),
        network_interfaces=interfaces
        and {key: interface for key, interface in interfaces.items() if interface.subnet_id in subnets},
        transit_gateway_attachments=attachments
        and {
            key: attachment
            if attachment.resource_id == vpc_id and hub
            else replace(attachment, route_table_id=None)
            if attachment.resource_id == vpc_id
            else replace(attachment, subnet_ids=None, appliance_mode=False)
            for key, attachment in attachments.items()
            if hub or attachment.resource_id == vpc_id
        },
        transit_gateway_route_tables=whole.transit_gateway_route_tables if hub else None,
    )


def verdicts(network: Snapshot, rule: RuleParameters) -> list[Verdict]:
    """Every verdict on every subnet, for both accounts."""
    evaluators = [Evaluator(Tracer(network), rule, Account(owner, True)) for owner in OWNERS.values()]
    return [evaluator.verdict(subnet_id) for evaluator in evaluators for subnet_id in SUBNETS]


@pytest.mark.no_cover
@settings(max_examples=150)
@given(seed=SEEDS)
def test_two_accounts_views_make_the_whole(seed: int) -> None:
    """The merged views of both owners, in either order, give the same verdicts as the whole network."""
    random = Random(seed)
    whole, rule = owned(snapshots()(random)), parameters()(random)
    views = [view(whole, "vpc-a"), view(whole, "vpc-b")]
    assert verdicts(merged(views), rule) == verdicts(merged(views[::-1]), rule) == verdicts(whole, rule)


def test_the_owners_description_counts() -> None:
    """A participant of a shared VPC does not see the owner's tags."""
    own = subnet(owner_id=NEIGHBOUR, tags={"seen": "by its owner"})
    views = [
        snapshot(subnets=by_id(replace(own, tags={}))),
        replace(snapshot(subnets=by_id(own)), account_id=NEIGHBOUR),
    ]
    assert merged(views).subnets == merged(views[::-1]).subnets == by_id(own)


def test_the_subnets_of_others_are_told_apart() -> None:
    """Paths may lead through subnets of other accounts, but the account does not evaluate them."""
    views = [
        snapshot(subnets=by_id(subnet("subnet-1"), subnet("subnet-2"))),
        snapshot(subnets=by_id(subnet("subnet-2"), subnet("subnet-3"))),
    ]
    network = merged(views)
    assert network.foreign_subnet_ids == {"subnet-3"}
    assert [subnet.id for subnet in network.own_subnets] == ["subnet-1", "subnet-2"]


def test_a_table_that_another_account_lists_is_listed() -> None:
    """A participant sees only the tables of the subnets that are shared with it; the owner's endpoint names others."""
    shared, rest = table("rtb-1", subnets=("subnet-1",)), table("rtb-0", route("pl-express", "vpce-express"), main=True)
    named = by_id(endpoint(route_table_ids=("rtb-0", "rtb-1")))
    owner = snapshot(subnets=by_id(subnet("subnet-2")), route_tables=by_id(shared, rest), vpc_endpoints=named)
    participant = replace(owner, account_id=NEIGHBOUR, route_tables=by_id(shared), vpc_endpoints={})
    for views in ([owner, participant], [participant, owner]):
        assert verdict_on(replace(merged(views), account_id=ACCOUNT), "subnet-2").reason == "ENDPOINT"


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_that_one_account_can_read_is_read(order: int) -> None:
    """Only the owner of a customer's list can read its entries."""
    hidden = replace(EXPRESS_LIST, cidrs=None)
    views = [snapshot(prefix_lists=by_id(hidden)), snapshot()][::order]
    assert merged(views).prefix_lists == by_id(EXPRESS_LIST)


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_that_one_account_describes_is_known_by_name(order: int) -> None:
    """An account that may not describe lists reads only the entries; the other account's name of the list is kept."""
    nameless = replace(EXPRESS_LIST, name="", aws_owned=False)
    views = [snapshot(prefix_lists=by_id(nameless)), snapshot()][::order]
    assert merged(views).prefix_lists == by_id(EXPRESS_LIST)


def test_one_account_shows_a_firewall_and_another_its_endpoint_there() -> None:
    """The endpoints that two accounts know of one firewall are added up."""
    views = [snapshot(firewalls=firewalls("vpce-1")), snapshot(firewalls=firewalls("vpce-2")), snapshot()]
    [merged_firewall] = (merged(views).firewalls or {}).values()
    assert merged_firewall.endpoint_ids == ("vpce-1", "vpce-2")


def test_each_description_of_an_interface_is_kept() -> None:
    """A participant's interface is listed by the owner of the VPC, too, maybe before its check was disabled."""
    seen = NetworkInterface("eni-1", "subnet-1", source_dest_check=False)
    earlier = replace(seen, source_dest_check=True)
    network = merged([snapshot(network_interfaces=by_id(each)) for each in (seen, earlier)])
    assert network.network_interfaces == by_id(seen)
    assert network.versions_of(seen) == (seen, earlier)


def test_what_no_account_can_read_stays_unreadable() -> None:
    """Resources that no account can read stay None instead of becoming empty."""
    network = merged([snapshot(), snapshot()])
    assert network.network_interfaces is None
    assert network.transit_gateway_attachments is None
    assert network.transit_gateway_route_tables is None
    assert merged([snapshot(), snapshot(network_interfaces={})]).network_interfaces == {}


TO_ENDPOINT, TO_NAT = route("pl-express", "vpce-express"), route("0.0.0.0/0", "nat-1")


def seen_by_two(ours: dict, theirs: dict) -> Snapshot:
    """Return the network of two accounts that both list subnet-1 and its table, with an endpoint."""
    shared = {
        "subnets": by_id(subnet()),
        "route_tables": by_id(table("rtb-1", TO_ENDPOINT, main=True)),
        "vpc_endpoints": by_id(endpoint()),
    }
    return merged([snapshot(**{**shared, **ours}), replace(snapshot(**{**shared, **theirs}), account_id=NEIGHBOUR)])


NAT_TABLE = by_id(table("rtb-1", TO_NAT, main=True))
IN_CLOSED = {"subnets": by_id(subnet(), subnet("subnet-2", block_mode=BlockMode.BIDIRECTIONAL))}
CLOSED_TABLES = by_id(
    table("rtb-1", TO_NAT, subnets=("subnet-1",)), table("rtb-0", route("0.0.0.0/0", "igw-1"), main=True)
)
ZONAL = NatGateway("nat-1", "vpc-1", "subnet-2")
CLOSED_NAT = {**IN_CLOSED, "route_tables": CLOSED_TABLES, "nat_gateways": by_id(ZONAL)}
REGIONAL = NatGateway("nat-2", "vpc-1", availability_mode="regional", route_table_id="rtb-unlisted")
CONFLICT = by_id(*(table(table_id, TO_ENDPOINT, subnets=("subnet-1",)) for table_id in ("rtb-2", "rtb-3")))


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ({}, {}, "ENDPOINT"),
        ({}, {"route_tables": NAT_TABLE}, "NAT_GATEWAY"),
        ({}, {"route_tables": CONFLICT}, "UNRESOLVED_EGRESS"),
        ({}, {"nat_gateways": by_id(REGIONAL)}, "UNRESOLVED_EGRESS"),
        ({"route_tables": NAT_TABLE}, {"nat_gateways": by_id(REGIONAL)}, "NAT_GATEWAY"),
        ({}, {"vpc_endpoints": by_id(endpoint(state="deleting"))}, "UNRESOLVED_EGRESS"),
        (CLOSED_NAT, CLOSED_NAT, "DROPPED"),
        (CLOSED_NAT, {**CLOSED_NAT, "nat_gateways": by_id(replace(ZONAL, connectivity="private"))}, "NAT_GATEWAY"),
        (CLOSED_NAT, {**CLOSED_NAT, "nat_gateways": by_id(replace(ZONAL, subnet_id="subnet-9"))}, "NAT_GATEWAY"),
        (CLOSED_NAT, {**CLOSED_NAT, "subnets": by_id(subnet(), subnet("subnet-2"))}, "NAT_GATEWAY"),
    ],
    ids=[
        "alike",
        "routes",
        "two tables",
        "a table that is not listed",
        "a table that only another account misses",
        "an endpoint's state",
        "alike and closed",
        "a NAT gateway's kind",
        "a NAT gateway's subnet",
        "a subnet's mode",
    ],
)
def test_the_worst_of_what_accounts_describe_counts(ours: dict, theirs: dict, reason: str) -> None:
    """It does not matter which of them the account itself sees."""
    for network in (seen_by_two(ours, theirs), seen_by_two(theirs, ours)):
        assert verdict_on(network).reason == reason


def test_a_verdict_says_about_what_accounts_disagree() -> None:
    """A reader then knows which copies to compare."""
    network = seen_by_two({}, {"route_tables": NAT_TABLE})
    assert verdict_on(network).note == "accounts describe rtb-1 differently, the worst counts"
    network = seen_by_two({}, {"route_tables": CONFLICT})
    assert verdict_on(network).note == "accounts disagree about its route table: rtb-1 or rtb-2 or rtb-3"


def test_many_lists_about_which_accounts_disagree() -> None:
    """There would be too many combinations; each description is followed with the least that the others have."""
    own = [PrefixList(f"pl-{n}", "own", Family.IPV4, (parse_cidr("10.0.0.0/8"),), aws_owned=False) for n in range(5)]
    more = replace(own[4], cidrs=(*(own[4].cidrs or ()), parse_cidr("198.51.100.7/32")))
    views = [own, [*(replace(each, cidrs=()) for each in own[:4]), more]]
    tables = by_id(table("rtb-1", TO_ENDPOINT, *(route(each.id, f"nat-{each.id}") for each in own), main=True))
    parts = [{"prefix_lists": by_id(EXPRESS_LIST, *lists), "route_tables": tables} for lists in views]
    verdict = verdict_on(seen_by_two(*parts))
    assert (verdict.reason, verdict.path[0].id) == ("PARTLY_NAT", "nat-pl-4")


def test_an_instance_whose_interfaces_accounts_describe_differently() -> None:
    """Each interface that may be its primary one counts, up to one about which they agree."""
    forwarding = NetworkInterface("eni-1", "subnet-2", source_dest_check=False, instance_id="i-1", device_index=0)
    checked = NetworkInterface("eni-2", "subnet-2", source_dest_check=True, instance_id="i-1", device_index=1)
    tables = by_id(
        table("rtb-1", route("0.0.0.0/0", "i-1"), subnets=("subnet-1",)),
        table("rtb-0", route("0.0.0.0/0", "igw-1"), main=True),
    )
    base = {"subnets": by_id(subnet(), subnet("subnet-2")), "route_tables": tables}
    moved = replace(forwarding, instance_id="i-2")
    for others in ([checked], []):
        parts = [{**base, "network_interfaces": by_id(each, *others)} for each in (forwarding, moved)]
        assert verdict_on(seen_by_two(*parts)).reason == "NAT_INSTANCE"


def test_what_accounts_see_differently_of_a_transit_gateway_is_kept() -> None:
    """Its route table, and a list that no account can read, which is the same for all."""
    tables = [TransitGatewayRouteTable("tgw-rtb-1", (route(block, "tgw-attach-1"),)) for block in ("0.0.0.0/0", "::/0")]
    hidden = replace(EXPRESS_LIST, id="pl-1", aws_owned=False, cidrs=None)
    parts = [
        {"transit_gateway_route_tables": by_id(each), "prefix_lists": by_id(hidden, EXPRESS_LIST)} for each in tables
    ]
    network = seen_by_two(*parts)
    assert network.versions_of(tables[0]) == tuple(tables)
    assert network.is_undisputed(network.prefix_lists["pl-1"])


def severity(verdict: Verdict) -> tuple[bool, int]:
    """Return the rank of a verdict, the worst first. PARTLY_NAT is any NAT: no other address may use the endpoint any more."""
    reason = Reason.NAT_BEYOND_TRANSIT_GATEWAY if verdict.reason is Reason.PARTLY_NAT else verdict.reason
    return verdict.compliance is not Compliance.NON_COMPLIANT, SEVERITY_ORDER[reason]


def ids_in(value: object) -> Iterator[str]:
    """Yield every id that a record contains."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        yield from chain.from_iterable(ids_in(getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, tuple | frozenset):
        yield from chain.from_iterable(map(ids_in, value))


READ_PER_ID = (
    *("subnets", "route_tables", "vpc_endpoints", "nat_gateways", "network_interfaces"),
    *("prefix_lists", "transit_gateway_attachments", "transit_gateway_route_tables"),
)


def names_what_only_others_list(before: Snapshot, others: Snapshot, subnet_id: str) -> bool:
    """Return whether a record on a subnet's path names an id that only the other account lists, or lists with its entries."""

    def listed(snapshot: Snapshot) -> dict[str, object]:
        records = {key: record for kind in READ_PER_ID for key, record in (getattr(snapshot, kind) or {}).items()}
        unread = [key for key, known in snapshot.prefix_lists.items() if known.cidrs is None]
        lacking = [
            key
            for key, known in (snapshot.transit_gateway_attachments or {}).items()
            if known.route_table_id is None or known.subnet_ids is None
        ]
        return {key: record for key, record in records.items() if key not in {*unread, *lacking}}

    own, foreign = listed(before), listed(others)
    tracer = Tracer(before)
    met = {subnet_id, *before.prefix_lists}
    for trace in tracer.traces_of(before.subnets[subnet_id]):
        met |= trace.consulted | {hop.id for traced in trace.results for each in traced.outcomes for hop in each.path}
    while True:
        named = {found for key in met & own.keys() for found in ids_in(own[key])}
        if named & (foreign.keys() - own.keys()):
            return True
        if named <= met:
            break
        met |= named
    table_is_unseen = not any(tracer.traces_of(before.subnets[subnet_id]))
    firewalls_differ = before.firewall_of_endpoint.keys() != others.firewall_of_endpoint.keys()
    return table_is_unseen or firewalls_differ or before.lists_ipv6_prefix_lists != others.lists_ipv6_prefix_lists


@pytest.mark.slow
@pytest.mark.no_cover
@settings(max_examples=400)
@given(seed=SEEDS)
def test_what_another_account_shows_makes_no_verdict_better(seed: int) -> None:
    """Unless a record on the path names an id that only the other account lists, so that the path was unknown."""
    random = Random(seed)
    snapshot, rule = snapshots()(random), parameters()(random)
    first = partly(snapshot, snapshots()(random), random)
    second = partly(snapshot, snapshots()(random), random)
    accounts = [snapshot, first, replace(second, account_id="777788889999")]
    for count in (1, 2):
        before, after = merged(accounts[:count]), merged(accounts[: count + 1])
        earlier, later = Evaluator(Tracer(before), rule), Evaluator(Tracer(after), rule)
        for subnet_id in SUBNETS:
            old, new = earlier.verdict(subnet_id), later.verdict(subnet_id)
            if not names_what_only_others_list(before, accounts[count], subnet_id):
                is_as_bad = new.reason is Reason.PARTLY_NAT or severity(new) <= severity(old)
                assert is_as_bad, (subnet_id, old, new)
