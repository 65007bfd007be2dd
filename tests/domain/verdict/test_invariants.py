"""What must not change a verdict: the order of anything, and networks that are unrelated."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.networks import SUBNETS, parameters, snapshots

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def verdicts(snapshot: Snapshot, rule: RuleParameters) -> list[Verdict]:
    """Every field of every subnet's verdict."""
    evaluator = Evaluator(Tracer(snapshot), rule)
    return [evaluator.verdict(subnet_id) for subnet_id in SUBNETS]


def shuffled(value: object, data: st.DataObject) -> object:
    """The same record with every mapping and every tuple of records below it in another order."""
    if isinstance(value, Mapping):
        keys = data.draw(st.permutations(list(value)))
        return {key: shuffled(value[key], data) for key in keys}
    if isinstance(value, Cidr) or not (isinstance(value, tuple) or is_dataclass(value)):
        return value
    if isinstance(value, tuple):
        return tuple(shuffled(record, data) for record in data.draw(st.permutations(value)))
    return replace(value, **{field.name: shuffled(getattr(value, field.name), data) for field in fields(value)})


@settings(max_examples=150)
@given(snapshot=snapshots(), rule=parameters(), data=st.data())
def test_order_does_not_matter(snapshot: Snapshot, rule: RuleParameters, data: st.DataObject) -> None:
    """In whatever order AWS lists tables, routes, associations, lists and entries, every word of the verdict stays."""
    assert verdicts(shuffled(snapshot, data), rule) == verdicts(snapshot, rule)


@settings(max_examples=75)
@given(snapshot=snapshots(), rule=parameters())
def test_earlier_verdicts_do_not_matter(snapshot: Snapshot, rule: RuleParameters) -> None:
    """A verdict does not depend on the subnets that were evaluated before it, and is the same the second time."""
    evaluator = Evaluator(Tracer(snapshot), rule)
    backwards = [evaluator.verdict(subnet_id) for subnet_id in reversed(SUBNETS)]
    assert backwards[::-1] == verdicts(snapshot, rule) == [evaluator.verdict(subnet_id) for subnet_id in SUBNETS]


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


@settings(max_examples=150)
@given(snapshot=snapshots(), other=snapshots(), rule=parameters())
def test_an_unrelated_network_changes_nothing(snapshot: Snapshot, other: Snapshot, rule: RuleParameters) -> None:
    """VPCs, tables, endpoints and transit gateways that no path of a subnet meets leave its verdict as it was."""
    both = {
        name: {**elsewhere(getattr(other, name) or {}), **getattr(snapshot, name)}
        for name in (*NETWORK, *TRANSIT)
        if getattr(snapshot, name) is not None
    }
    assert verdicts(replace(snapshot, **both), rule) == verdicts(snapshot, rule)
