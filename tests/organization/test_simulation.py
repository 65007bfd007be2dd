"""A small organization under load: messages are late, repeated, and out of order, and functions fail now and then."""

import os
from collections import Counter
from unittest.mock import patch

import pytest

from sandbox.server import Sandbox
from tests.organization.simulated.expectations import (
    Scan,
    check_consumer,
    check_findings,
    check_gauges,
    check_results,
    differing_reasons,
)
from tests.organization.simulated.simulation import Simulation

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

REGIONS = ("us-east-1", "eu-north-1")


def check(sandbox: Sandbox, accounts: int, regions: tuple[str, ...], changes: int, seed: int = 1) -> Counter[str]:
    """Check that nothing was lost before the last sweep, and everything equals fresh scans after it; return what happened."""
    with patch.dict(os.environ, sandbox.environment()):
        simulation = Simulation(sandbox, accounts, regions, seed)
        simulation.sweep()
        simulation.change(changes)
        for place in simulation.places:
            scan = Scan.of(place)
            check_results(place, scan)
            assert differing_reasons(place, scan, simulation.consumer) <= place.unpublished
        simulation.clean_up()
        simulation.sweep(trouble_seconds=300.0)
        simulation.sweep()
        for place in simulation.places:
            scan = Scan.of(place)
            check_results(place, scan)
            check_consumer(place, scan, simulation.consumer)
            check_findings(place, scan)
            check_gauges(place, scan)
    return simulation.happened


def test_everything_equals_fresh_scans_at_the_end(sandbox: Sandbox) -> None:
    """Results, findings, gauges, and a consumer's verdicts are right, and nothing is open for a deleted subnet."""
    happened = check(sandbox, 2, REGIONS, changes=40)
    assert happened["changes"] == 40
    assert happened["events that failed all retries"]
    assert happened["messages of Security Hub's function delivered again"]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_larger_organization(sandbox: Sandbox) -> None:
    """With a thousand changes in 30 accounts and Regions, everything is right at the end, too."""
    check(sandbox, 10, (*REGIONS, "us-west-2"), changes=1000)


@pytest.mark.parametrize("seed", [2])
def test_other_orders_and_failures(sandbox: Sandbox, seed: int) -> None:
    """One account has more changes in each Region, so that more of them overlap. Add seeds to look for faults."""
    check(sandbox, 1, REGIONS, changes=20, seed=seed)
