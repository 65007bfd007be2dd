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
    AssociatedEndpoint,
    BlockMode,
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance
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
        others_with_ipv6_lists=frozenset({NEIGHBOUR} if whole.lists_ipv6_prefix_lists else ()),
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
            else replace(attachment, route_table_id=None, policy_table_id=None, shows_association=False)
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
    whole, rule = replace(owned(snapshots()(random)), has_several_accounts=True), parameters()(random)
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
    assert [subnet.id for subnet in network.listed_subnets] == ["subnet-1", "subnet-2"]


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
    associated = (AssociatedEndpoint("vpce-2", NEIGHBOUR),)
    views = [firewalls("vpce-1"), firewalls("vpce-1", associated=associated), None]
    [merged_firewall] = (merged([snapshot(firewalls=found) for found in views]).firewalls or {}).values()
    assert merged_firewall.named_endpoint_ids == {"vpce-1", "vpce-2"}


FIREWALL_ENDPOINT = endpoint("vpce-fw", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-2",), owner_id=ACCOUNT)
BEFORE_FIREWALL = {
    "subnets": by_id(subnet(), subnet("subnet-2")),
    "route_tables": by_id(
        table("rtb-1", route("0.0.0.0/0", "vpce-fw"), main=True),
        table("rtb-2", route("pl-express", "vpce-express"), subnets=("subnet-2",)),
    ),
    "vpc_endpoints": by_id(FIREWALL_ENDPOINT, endpoint(owner_id=ACCOUNT)),
}
THEIR_ARN = f"arn:aws:network-firewall:us-east-1:{NEIGHBOUR}:firewall/theirs"
THEIRS = Firewall(THEIR_ARN, ("vpce-fw",), owner_id=NEIGHBOUR)
OURS, OUR_PROXY = firewalls("vpce-fw"), firewalls("vpce-fw", is_proxy=True)
OUR_OTHER = firewalls("vpce-other")


def by_association(owner_id: str, **more: object) -> dict[str, Firewall]:
    """Return another account's firewall to which an endpoint association of an account gives the endpoint."""
    associated = (AssociatedEndpoint("vpce-fw", owner_id),)
    return {THEIR_ARN: Firewall(THEIR_ARN, associated=associated, owner_id=NEIGHBOUR, **more)}


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        (OURS, None, "ENDPOINT"),
        (OURS, OURS, "ENDPOINT"),
        (OURS, {THEIR_ARN: THEIRS}, "ENDPOINT"),
        (OUR_PROXY, {THEIR_ARN: THEIRS}, "NAT_BEHIND_APPLIANCE"),
        (OUR_OTHER, {THEIR_ARN: THEIRS}, "UNRESOLVED_EGRESS"),
        (OUR_OTHER, OURS, "UNRESOLVED_EGRESS"),
        (OUR_OTHER, OUR_PROXY, "NAT_BEHIND_APPLIANCE"),
        (None, OURS, "ENDPOINT"),
        (by_association(ACCOUNT), None, "ENDPOINT"),
        (by_association(NEIGHBOUR), None, "UNRESOLVED_EGRESS"),
        (by_association(""), None, "UNRESOLVED_EGRESS"),
        ({**OURS, **by_association(ACCOUNT, is_proxy=True)}, None, "NAT_BEHIND_APPLIANCE"),
    ],
    ids=[
        "own firewall",
        "alike",
        "another account's firewall is no evidence",
        "nor does it hide the own proxy",
        "nor does it make an appliance a firewall",
        "a copy names the endpoint, and another does not",
        "as before, and it translates",
        "only a copy shows the firewall",
        "an association of the endpoint's owner",
        "an association of another account",
        "an association of an account that is not shown",
        "two firewalls, one of which translates",
    ],
)
def test_the_firewalls_that_accounts_name_for_one_endpoint(ours: dict, theirs: dict, reason: str) -> None:
    """Only what the endpoint's owner has is evidence, and of several firewalls the worst counts, in any order of accounts."""
    views = [
        snapshot(**BEFORE_FIREWALL, firewalls=ours),
        replace(snapshot(firewalls=theirs), account_id=NEIGHBOUR),
    ]
    for network in (merged(views), replace(merged(views[::-1]), account_id=ACCOUNT, foreign_subnet_ids=frozenset())):
        assert verdict_on(network).reason == reason


@pytest.mark.parametrize(
    "theirs",
    [
        replace(EXPRESS_LIST, name="another"),
        replace(EXPRESS_LIST, name=""),
        replace(EXPRESS_LIST, aws_owned=False),
        replace(EXPRESS_LIST, family=Family.IPV6),
    ],
    ids=["name", "no name", "owner", "family"],
)
@pytest.mark.parametrize("order", [1, -1])
def test_a_list_is_that_of_the_service_if_any_account_says_so(theirs: PrefixList, order: int) -> None:
    """Otherwise another account's list with the same id would hide every finding."""
    ours = snapshot(subnets=by_id(subnet()), route_tables=NAT_TABLE)
    network = merged([ours, replace(snapshot(prefix_lists=by_id(theirs)), account_id=NEIGHBOUR)][::order])
    assert verdict_on(replace(network, account_id=ACCOUNT, foreign_subnet_ids=frozenset())).reason == "NAT_GATEWAY"


