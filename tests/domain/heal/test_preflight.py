"""The pre-flight: what in a VPC would break, or be broken by, traffic through the endpoint."""

from dataclasses import replace

import pytest

from express_path.domain.heal.preflight import (
    AclEntry,
    EgressRule,
    Evidence,
    NetworkAcl,
    PortRange,
    preflight,
    tcp_ports,
)
from express_path.domain.heal.records import Blocker
from express_path.domain.network.addresses import parse_cidr
from tests.support.heal_situation import BOTH, EXPRESS_LIST_6, network, planned
from tests.support.make import EXPRESS_LIST, endpoint

VPC_ID = "vpc-1"
ALL, HTTPS, ANY_TCP = tcp_ports("-1", None, None), tcp_ports("tcp", 443, 443), tcp_ports("tcp", 0, 65535)


LISTS = {
    "pl-whole": (parse_cidr("198.51.0.0/16"),),
    "pl-half": (parse_cidr("198.51.100.0/25"),),
    "pl-rest": (parse_cidr("198.51.100.128/26"), parse_cidr("198.51.100.192/26")),
    "pl-elsewhere": (parse_cidr("10.0.0.0/8"), parse_cidr("::/0")),
    "pl-hidden": None,
}


def found(evidence: Evidence, *lists: object) -> list[Blocker]:
    """What a pre-flight finds."""
    return [concern.code for concern in preflight(evidence, lists or (EXPRESS_LIST,), VPC_ID)]  # type: ignore[arg-type]


def test_a_rule_is_about_tcp_ports_or_none() -> None:
    """-1 is all protocols, and a rule of TCP without both ports is about none that can be told."""
    assert tcp_ports("-1", None, None) == PortRange(0, 65535)
    assert tcp_ports("6", 400, 500) == tcp_ports("tcp", 400, 500) == PortRange(400, 500)
    assert tcp_ports("tcp", None, 443) is tcp_ports("tcp", 443, None) is tcp_ports("17", 443, 443) is None


def to(*blocks: str, ports: PortRange | None = HTTPS, lists: tuple[str, ...] = ()) -> EgressRule:
    """A rule that lets traffic out."""
    return EgressRule(ports, tuple(map(parse_cidr, blocks)), lists)


def groups(**rules: tuple[EgressRule, ...]) -> Evidence:
    """One network interface with these security groups."""
    return Evidence(group_sets=frozenset({frozenset(rules)}), egress_rules=rules)


@pytest.mark.parametrize(
    "rules",
    [
        (to("0.0.0.0/0", ports=ALL),),
        (to("0.0.0.0/0", ports=ANY_TCP),),
        (to("0.0.0.0/0", ports=tcp_ports("6", 443, 443)),),
        (to("0.0.0.0/0", ports=tcp_ports("tcp", 400, 500)),),
        (to("198.51.100.0/24"),),
        (to("198.51.100.0/25"), to("198.51.100.128/25")),
        (to("198.51.100.0/25", "198.51.100.128/25"),),
        (to(lists=("pl-express",)),),
        (to("10.0.0.0/8"), to("0.0.0.0/0")),
    ],
    ids=[
        *["everything", "all TCP", "TCP by number", "range", "list's block", "two rules", "two blocks", "prefix list"],
        "one rule of two",
    ],
)
def test_group_that_lets_https_out_is_fine(rules: tuple[EgressRule, ...]) -> None:
    """Any rules that together let TCP 443 out to every block of the list will do."""
    assert found(groups(web=rules)) == []


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (to("198.51.100.0/25"),),
        (to("198.51.100.0/25", "198.51.100.128/26", "198.51.100.192/27"),),
        (to("0.0.0.0/0", ports=tcp_ports("tcp", 80, 80)),),
        (to("0.0.0.0/0", ports=tcp_ports("udp", 443, 443)),),
        (to("0.0.0.0/0", ports=tcp_ports("17", 0, 65535)),),
        (to("0.0.0.0/0", ports=tcp_ports("icmp", -1, -1)),),
        (to("0.0.0.0/0", ports=tcp_ports("tcp", 444, 65535)),),
        (to("0.0.0.0/0", ports=tcp_ports("tcp", None, 443)),),
        (to("0.0.0.0/0", ports=tcp_ports("tcp", 443, None)),),
        (to("::/0"),),
        (to(lists=("pl-elsewhere",)),),
        (to(lists=("pl-half",)),),
        (to(lists=("pl-whole",), ports=tcp_ports("tcp", 80, 80)),),
        (to(lists=("pl-hidden",), ports=tcp_ports("tcp", 80, 80)),),
    ],
    ids=[
        *["none", "half", "all but an eighth", "HTTP", "UDP", "UDP by number", "ICMP", "above 443"],
        *["no first port", "no last port", "IPv6", "list elsewhere", "list of a half", "list for HTTP"],
        "unreadable list for HTTP",
    ],
)
def test_group_that_keeps_https_in_blocks(rules: tuple[EgressRule, ...]) -> None:
    """SECURITY_GROUP_EGRESS: a part of the list that no rule lets TCP 443 out to."""
    [concern] = preflight(replace(groups(web=rules), prefix_lists=LISTS), (EXPRESS_LIST,), VPC_ID)
    assert concern.code is Blocker.SECURITY_GROUP_EGRESS
    assert concern.evidence == "web: no rule allows outbound TCP 443 to 198.51.100.0/24"
    assert "pl-express" in concern.fix


