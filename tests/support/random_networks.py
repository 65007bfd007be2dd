"""Random networks in one Region: two VPCs, a transit gateway, and every kind of target, in a small address range."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from random import Random
from typing import TypeVar

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
from express_path.domain.network.resources import (
    AssociatedEndpoint,
    Association,
    BlockMode,
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
    target_kind,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.parameters import PUBLIC_SUBNETS, UNRESOLVED_EGRESS, RuleParameters, Scope
from tests.support.drawing import Draw, Strategy, composite, lists, mostly, sampled_from

_Value = TypeVar("_Value")

# --- routes and prefix lists that overlap -----------------------------------------------------------------------------

REGION = "us-east-1"
EXPRESS = {"pl-express": f"com.amazonaws.{REGION}.s3express", "pl-express6": f"com.amazonaws.{REGION}.ipv6.s3express"}
ENDPOINTS = {
    "vpce-express": ("gateway", EXPRESS["pl-express"], "available"),
    "vpce-express-b": ("gateway", EXPRESS["pl-express"], "available"),
    "vpce-pending": ("gateway", EXPRESS["pl-express"], "pending"),
    "vpce-s3": ("gateway", f"com.amazonaws.{REGION}.s3", "available"),
    "vpce-interface": ("interface", f"com.amazonaws.{REGION}.ssm", "available"),
    "vpce-appliance": ("gatewayloadbalancer", "com.amazonaws.vpce.us-east-1.vpce-svc-1", "available"),
    "vpce-firewall": ("gatewayloadbalancer", "com.amazonaws.vpce.us-east-1.vpce-svc-2", "available"),
}
"""Type, service and state, by id."""


def shuffled(values: Sequence[_Value], order: Random) -> list[_Value]:
    """Return the values in another order."""
    return order.sample(values, len(values))


APPLIANCES, FORWARDING, TRANSIT = ("vpce-appliance", "vpce-firewall"), ("eni-open", "eni-forward", "i-1"), ("tgw-1",)
FOLLOWED = (*APPLIANCES, *FORWARDING, *TRANSIT * 3)
DEAD_ENDS = (
    *("eni-checked", "eni-unlisted", "tgw-2", "vpce-unlisted", "vpce-interface", "local", "pcx-1", "vgw-1", "cagw-1"),
    *("lgw-1", "arn:aws:networkmanager::111122223333:core-network/1", "arn:aws:odb:us-east-1:111122223333:odb/1"),
    *("eigw-1", "nat-unlisted", "new-1", ""),
)


@composite
def targets(draw: Draw, followed: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return a few targets for each VPC of a network, so that paths are long; most paths end at a NAT."""
    some = draw(lists(sampled_from(followed), min_size=1, max_size=2))
    rare = draw(sampled_from([(), (), (), *((end,) for end in DEAD_ENDS)]))
    return {"vpc-a": ("nat-1", "igw-1", *some, *some, *rare), "vpc-b": ("nat-1", "nat-1", "igw-1", some[0])}


LISTED = sampled_from(
    [
        *[(), (), (), ("pl-express",), ("pl-express",), ("pl-express", "pl-express6"), ("pl-express6", "pl-own6")],
        *[("pl-own",), ("pl-express", "pl-own"), ("pl-express", "pl-own", "pl-other"), ("pl-other", "pl-own")],
        *[("pl-hidden",), ("pl-express", "pl-hidden6"), ("pl-express", "pl-hidden"), ("pl-unlisted",), ("pl-s3",)],
    ]
)
"""The prefix lists that one table names."""

DEFAULTS = sampled_from([(), ("0.0.0.0/0",), ("0.0.0.0/0", "::/0"), ("0.0.0.0/0", "::/0", "64:ff9b::/96")])
BASES = {Family.IPV4: parse_cidr("198.51.100.0/27"), Family.IPV6: parse_cidr("2001:db8::/123")}
NAT64_BASE = parse_cidr("64:ff9b::198.51.100.0/123")


def _blocks(base: Cidr, shortest: int = 0) -> list[Cidr]:
    """Return equally many blocks of each length in a range of 32 addresses, so that each length is equally likely."""
    longer = [(bits, place % (1 << bits)) for bits in range(shortest, 6) for place in range(32)]
    return [Cidr(base.family, base.network + (place << (5 - bits)), base.length + bits) for bits, place in longer]


