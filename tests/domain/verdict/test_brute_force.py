"""The core against an address-by-address search."""

from random import Random

import pytest
from hypothesis import given, settings

from express_path.domain.network.merging import merged
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from tests.support.brute_force import BruteForce
from tests.support.drawing import SEEDS
from tests.support.random_networks import (
    APPLIANCES,
    FOLLOWED,
    FORWARDING,
    SUBNETS,
    TRANSIT,
    parameters,
    partly,
    snapshots,
)

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


@pytest.mark.parametrize("followed", LEADING_ON.values(), ids=LEADING_ON)
@settings(max_examples=100)
@given(seed=SEEDS)
def test_agrees_where_accounts_disagree(followed: tuple[str, ...], seed: int) -> None:
    """Each account's description of a resource counts wherever a path meets it, and the worst result is reported.

    The search knows only the worst outcome of each address, so by one of the descriptions, some of them may use the endpoint.
    """
    random = Random(seed)
    snapshot, rule = snapshots(followed)(random), parameters()(random)
    other = partly(snapshot, snapshots(followed)(random), random)
    evaluator = Evaluator(Tracer(merged([snapshot, other])), rule)
    brute_force = BruteForce(snapshot, rule, other)
    for subnet_id in SUBNETS:
        verdict = evaluator.verdict(subnet_id)
        if verdict.reason == "PARTLY_NAT" and brute_force.is_partly_in_one_description(subnet_id):
            continue
        assert (subnet_id, verdict.compliance, verdict.reason) == (subnet_id, *brute_force.verdict(subnet_id))