@pytest.mark.parametrize(
    "rules",
    [
        (to(lists=("pl-whole",)),),
        (to(lists=("pl-half",)), to("198.51.100.128/25")),
        (to(lists=("pl-half", "pl-rest")),),
    ],
    ids=["whole", "half beside a block", "two halves"],
)
def test_group_that_names_a_prefix_list_with_the_blocks_is_fine(rules: tuple[EgressRule, ...]) -> None:
    """The entries of a customer's prefix list allow traffic in the same way as blocks in the rule."""
    assert found(replace(groups(web=rules), prefix_lists=LISTS)) == []


@pytest.mark.parametrize("rules", [(to(lists=("pl-hidden",)),), (to(lists=("pl-hidden", "pl-half")),)])
def test_list_that_cannot_be_read_is_unknown_and_said(rules: tuple[EgressRule, ...]) -> None:
    """It may let everything out or nothing: the concern says neither, and what to do in either case."""
    [concern] = preflight(replace(groups(web=rules), prefix_lists=LISTS), (EXPRESS_LIST,), VPC_ID)
    assert concern.code is Blocker.SECURITY_GROUP_EGRESS
    assert concern.evidence == (
        "web: whether a rule allows outbound TCP 443 to 198.51.100.0/24 is unknown: pl-hidden cannot be read"
        " (ec2:GetManagedPrefixListEntries)"
    )
    assert "pl-express" in concern.fix


def test_group_that_cannot_be_seen_is_unknown_and_said() -> None:
    """A group that EC2 does not list, as one of another account may be, is not taken for closed."""
    unseen = Evidence(group_sets=frozenset({frozenset({"sg-1", "sg-2"})}), egress_rules={"sg-1": ()})
    [concern] = preflight(unseen, (EXPRESS_LIST,), VPC_ID)
    assert concern.evidence == (
        "sg-1, sg-2: whether a rule allows outbound TCP 443 to 198.51.100.0/24 is unknown: sg-2 cannot be read"
        " (ec2:DescribeSecurityGroups)"
    )


@pytest.mark.parametrize("lists", [("pl-hidden",), ("pl-not-asked",)])
def test_list_that_cannot_be_read_does_not_matter_where_others_let_out(lists: tuple[str, ...]) -> None:
    """Rules add up, so what one lets out for certain no other takes back."""
    assert found(replace(groups(web=(to(lists=lists), to("0.0.0.0/0"))), prefix_lists=LISTS)) == []


def test_groups_of_one_interface_add_up() -> None:
    """An interface's security groups are one set of rules, so each may let a part out."""
    assert found(groups(one=(to("198.51.100.0/25"),), two=(to("198.51.100.128/25"),))) == []


def test_groups_of_two_interfaces_do_not_add_up() -> None:
    """What one interface's group lets out does not help another interface; both are named, in order."""
    sets = frozenset({frozenset({"b"}), frozenset({"a"})})
    rules = {"a": (to("198.51.100.0/25"),), "b": (to("198.51.100.128/25"),)}
    shown = [
        concern.evidence
        for concern in preflight(Evidence(group_sets=sets, egress_rules=rules), (EXPRESS_LIST,), VPC_ID)
    ]
    assert shown == [f"{group}: no rule allows outbound TCP 443 to 198.51.100.0/24" for group in ("a", "b")]


def test_groups_of_one_interface_are_named_together() -> None:
    """Only together do they keep traffic in, so both are named."""
    [concern] = preflight(groups(one=(), two=()), (EXPRESS_LIST,), VPC_ID)
    assert concern.evidence == "one, two: no rule allows outbound TCP 443 to 198.51.100.0/24"