@cache
def blocks(base: Cidr, shortest: int = 0) -> Strategy[Cidr]:
    """Return blocks inside a range of 32 addresses that are at least the given number of bits longer."""
    return sampled_from(_blocks(base, shortest))


WIDE = [parse_cidr(text) for text in ("198.51.100.0/24", "2001:db8::/64", "0.0.0.0/0", "::/0")]
DESTINATIONS = sampled_from(
    [*_blocks(BASES[Family.IPV4]), *_blocks(BASES[Family.IPV6]), *_blocks(NAT64_BASE), *WIDE * 48]
)
RANKS = mostly(Rank.STATIC, Rank.PROPAGATED)


ROUTED = lists(lambda random: (DESTINATIONS(random), RANKS(random)), max_size=2)
STATE = mostly("active", "blackhole")
EXPRESS_TARGETS = {
    "vpc-a": mostly("vpce-express", "vpce-pending", "vpce-unlisted"),
    "vpc-b": mostly("vpce-express-b", "vpce-express", "vpce-unlisted"),
}
LEFT_OUT = mostly((), ("pl-express",), ("pl-express6",), ("pl-express", "pl-express6"))
ODD_NAME = mostly("", f"com.amazonaws.{REGION}.s3express.ipv6", "", "com.amazonaws.eu-west-1.s3express", "")
ODD_COPY = sampled_from(["pl-express", "pl-express6", "pl-s3"])
PARTIAL = sampled_from([False] * 40 + [True])
TWIN = sampled_from(["pl-own", "pl-express"])
ENTRIES = {family: lists(blocks(BASES[family], 1), min_size=1, max_size=3, unique=True) for family in Family}


@composite
def prefix_lists(draw: Draw) -> dict[str, PrefixList]:
    """Return S3 Express lists for either family or none, and other lists that overlap them; lists can be empty."""
    found = {}
    for key in ("pl-express", "pl-express6", "pl-own", "pl-own6", "pl-s3"):
        family = Family.IPV6 if key.endswith("6") else Family.IPV4
        name, cidrs = EXPRESS.get(key, key), tuple(draw(ENTRIES[family]))
        found[key] = PrefixList(key, name, family, cidrs, aws_owned="own" not in key, is_partial=draw(PARTIAL))
    name = draw(ODD_NAME)
    if name:
        found["pl-odd"] = replace(found[draw(ODD_COPY)], id="pl-odd", name=name)
    # Two lists with the same entries: AWS decides at random. A customer may name a list as AWS does.
    found["pl-other"] = replace(found[draw(TWIN)], id="pl-other", name=EXPRESS["pl-express"], aws_owned=False)
    found["pl-hidden"] = PrefixList("pl-hidden", "hidden", Family.IPV4, None, aws_owned=False)
    found["pl-hidden6"] = PrefixList("pl-hidden6", "hidden", Family.IPV6, None, aws_owned=False)
    for key in draw(LEFT_OUT):
        del found[key]
    return found


def _route(destination: Cidr | str, target: str, rank: Rank, state: str) -> Route:
    kind = TargetKind.TRANSIT_GATEWAY_ATTACHMENT if target.startswith("tgw-attach") else target_kind(target)
    return Route(destination, target, kind, rank, state)


@composite
def _routes_to_blocks(draw: Draw, targets: tuple[str, ...]) -> list[Route]:
    """Return routes to blocks, at most one of each origin for each block; most include a default route."""
    target = sampled_from(targets)
    drawn = [*draw(ROUTED), *((parse_cidr(text), Rank.STATIC) for text in draw(DEFAULTS))]
    return [_route(block, draw(target), rank, draw(STATE)) for block, rank in dict.fromkeys(drawn)]


@composite
def routes(draw: Draw, targets: tuple[str, ...], vpc_id: str = "vpc-a") -> tuple[Route, ...]:
    """Return a VPC's routes: to blocks, to S3 Express through an endpoint, and to other prefix lists."""
    target = sampled_from(targets)
    found = [*draw(_routes_to_blocks(targets))]
    for key in draw(LISTED):
        to = draw(EXPRESS_TARGETS[vpc_id] if key in EXPRESS else target)
        found.append(_route(key, "vpce-s3" if key == "pl-s3" else to, Rank.STATIC, draw(STATE)))
    return tuple(draw(lambda random: shuffled(found, random)))


