"""What must not change a verdict: the order of anything, and networks that are unrelated."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from random import Random

import pytest
from hypothesis import given, settings

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.drawing import SEEDS
from tests.support.random_networks import SUBNETS, parameters, shuffled, snapshots

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def verdicts(snapshot: Snapshot, rule: RuleParameters) -> list[Verdict]:
    """Every field of every subnet's verdict."""
    evaluator = Evaluator(Tracer(snapshot), rule)
    return [evaluator.verdict(subnet_id) for subnet_id in SUBNETS]


def reordered(value: object, order: Random) -> object:
    """The same record with every mapping and every tuple of records below it in another order."""
    if isinstance(value, Mapping):
        return {key: reordered(value[key], order) for key in shuffled(list(value), order)}
    if isinstance(value, Cidr) or not (isinstance(value, tuple) or is_dataclass(value)):
        return value
    if isinstance(value, tuple):
        return tuple(reordered(record, order) for record in shuffled(value, order))
    return replace(value, **{field.name: reordered(getattr(value, field.name), order) for field in fields(value)})


@settings(max_examples=150)
@given(seed=SEEDS)
def test_order_does_not_matter(seed: int) -> None:
    """Verdicts do not depend on the order of resources, nor on which subnets were evaluated before."""
    random = Random(seed)
    snapshot, rule = snapshots()(random), parameters()(random)
    expected = verdicts(snapshot, rule)
    assert verdicts(reordered(snapshot, random), rule) == expected
    evaluator = Evaluator(Tracer(snapshot), rule)
    assert [evaluator.verdict(subnet_id) for subnet_id in reversed(SUBNETS)] == expected[::-1]
    assert [evaluator.verdict(subnet_id) for subnet_id in SUBNETS] == expected
