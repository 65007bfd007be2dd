"""Winning routes, and the addresses of a block that they decide."""

from collections import Counter
from ipaddress import ip_network
from random import Random

from hypothesis import given, settings

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.path.routing import AddressSet, RoutingIndex
from tests.support.brute_force import BruteForce
from tests.support.drawing import SEEDS, Draw, composite, lists, sampled_from
from tests.support.make import snapshot
from tests.support.random_networks import BASES, NAT64_BASE, blocks, parameters, prefix_lists, routes

TARGETS = ("nat-1", "igw-1", "tgw-1")


def addresses(block: Cidr) -> list[object]:
    """Every address of a block."""
    return list(ip_network(str(block)))


@composite
def address_sets(draw: Draw) -> AddressSet:
    """A block with disjoint holes."""
    holes: list[Cidr] = []
    for block in draw(lists(blocks(BASES[Family.IPV4], 1), max_size=6)):
        if not any(set(addresses(block)) & set(addresses(hole)) for hole in holes):
            holes.append(block)
    return AddressSet(BASES[Family.IPV4], tuple(holes))


@given(seed=SEEDS)
def test_the_blocks_of_an_address_set_are_its_addresses(seed: int) -> None:
    """Its blocks contain each address of the set once, and none of the holes."""
    address_set = address_sets()(Random(seed))
    found = Counter(address for block in address_set.blocks() for address in addresses(block))
    holes = {address for hole in address_set.holes for address in addresses(hole)}
    assert found == Counter(set(addresses(address_set.block)) - holes)


@settings(max_examples=150)
@given(seed=SEEDS)
def test_split_blocks_are_a_partition_by_winning_route(seed: int) -> None:
    """Each address of a block is in one of them, with the routes that a scan of all routes finds for it."""
    random = Random(seed)
    table, known, rule = routes(TARGETS)(random), prefix_lists()(random), parameters()(random)
    block = blocks(sampled_from([*BASES.values(), NAT64_BASE])(random))(random)
    scan = BruteForce(snapshot(prefix_lists=known), rule)
    found = Counter()
    for routed in RoutingIndex(table, known).split(block):
        for address in (member for piece in routed.addresses.blocks() for member in addresses(piece)):
            found[address] += 1
            assert sorted(map(repr, routed.routes)) == sorted(map(repr, scan.winners(address, list(table), known)))
    assert found == Counter(addresses(block))