ATTACHMENTS = (
    *("tgw-attach-b", "tgw-attach-b", "tgw-attach-b", "tgw-attach-a", "tgw-attach-f", "tgw-attach-v"),
    "tgw-attach-unseen",
)
SYSTEM = mostly(None, Rank.SYSTEM)
TRANSIT_GATEWAY_ROUTES = _routes_to_blocks(ATTACHMENTS)
"""A transit gateway's routes to its attachments."""


# --- networks ---------------------------------------------------------------------------------------------------------

ACCOUNT, NEIGHBOUR = "111122223333", "444455556666"
SUBNETS = {"subnet-a1": "vpc-a", "subnet-a2": "vpc-a", "subnet-a3": "vpc-a", "subnet-b1": "vpc-b", "subnet-b2": "vpc-b"}
TABLES = {"rtb-a0": "vpc-a", "rtb-a1": "vpc-a", "rtb-a2": "vpc-a", "rtb-b0": "vpc-b", "rtb-b1": "vpc-b"}
APPLIANCE_SUBNET = sampled_from([*SUBNETS] * 3 + ["subnet-unseen"])
ANY_SUBNET = sampled_from(list(SUBNETS))


TABLE_IN = {vpc: sampled_from([key for key in TABLES if TABLES[key] == vpc]) for vpc in ("vpc-a", "vpc-b")}
ASSOCIATION_STATE = mostly("associated", "disassociated", "associating", "failed")
MOVING = mostly(None, "associating", "associated")
HALF_SHOWN = mostly("", "rtb-a1", "rtb-b1")
EDGE = mostly(None, "associated", "disassociated")
TAGS = mostly({}, {"skip": "yes"}, {"skip": "no"})
OWNER = mostly(ACCOUNT, NEIGHBOUR)
ZONE = mostly("use1-az1", "use1-az2", "use1-az2", "use1-az2", "use1-az2", "use1-bos1-az1", "")
BOOLEAN = sampled_from([False, True])
BLOCKED = mostly(BlockMode.OFF, BlockMode.BIDIRECTIONAL, BlockMode.BIDIRECTIONAL, BlockMode.INGRESS, BlockMode.UNKNOWN)
VPC_BLOCKED = mostly(BlockMode.OFF, BlockMode.BIDIRECTIONAL)
FAMILIES = sampled_from([(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1), (1, 1, 1)])
"""ipv6_native, has_ipv6 and dns64."""


@composite
def _associations(draw: Draw) -> dict[str, list[Association]]:
    """Return associations: each subnet with one table, two, or moving to another; main and edge tables are optional."""
    found: dict[str, list[Association]] = {key: [] for key in TABLES}
    for subnet, vpc in SUBNETS.items():
        found[draw(TABLE_IN[vpc])].append(Association(subnet_id=subnet, state=draw(ASSOCIATION_STATE)))
        other = draw(MOVING)
        if other:
            found[draw(TABLE_IN[vpc])].append(Association(subnet_id=subnet, state=other))
    for table in ("rtb-a0", "rtb-b0"):
        found[table].append(Association(main=True, state=draw(ASSOCIATION_STATE)))
    half_shown = draw(HALF_SHOWN)
    if half_shown:
        found[half_shown].append(Association())
    edge = draw(EDGE)
    if edge:
        found["rtb-a2"].append(Association(gateway_id="igw-1", state=edge))
    return found


@composite
def route_tables(draw: Draw, followed: tuple[str, ...]) -> dict[str, RouteTable]:
    """Return route tables of both VPCs, with routes to the few targets of this network."""
    associations, kinds = draw(_associations()), draw(targets(followed))
    routed = {vpc: routes(kinds[vpc], vpc) for vpc in kinds}
    return {
        key: RouteTable(key, vpc, draw(routed[vpc]), tuple(associations[key]), ACCOUNT, draw(TAGS))
        for key, vpc in TABLES.items()
    }