SPOKE = {
    "subnets": by_id(subnet()),
    "route_tables": by_id(table("rtb-1", route("0.0.0.0/0", "tgw-1"), main=True)),
    "transit_gateway_route_tables": by_id(
        TransitGatewayRouteTable("tgw-rtb-1", (route("0.0.0.0/0", "tgw-attach-1", state="blackhole"),))
    ),
}
ATTACHMENT = TransitGatewayAttachment(
    "tgw-attach-1", "tgw-1", "vpc", "vpc-1", route_table_id="tgw-rtb-1", shows_association=True
)


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        (replace(ATTACHMENT, route_table_id=None), "UNRESOLVED_EGRESS"),
        (replace(ATTACHMENT, route_table_id=None, policy_table_id="tgw-ptb-1"), "UNRESOLVED_EGRESS"),
        (replace(ATTACHMENT, route_table_id=None, shows_association=False), "DROPPED"),
        (ATTACHMENT, "DROPPED"),
    ],
    ids=["disassociating", "policy table", "association not shown", "alike"],
)
def test_an_association_without_effect_is_not_one_that_is_lacking(ours: TransitGatewayAttachment, reason: str) -> None:
    """Only a description without any association gets that of another account."""
    parts = [{**SPOKE, "transit_gateway_attachments": by_id(found)} for found in (ours, ATTACHMENT)]
    for network in (seen_by_two(*parts), seen_by_two(*parts[::-1])):
        assert verdict_on(network).reason == reason


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
    """Return the rank of a verdict, the worst first."""
    return verdict.compliance is not Compliance.NON_COMPLIANT, SEVERITY_ORDER[verdict.reason]


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
    # A firewall and its endpoint associations name endpoints, and no endpoint names its firewall.
    shows_firewall = bool(evidence_of_firewalls(others, before) - evidence_of_firewalls(before, before))
    return table_is_unseen or shows_firewall


def evidence_of_firewalls(shown: Snapshot, before: Snapshot) -> set[object]:
    """Return the firewalls and endpoint associations of the accounts that own the endpoints known before."""
    owners = {endpoint.owner_id for endpoint in before.vpc_endpoints.values()}
    firewalls = (shown.firewalls or {}).values()
    associated = [(firewall.arn, each) for firewall in firewalls for each in firewall.associated]
    return {
        *(firewall.arn for firewall in firewalls if firewall.owner_id in owners),
        *(found for found in associated if found[1].owner_id in {"", *owners}),
    }


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
                assert severity(new) <= severity(old), (subnet_id, old, new)


FORWARDED = {
    "subnets": by_id(subnet(), subnet("subnet-2")),
    "vpc_endpoints": by_id(endpoint(owner_id=ACCOUNT), FIREWALL_ENDPOINT),
    "firewalls": OURS,
}
FIRST_HALF, SECOND_HALF = "198.51.100.0/25", "198.51.100.128/25"


def behind_firewall(half: str) -> dict:
    """Return the tables of a subnet behind a firewall, where a part of the addresses leaves through a NAT."""
    tables = by_id(
        table("rtb-1", route("0.0.0.0/0", "vpce-fw"), main=True),
        table("rtb-2", TO_ENDPOINT, route(half, "nat-1"), subnets=("subnet-2",)),
    )
    return {**FORWARDED, "route_tables": tables}


def test_by_every_description_some_addresses_use_the_endpoint() -> None:
    """For each address, the worst of all descriptions is a NAT, but no single description sends all of them to one."""
    parts = behind_firewall(FIRST_HALF), behind_firewall(SECOND_HALF)
    for network in (seen_by_two(*parts), seen_by_two(*parts[::-1])):
        assert verdict_on(network).reason == "PARTLY_NAT"


def test_only_a_few_combinations_of_descriptions_are_traced_on_their_own() -> None:
    """With more of them, the result is a NAT all the same."""
    lists = [PrefixList(f"pl-{n}", "own", Family.IPV4, (), aws_owned=False) for n in range(5)]
    emptied = [replace(each, cidrs=(parse_cidr("10.0.0.0/8"),)) for each in lists]
    parts = []
    for half, listed in ((FIRST_HALF, lists), (SECOND_HALF, emptied)):
        part = behind_firewall(half)
        beyond = part["route_tables"]["rtb-2"]
        routes = (*beyond.routes, *(route(each.id, "nat-1") for each in listed))
        tables = {**part["route_tables"], "rtb-2": replace(beyond, routes=routes)}
        parts.append({**part, "route_tables": tables, "prefix_lists": by_id(EXPRESS_LIST, *listed)})
    assert verdict_on(seen_by_two(*parts)).reason == "NAT_BEHIND_APPLIANCE"
