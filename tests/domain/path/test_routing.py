"""Winning routes and the parts of a block that they decide."""

from collections import Counter
from ipaddress import ip_network

from hypothesis import given, settings
from hypothesis import strategies as st

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import PrefixList, Route
from express_path.domain.path.routing import AddressSet, RoutingIndex
from tests.support.brute_force import BruteForce
from tests.support.make import snapshot
from tests.support.networks import parameters
from tests.support.random_routes import BASES, NAT64_BASE, blocks, prefix_lists, routes

TARGETS = ("nat-1", "igw-1", "tgw-1")


def addresses(block: Cidr) -> list[object]:
    """Every address of a block."""
    return list(ip_network(str(block)))


@st.composite
def regions(draw: st.DrawFn) -> AddressSet:
    """A block with disjoint holes."""
    holes: list[Cidr] = []
    for each in draw(st.lists(blocks(BASES[Family.IPV4], 1), max_size=6)):
        if not any(set(addresses(each)) & set(addresses(hole)) for hole in holes):
            holes.append(each)
    return AddressSet(BASES[Family.IPV4], tuple(holes))


@given(regions())
def test_the_blocks_of_a_region_are_its_addresses(region: AddressSet) -> None:
    """Its blocks hold each address of the region once, and none of the holes."""
    found = Counter(address for block in region.blocks() for address in addresses(block))
    holes = {address for hole in region.holes for address in addresses(hole)}
    assert found == Counter(set(addresses(region.block)) - holes)


@settings(max_examples=150)
@given(table=routes(TARGETS), lists=prefix_lists(), rule=parameters(), data=st.data())
def test_parts_are_a_partition_by_winning_route(
    table: tuple[Route, ...], lists: dict[str, PrefixList], rule: object, data: st.DataObject
) -> None:
    """Each address of a block is in one part, with the routes that a scan of all routes finds for it."""
    block = data.draw(st.one_of(blocks(BASES[Family.IPV4]), blocks(BASES[Family.IPV6]), blocks(NAT64_BASE)))
    scan = BruteForce(snapshot(prefix_lists=lists), rule)
    found = Counter()
    for part in RoutingIndex(table, lists).split(block):
        for address in (each for piece in part.addresses.blocks() for each in addresses(piece)):
            found[address] += 1
            assert sorted(map(repr, part.routes)) == sorted(map(repr, scan.winners(address, list(table))))
    assert found == Counter(addresses(block))