@composite
def subnets(draw: Draw) -> dict[str, Subnet]:
    """Return subnets in several zones with IPv4, IPv6, or both; some use DNS64, are shared, or are closed."""
    found = {}
    for key, vpc in SUBNETS.items():
        native, ipv6, dns64 = map(bool, draw(FAMILIES))
        flags = (native, ipv6, dns64)
        found[key] = Subnet(key, vpc, draw(OWNER), draw(ZONE), *flags, draw(TAGS), draw(BLOCKED), draw(NAMED_BY_ITEM))
    return found


NAMED_BY_ITEM = mostly((), ("rtb-a1",), (), (), ("rtb-unseen",))
ATTACHED = {
    "a": ("vpc", "vpc-a"),
    "b": ("vpc", "vpc-b"),
    "v": ("vpn", "vpn-1"),
    "f": ("network-function", "firewall-1"),
}
ATTACHMENT_STATE = mostly("available", "deleting", "")
CERTAIN = mostly(True, False)
ATTACHMENT_TABLE = mostly("tgw-rtb-1", "tgw-rtb-2", "tgw-rtb-2", "tgw-rtb-unseen", None)
POLICY_TABLE = mostly(None, "tgw-ptb-1")
ATTACHED_SUBNETS = {
    resource: sampled_from([*permutations(entries, 1), *permutations(entries, 2)])
    for resource, entries in {
        "vpc-a": ["subnet-a1", "subnet-a2", "subnet-a3"],
        "vpc-b": ["subnet-b1", "subnet-b2"],
        "vpn-1": ["subnet-unseen"],
        "firewall-1": ["subnet-unseen"],
    }.items()
}
READABLE = mostly(True, False)


@composite
def transit_gateway_attachments(draw: Draw) -> dict[str, TransitGatewayAttachment]:
    """Return attachments of both VPCs, a VPN, and a firewall to one transit gateway; some data may be unreadable."""
    found = {}
    for key, (kind, resource) in ATTACHED.items():
        found[f"tgw-attach-{key}"] = TransitGatewayAttachment(
            id=f"tgw-attach-{key}",
            transit_gateway_id="tgw-1",
            resource_type=kind,
            resource_id=resource,
            state=draw(ATTACHMENT_STATE),
            route_table_id=draw(ATTACHMENT_TABLE),
            subnet_ids=draw(ATTACHED_SUBNETS[resource]) if draw(READABLE) else None,
            appliance_mode=draw(BOOLEAN),
            policy_table_id=draw(POLICY_TABLE),
            shows_association=draw(BOOLEAN),
            is_association_certain=draw(CERTAIN),
        )
    return found


@composite
def transit_gateway_route_tables(draw: Draw) -> dict[str, TransitGatewayRouteTable]:
    """Return two transit gateway route tables, which can be truncated."""
    return {
        key: TransitGatewayRouteTable(
            key,
            tuple(replace(route, rank=draw(SYSTEM) or route.rank) for route in draw(TRANSIT_GATEWAY_ROUTES)),
            truncated=not draw(READABLE),
        )
        for key in ("tgw-rtb-1", "tgw-rtb-2")
    }


@composite
def vpc_endpoints(draw: Draw) -> dict[str, VpcEndpoint]:
    """Return one endpoint of each kind; the endpoints of appliances are in a random subnet."""
    found = {
        key: VpcEndpoint(
            key, "vpc-b" if key.endswith("-b") else "vpc-a", *described, "dualstack", owner_id=draw(ENDPOINT_OWNER)
        )
        for key, described in ENDPOINTS.items()
    }
    for key in ("vpce-express", "vpce-pending"):
        found[key] = replace(found[key], route_table_ids=draw(NAMED_TABLES))
    for key in ("vpce-appliance", "vpce-firewall"):
        shown = {"endpoint_type": draw(APPLIANCE_TYPE), "state": draw(APPLIANCE_STATE), "tags": draw(FIREWALL_TAGS)}
        found[key] = replace(found[key], subnet_ids=(draw(APPLIANCE_SUBNET),), **shown)
    return found


APPLIANCE_TYPE = mostly("gatewayloadbalancer", "interface", "tunnel", "")
APPLIANCE_STATE = mostly("available", "", "pending")


