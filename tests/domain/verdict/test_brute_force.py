"""The core against an address-by-address search."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings

from express_path.domain.path.hops import INGRESS_ONLY, REGIONAL_NAT_CLOSED
from express_path.domain.path.reasons import Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from tests.support.brute_force import BruteForce
from tests.support.drawing import SEEDS
from tests.support.random_networks import APPLIANCES, FOLLOWED, FORWARDING, SUBNETS, TRANSIT, parameters, snapshots

SITUATIONS = {
    "a subnet in the own table of a regional NAT gateway",
    "two tables claim a subnet",
    "a firewall that forwards",
    "a firewall that translates",
    "a firewall that cannot be read",
    "a closed NAT gateway",
    "a closed regional NAT gateway",
    "an internet gateway under block-ingress",
    "a transit gateway attachment in a closed subnet",
    "an IPv6 list that is not seen",
}
"""What random networks must contain often enough for the search to find a mistake about it."""
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

LEADING_ON = {
    "every kind of target": FOLLOWED,
    "appliances' endpoints": APPLIANCES,
    "interfaces": FORWARDING,
    "transit gateway": TRANSIT,
    "interfaces behind endpoints": (*APPLIANCES, *FORWARDING),
    "appliances beyond a transit gateway": (*APPLIANCES, *TRANSIT * 2),
}


@pytest.mark.parametrize("followed", LEADING_ON.values(), ids=LEADING_ON)
@settings(max_examples=120)
@given(seed=SEEDS)
def test_agrees_with_a_search_of_every_address(followed: tuple[str, ...], seed: int) -> None:
    """Compliance and reason are those of following each address along each route."""
    random = Random(seed)
    snapshot, rule = snapshots(followed)(random), parameters()(random)
    evaluator, brute_force = Evaluator(Tracer(snapshot), rule), BruteForce(snapshot, rule)
    for subnet_id in (*SUBNETS, "subnet-gone"):
        verdict = evaluator.verdict(subnet_id)
        assert (subnet_id, verdict.compliance, verdict.reason) == (subnet_id, *brute_force.verdict(subnet_id))


def situations(tracer: Tracer, verdict: Verdict) -> Iterator[str]:
    """Yield which of SITUATIONS decides a verdict."""
    hops = {hop.id for hop in verdict.path}
    if verdict.route_table_id and verdict.route_table_id == tracer.snapshot.nat_gateways["nat-1"].route_table_id:
        yield "a subnet in the own table of a regional NAT gateway"
    if len(tracer.claiming_tables(tracer.snapshot.subnets[verdict.subnet_id])) > 1:
        yield "two tables claim a subnet"
    if "vpce-firewall" in hops and verdict.reason is Reason.ENDPOINT:
        yield "a firewall that forwards"
    if "vpce-firewall" in hops and verdict.reason is Reason.NAT_BEHIND_APPLIANCE:
        yield "a firewall that translates"
    if "no AWS Network Firewall that can be read" in verdict.note:
        yield "a firewall that cannot be read"
    if "blocks the NAT gateway's subnet" in verdict.note:
        yield "a closed NAT gateway"
    if verdict.note == REGIONAL_NAT_CLOSED:
        yield "a closed regional NAT gateway"
    if verdict.note == INGRESS_ONLY:
        yield "an internet gateway under block-ingress"
    if "tgw-1" in hops and "Block Public Access blocks it" in verdict.note:
        yield "a transit gateway attachment in a closed subnet"
    if "has an IPv6 prefix list here cannot be read" in verdict.note:
        yield "an IPv6 list that is not seen"


def test_random_networks_contain_what_is_rare() -> None:
    """In one subnet of 2,000 at least, each situation decides the verdict. The search looks at several thousand subnets."""
    found: Counter[str] = Counter()
    subnets = 0
    for number, followed in enumerate(LEADING_ON.values()):
        draw = snapshots(followed)
        for seed in range(400):
            random = Random(1000 * number + seed)
            tracer, rule = Tracer(draw(random)), parameters()(random)
            evaluator = Evaluator(tracer, rule)
            for subnet_id in SUBNETS:
                verdict = evaluator.verdict(subnet_id)
                subnets += 1
                found.update(situations(tracer, verdict))
    assert {name: found[name] for name in SITUATIONS if found[name] * 2000 < subnets} == {}