def test_every_list_that_the_endpoint_brings_is_asked() -> None:
    """A group that allows only IPv4 blocks a dual-stack endpoint."""
    evidence = groups(web=(to("0.0.0.0/0"),))
    assert found(evidence, EXPRESS_LIST, EXPRESS_LIST_6) == [Blocker.SECURITY_GROUP_EGRESS]
    assert found(groups(web=(to("0.0.0.0/0", "::/0"),)), EXPRESS_LIST, EXPRESS_LIST_6) == []


def entry(
    number: int, block: str = "0.0.0.0/0", ports: PortRange | None = ALL, *, allow: bool = True, out: bool = True
) -> AclEntry:
    """An entry of a network ACL."""
    return AclEntry(number, egress=out, allow=allow, ports=ports, cidr=parse_cidr(block))


def deny(number: int, block: str = "0.0.0.0/0", ports: PortRange | None = ALL) -> AclEntry:
    """An entry that denies outgoing traffic."""
    return entry(number, block, ports, allow=False)


IN = entry(100, out=False)
EPHEMERAL = tcp_ports("6", 1024, 65535)


def acl(*entries: AclEntry) -> Evidence:
    """One network ACL."""
    return Evidence(network_acls=(NetworkAcl("acl-1", entries),))


@pytest.mark.parametrize(
    "entries",
    [
        (entry(100), IN),
        (entry(100, ports=HTTPS), entry(100, ports=EPHEMERAL, out=False)),
        (entry(100, "198.51.100.0/24", HTTPS), IN),
        (entry(100, "198.51.100.0/25"), entry(110, "198.51.100.128/25"), IN),
        (entry(100, "198.51.100.7/32"), entry(110), deny(120), IN),
        (entry(100), deny(200), IN),
        (deny(200), entry(100), IN),
        (deny(50, "10.0.0.0/8"), entry(100), IN),
        (deny(50, ports=tcp_ports("6", 80, 80)), entry(100), IN),
        (deny(50, ports=tcp_ports("17", 443, 443)), entry(100), IN),
        (deny(50, ports=tcp_ports("1", None, None)), entry(100), IN),
        (deny(50, "::/0"), entry(100), IN),
        (entry(100, "198.51.100.0/25"), deny(110, "198.51.100.0/25"), entry(120), IN),
        (entry(100, ports=tcp_ports("6", 1024, 65535)), entry(110, ports=HTTPS), IN),
        (deny(10, "0.0.0.0/0", tcp_ports("6", 32768, 60999)), entry(100), IN),
    ],
    ids=[
        *["everything", "just enough", "list's block", "halves", "part, then all", "denied later", "not in order"],
        *["denied elsewhere", "other port denied", "UDP denied", "ICMP denied", "IPv6 denied"],
        *["allowed part denied later", "other ports first", "ephemeral ports denied outwards"],
    ],
)
def test_network_acl_that_lets_through_is_fine(entries: tuple[AclEntry, ...]) -> None:
    """Entries count in the order of their numbers, each direction apart, each part of a block by its first entry."""
    assert found(acl(*entries)) == []


@pytest.mark.parametrize(
    ("entries", "way"),
    [
        ((IN,), "to"),
        ((deny(50), entry(100), IN), "to"),
        ((entry(100), deny(50, "198.51.100.0/28"), IN), "to"),
        ((deny(50, "198.51.0.0/16", tcp_ports("6", 443, 443)), entry(100), IN), "to"),
        ((deny(50, ports=tcp_ports("6", 0, 1024)), entry(100), IN), "to"),
        ((entry(100, "198.51.100.0/25"), IN), "to"),
        ((entry(100, "198.51.100.0/25"), deny(110), entry(120), IN), "to"),
        ((entry(100, "198.51.100.0/26"), entry(101, "198.51.100.128/25"), IN), "to"),
        ((entry(100, ports=tcp_ports("6", 80, 80)), IN), "to"),
        ((entry(100, ports=tcp_ports("17", 0, 65535)), IN), "to"),
        ((entry(100),), "from"),
        ((entry(100), entry(100, ports=HTTPS, out=False)), "from"),
        ((entry(100), entry(100, ports=tcp_ports("6", 49152, 65535), out=False)), "from"),
        ((entry(100), entry(100, "10.0.0.0/8", out=False)), "from"),
        ((entry(100), entry(90, ports=tcp_ports("6", 40000, 40000), out=False, allow=False), IN), "from"),
    ],
    ids=[
        *["nothing allowed", "denied first", "part denied first", "port denied", "range of ports denied"],
        *["half allowed", "half denied before the rest", "quarter left out", "only HTTP", "only UDP"],
        *["nothing in", "no ephemeral ports", "some ephemeral ports", "other source", "one ephemeral port denied"],
    ],
)
def test_network_acl_that_stops_blocks(entries: tuple[AclEntry, ...], way: str) -> None:
    """NETWORK_ACL: TCP 443 out, or the ephemeral ports back in, for a part of the list."""
    [concern] = preflight(acl(*entries), (EXPRESS_LIST,), VPC_ID)
    assert concern.code is Blocker.NETWORK_ACL
    assert concern.evidence.startswith("acl-1 does not allow ")
    assert concern.evidence.endswith(f" {way} 198.51.100.0/24")