ENDPOINT_OWNER = mostly(ACCOUNT, NEIGHBOUR, "")
NAMED_TABLES = mostly((), ("rtb-a1", "rtb-a2"), ("rtb-a1", "rtb-unseen"))
FIREWALL_TAGS = sampled_from([{}, {"AWSNetworkFirewallManaged": "true"}])
FIREWALL = Firewall("arn:aws:network-firewall:us-east-1:111122223333:firewall/f", ("vpce-firewall",), owner_id=ACCOUNT)
PROXY = replace(FIREWALL, is_proxy=True, nat_gateway_ids={"vpce-firewall": "nat-proxy"})
FIREWALLS = mostly(
    FIREWALL,
    *(PROXY, replace(PROXY, forwards=True), None, replace(FIREWALL, endpoint_ids=())),
    replace(FIREWALL, endpoint_ids=("vpce-firewall", "vpce-appliance")),
)
"""What is known of the firewall that owns vpce-firewall: it forwards, it translates, or it cannot be read."""
ASSOCIATED = tuple(AssociatedEndpoint("vpce-appliance", owner_id) for owner_id in (ACCOUNT, NEIGHBOUR, ""))
OTHER_FIREWALL = replace(FIREWALL, arn=FIREWALL.arn.replace(ACCOUNT, NEIGHBOUR) + "2", owner_id=NEIGHBOUR)
OTHER_FIREWALLS = sampled_from(
    [
        *[None] * 20,
        *(OTHER_FIREWALL, replace(OTHER_FIREWALL, is_proxy=True), replace(OTHER_FIREWALL, owner_id=ACCOUNT)),
        *(replace(OTHER_FIREWALL, endpoint_ids=(), associated=(found,)) for found in ASSOCIATED),
        replace(OTHER_FIREWALL, is_proxy=True, endpoint_ids=(), associated=ASSOCIATED[:1]),
    ]
)
"""A firewall of another account that names endpoints, or that endpoint associations name."""
PROXIES = mostly((), ("vpce-firewall",), ("vpce-appliance",))


@composite
def network_interfaces(draw: Draw) -> dict[str, NetworkInterface]:
    """Return interfaces with the source/destination check on or off, one of them attached to an instance."""
    check_on = draw(BOOLEAN)
    return {
        "eni-open": NetworkInterface("eni-open", draw(ANY_SUBNET), source_dest_check=False),
        "eni-forward": NetworkInterface("eni-forward", draw(ANY_SUBNET), source_dest_check=False),
        "eni-checked": NetworkInterface("eni-checked", draw(ANY_SUBNET), source_dest_check=True),
        "eni-i": NetworkInterface("eni-i", draw(ANY_SUBNET), check_on, "i-1", draw(FIRST_INDEX)),
        "eni-j": NetworkInterface("eni-j", draw(ANY_SUBNET), draw(BOOLEAN), "i-1", **draw(SECOND_INDEX)),
    }


FIRST_INDEX = mostly(0, None)
SECOND_INDEX = sampled_from([{"device_index": 1}, {"device_index": 0, "card_index": 1}, {"device_index": None}])


CLOSED = sampled_from([False] * 5 + [True])
TO_INTERNET = tuple(
    Route(parse_cidr(block), "igw-1", TargetKind.INTERNET_GATEWAY) for block in ("0.0.0.0/0", "::/0", "64:ff9b::/96")
)
REGIONAL = sampled_from([*[None] * 6, *["rtb-b1"] * 4, *["rtb-a0"] * 2, "rtb-unseen", ""])
GATEWAY_STATE = mostly("available", "", "deleted", "pending")
CONNECTIVITY = mostly("public", "private")
BUCKETS = mostly(True, False, None)
SHARED = sampled_from([None, frozenset[str](), frozenset({"subnet-a1", "subnet-b1"})])


