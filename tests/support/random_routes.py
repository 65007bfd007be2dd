"""Random routes and prefix lists in a small address range, so that they overlap."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
from express_path.domain.network.resources import PrefixList, Rank, Route, TargetKind, target_kind
from tests.support.drawing import Draw, Strategy, composite, lists, mostly, sampled_from

REGION = "us-east-1"
EXPRESS = {"pl-express": f"com.amazonaws.{REGION}.s3express", "pl-express6": f"com.amazonaws.{REGION}.ipv6.s3express"}
ENDPOINTS = {
    "vpce-express": ("gateway", EXPRESS["pl-express"], "available"),
    "vpce-pending": ("gateway", EXPRESS["pl-express"], "pending"),
    "vpce-s3": ("gateway", f"com.amazonaws.{REGION}.s3", "available"),
    "vpce-interface": ("interface", f"com.amazonaws.{REGION}.ssm", "available"),
    "vpce-appliance": ("gatewayloadbalancer", "com.amazonaws.vpce.us-east-1.vpce-svc-1", "available"),
    "vpce-firewall": ("gatewayloadbalancer", "com.amazonaws.vpce.us-east-1.vpce-svc-2", "available"),
}
"""Type, service and state, by id."""

_Value = TypeVar("_Value")


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
EXPRESS_TARGET = mostly("vpce-express", "vpce-pending", "vpce-unlisted")
LEFT_OUT = mostly((), ("pl-express",), ("pl-express6",), ("pl-express", "pl-express6"))
TWIN = sampled_from(["pl-own", "pl-express"])
ENTRIES = {family: lists(blocks(BASES[family], 1), min_size=1, max_size=3, unique=True) for family in Family}


@composite
def prefix_lists(draw: Draw) -> dict[str, PrefixList]:
    """Return S3 Express lists for either family or none, and other lists that overlap them; lists can be empty."""
    found = {}
    for key in ("pl-express", "pl-express6", "pl-own", "pl-own6", "pl-s3"):
        family = Family.IPV6 if key.endswith("6") else Family.IPV4
        name, cidrs = EXPRESS.get(key, key), tuple(draw(ENTRIES[family]))
        found[key] = PrefixList(key, name, family, cidrs, aws_owned="own" not in key)
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
def routes(draw: Draw, targets: tuple[str, ...]) -> tuple[Route, ...]:
    """Return a VPC's routes: to blocks, to S3 Express through an endpoint, and to other prefix lists."""
    target = sampled_from(targets)
    found = [*draw(_routes_to_blocks(targets))]
    for key in draw(LISTED):
        to = draw(EXPRESS_TARGET if key in EXPRESS else target)
        found.append(_route(key, "vpce-s3" if key == "pl-s3" else to, Rank.STATIC, draw(STATE)))
    return tuple(draw(lambda random: shuffled(found, random)))


ATTACHMENTS = (
    *("tgw-attach-b", "tgw-attach-b", "tgw-attach-b", "tgw-attach-a", "tgw-attach-f", "tgw-attach-v"),
    "tgw-attach-unseen",
)
TRANSIT_GATEWAY_ROUTES = _routes_to_blocks(ATTACHMENTS)
"""A transit gateway's routes to its attachments."""