def test_network_acl_that_stops_both_ways_is_named_twice() -> None:
    """Each direction is a concern of its own, with its ports."""
    shown = [concern.evidence for concern in preflight(acl(), (EXPRESS_LIST,), VPC_ID)]
    assert shown == [
        "acl-1 does not allow outbound TCP 443 to 198.51.100.0/24",
        "acl-1 does not allow inbound TCP 32768-60999 from 198.51.100.0/24",
    ]


@pytest.mark.parametrize(("support", "hostnames"), [(True, True), (True, False), (False, True), (False, False)])
def test_both_dns_attributes_are_needed(support: bool, hostnames: bool) -> None:
    """DNS_ATTRIBUTES, unless DNS support and DNS host names are both on."""
    evidence = Evidence(dns_support=support, dns_hostnames=hostnames)
    assert found(evidence) == [Blocker.DNS_ATTRIBUTES] * (not (support and hostnames))


@pytest.mark.parametrize("is_open", [True, False])
def test_closed_calendar_blocks(is_open: bool) -> None:
    """CHANGE_CALENDAR_CLOSED."""
    assert found(Evidence(calendar_open=is_open)) == [Blocker.CHANGE_CALENDAR_CLOSED] * (not is_open)


def test_list_without_readable_entries_is_not_asked() -> None:
    """Addresses that cannot be read cannot be compared; that the plan would not cure is another blocker."""
    assert list(preflight(groups(web=()), (), VPC_ID)) == []


IPV4_OUT = groups(web=(to("0.0.0.0/0", ports=ALL),))
IPV4_ACL = acl(entry(100), IN)


@pytest.mark.parametrize("evidence", [IPV4_OUT, IPV4_ACL], ids=["security group", "network ACL"])
@pytest.mark.parametrize("endpoints", [(), (endpoint(),)], ids=["to be created", "existing"])
def test_preflight_asks_only_about_the_lists_that_the_endpoint_brings(evidence: Evidence, endpoints: tuple[()]) -> None:
    """An IPv4 endpoint in a Region with an IPv6 list needs no way out for IPv6."""
    plan = planned(network(lists=BOTH, endpoints=endpoints), evidence)
    assert plan.blockers == ()


def test_interface_without_security_groups_blocks_nothing() -> None:
    """Interfaces of NAT gateways, transit gateway attachments and some load balancers have none, so nothing filters.

    https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html#nat-gateway-basics
    """
    assert found(Evidence(group_sets=frozenset({frozenset[str]()}))) == []


def coming_in(*entries: tuple[int, int, int, bool]) -> Evidence:
    """A network ACL with these ingress entries (number, ports, allow); everything may leave."""
    coming = (
        entry(number, ports=tcp_ports("6", low, high), allow=allow, out=False) for number, low, high, allow in entries
    )
    return acl(entry(1), *coming)


@pytest.mark.parametrize(
    "evidence",
    [
        coming_in((1, 1024, 49151, True), (2, 49152, 65535, True)),
        coming_in((1, 40000, 50000, True), (2, 0, 39999, True), (3, 50001, 65535, True)),
        coming_in((1, 1024, 49151, True), (2, 32768, 40000, False), (3, 49152, 65535, True)),
    ],
    ids=["two ranges", "three ranges", "denied after it was allowed"],
)
def test_entries_of_a_network_acl_may_share_the_ports(evidence: Evidence) -> None:
    """Ports that several entries allow together are allowed, each by the first entry that matches it."""
    assert found(evidence) == []


@pytest.mark.parametrize(
    "evidence",
    [
        coming_in((1, 1024, 49151, True), (2, 49153, 65535, True)),
        coming_in((1, 1024, 39999, True), (2, 32768, 40000, False), (3, 40000, 65535, True)),
    ],
    ids=["one port left out", "one port denied"],
)
def test_entries_that_share_the_ports_must_leave_none_out(evidence: Evidence) -> None:
    """One ephemeral port that no entry allows is one connection in thousands that hangs."""
    assert found(evidence) == [Blocker.NETWORK_ACL]
