"""The page on the rule's own cost shows what the sandbox counts, at the prices in the repository."""

from collections.abc import Iterator

import pytest

from benchmarks import rule_cost
from benchmarks.rule_cost_counts import PRIVATE_SUBNETS, Occasions, counted, scaled
from config_rule_sandbox.pytest_plugin import emptied
from config_rule_sandbox.server import Sandbox

pytestmark = pytest.mark.long
PRICES = rule_cost.read_prices()


@pytest.fixture(scope="module")
def occasions(running_sandbox: Sandbox) -> Iterator[Occasions]:
    """Return what is counted, only once."""
    with pytest.MonkeyPatch.context() as patches, emptied(running_sandbox, patches) as sandbox:
        yield counted(sandbox)


def test_page_is_current(occasions: Occasions) -> None:
    """Run `python -m benchmarks.rule_cost` after a change, and read the difference."""
    text = rule_cost.DOCUMENT.read_text(encoding="utf-8")
    assert rule_cost.written(text, occasions, PRICES) == text


def test_sweep_posts_only_changes(occasions: Occasions) -> None:
    """A new rule posts every verdict once, an update and a sweep post none, and a sweep reads the earlier gauges once."""
    assert occasions.created.evaluations == occasions.created.subnets
    assert (occasions.updated.evaluations, occasions.sweep.evaluations) == (0, 0)
    assert occasions.sweep.metric_requests == 3


def test_an_idle_place_costs_less_than_a_dollar(occasions: Occasions) -> None:
    """If every subnet is COMPLIANT, a sweep emits no metric of its own, and a month costs at most $0.65.

    $0.30 of that are the alarms of the integrations.
    """
    assert occasions.gauges == ("NonCompliant",)
    assert occasions.idle_gauges == ()
    assert rule_cost.total(occasions, PRICES, rule_cost.IDLE) <= 0.65


def test_changes_cost_evaluations_of_the_subnets_concerned(occasions: Occasions) -> None:
    """A new endpoint publishes each changed verdict once; a change without effect publishes none."""
    assert occasions.verdict_change.events == PRIVATE_SUBNETS
    assert occasions.other_change.events == 0
    assert occasions.other_change.evaluations < occasions.other_change.subnets


def test_snapshot_grows_with_the_subnets(occasions: Occasions) -> None:
    """EventBridge charges for each 64 KB, so a sweep of 100 times the subnets has more events, and no evaluations."""
    larger = scaled(occasions.sweep, 100 * occasions.sweep.subnets)
    assert larger.events > occasions.sweep.events
    assert (larger.evaluations, larger.invocations) == (0, 1)


def test_prices_are_parameters(occasions: Occasions) -> None:
    """Twice the price of an evaluation is twice that charge and nothing else."""
    dearer = {**PRICES, "config": {**PRICES["config"], "evaluation": 2 * PRICES["config"]["evaluation"]}}
    before, after = (rule_cost.charges(occasions, found, rule_cost.BUSY) for found in (PRICES, dearer))
    differences = {one.what: two.dollars - one.dollars for one, two in zip(before, after, strict=True)}
    assert differences.pop("AWS Config: evaluations") == pytest.approx(before[0].dollars)
    assert set(differences.values()) == {0}


def test_every_price_is_used(occasions: Occasions) -> None:
    """Without a price, the calculation fails, so the file has no price that nothing needs."""
    for service, prices in PRICES.items():
        for unit in prices:
            without = {**PRICES, service: {name: price for name, price in prices.items() if name != unit}}
            with pytest.raises(KeyError, match=unit):
                list(rule_cost.tables(occasions, without))
