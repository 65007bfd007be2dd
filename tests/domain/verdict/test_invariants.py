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


def elsewhere(value: object) -> object:
    """The same network with other ids, the prefix lists' excepted."""
    if isinstance(value, Mapping):
        return {elsewhere(key): elsewhere(record) for key, record in value.items()}
    if isinstance(value, str) and type(value) is str and "-" in value and not value.startswith("pl-"):
        return f"{value}-elsewhere"
    if isinstance(value, Cidr) or not (isinstance(value, tuple) or is_dataclass(value)):
        return value
    if isinstance(value, tuple):
        return tuple(map(elsewhere, value))
    return replace(value, **{field.name: elsewhere(getattr(value, field.name)) for field in fields(value)})


NETWORK = ("vpcs", "subnets", "route_tables", "vpc_endpoints", "nat_gateways", "network_interfaces")
TRANSIT = ("transit_gateway_attachments", "transit_gateway_route_tables")


def beside(snapshot: Snapshot, other: Snapshot) -> Snapshot:
    """The snapshot with the resources of another one under ids of their own, where both could be read."""
    both = {
        name: {**elsewhere(getattr(other, name) or {}), **getattr(snapshot, name)}
        for name in (*NETWORK, *TRANSIT)
        if getattr(snapshot, name) is not None
    }
    return replace(snapshot, **both)


@settings(max_examples=50)
@given(seed=SEEDS)
def test_an_unrelated_network_changes_nothing(seed: int) -> None:
    """VPCs, tables, endpoints and transit gateways that no path of a subnet meets leave its verdict as it was."""
    random = Random(seed)
    networks, rule = [snapshots()(random) for _ in range(3)], parameters()(random)
    for snapshot, other in zip(networks, (*networks[1:], networks[0]), strict=True):
        assert verdicts(beside(snapshot, other), rule) == verdicts(snapshot, rule)