@composite
def snapshots(draw: Draw, followed: tuple[str, ...] = FOLLOWED) -> Snapshot:
    """Return a snapshot of one Region in which optional parts are sometimes unreadable."""
    regional = draw(REGIONAL)
    gateway = NatGateway(
        "nat-1",
        "vpc-b",
        draw(ANY_SUBNET) if regional is None else None,
        draw(CONNECTIVITY),
        route_table_id=regional,
        state=draw(GATEWAY_STATE),
        proxy_endpoint_ids=draw(PROXIES),
    )
    firewalls = {found.arn: found for found in (draw(FIREWALLS), draw(OTHER_FIREWALLS)) if found}
    found_subnets, tables = draw(subnets()), draw(route_tables(followed))
    if draw(CLOSED):
        # A NAT gateway or an attachment in vpc-b leads to an internet gateway that Block Public Access closes.
        for key in ("subnet-b1", "subnet-b2"):
            found_subnets[key] = replace(found_subnets[key], block_mode=BlockMode.BIDIRECTIONAL)
        for key in ("rtb-b0", "rtb-b1"):
            tables[key] = replace(tables[key], routes=TO_INTERNET)
    return Snapshot(
        ACCOUNT,
        REGION,
        vpcs={key: Vpc(key, ACCOUNT, draw(TAGS), draw(VPC_BLOCKED)) for key in ("vpc-a", "vpc-b")},
        subnets=found_subnets,
        route_tables=tables,
        vpc_endpoints=draw(vpc_endpoints()),
        nat_gateways={"nat-1": gateway},
        prefix_lists=draw(prefix_lists()),
        lists_ipv6_prefix_lists=draw(BOOLEAN),
        firewalls=firewalls or None,
        network_interfaces=draw(network_interfaces()) if draw(READABLE) else None,
        transit_gateway_attachments=draw(transit_gateway_attachments()) if draw(READABLE) else None,
        transit_gateway_route_tables=draw(transit_gateway_route_tables()) if draw(READABLE) else None,
        has_directory_buckets=draw(BUCKETS),
        shared_subnet_ids=draw(SHARED),
    )


def partly(snapshot: Snapshot, other: Snapshot, random: Random) -> Snapshot:
    """Return what a neighbor sees of a network, with a few resources, in any respect but their tags, as in another network."""
    changed: dict[str, object] = {}
    for kind in random.sample(DISPUTED, random.randint(1, 3)):
        records, others = getattr(snapshot, kind), getattr(other, kind)
        if records and others:
            chosen = random.sample(sorted(records), random.randint(1, 2)) if len(records) > 1 else list(records)
            changed[kind] = records | {key: _with_tags(others[key], records[key]) for key in chosen if key in others}
            if kind == "firewalls" and random.random() < 1 / 2:
                changed[kind] |= others
            if kind == "prefix_lists":
                changed[kind] |= {key: _renamed(changed[kind][key], random) for key in chosen}
    return replace(snapshot, account_id=NEIGHBOUR, **changed)


NAMES = sampled_from(["", "another", *EXPRESS.values(), f"com.amazonaws.{REGION}.s3express.new"])


def _renamed(record: PrefixList, random: Random) -> PrefixList:
    """Return a prefix list, sometimes with another name, or as one of another owner."""
    name = NAMES(random) if random.random() < 1 / 4 else record.name
    return replace(record, name=name, aws_owned=record.aws_owned and random.random() < 7 / 8)


def _with_tags(record: _Value, tagged: _Value) -> _Value:
    kept = {name: getattr(tagged, name) for name in ("tags", "owner_id", "name", "aws_owned") if hasattr(tagged, name)}
    return replace(record, **kept)


DISPUTED = (
    *("subnets", "route_tables", "route_tables", "vpc_endpoints", "nat_gateways", "prefix_lists", "prefix_lists"),
    *("network_interfaces", "transit_gateway_attachments", "transit_gateway_route_tables", "vpcs"),
    *("firewalls", "firewalls"),
)
PUBLIC, UNRESOLVED = sampled_from(PUBLIC_SUBNETS), sampled_from(UNRESOLVED_EGRESS)
SCOPE = mostly(Scope.ALL, Scope.DIRECTORY_BUCKETS)
VPC_IDS = mostly(frozenset(), frozenset({"vpc-a"}), frozenset({"vpc-a", "vpc-b"}))
EXCLUDE_TAG = mostly("express-path:exclude", "skip", "skip=yes", "Skip")


@composite
def parameters(draw: Draw) -> RuleParameters:
    """Return rule parameters, which usually do not exclude a subnet before routing."""
    return RuleParameters(
        public_subnets=draw(PUBLIC),
        unresolved_egress=draw(UNRESOLVED),
        scope=draw(SCOPE),
        vpc_ids=draw(VPC_IDS),
        exclude_tag=draw(EXCLUDE_TAG),
        network_role_arn=None,
    )
