"""One run of the simulation from an empty organization to the last sweep, compared with fresh scans."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from unittest.mock import patch

from config_rule_sandbox.server import Sandbox
from tests.organization.simulated.expectations import (
    Scan,
    differing_findings,
    differing_gauges,
    differing_reasons,
    differing_results,
    differing_verdicts,
)
from tests.organization.simulated.place import Place
from tests.organization.simulated.simulation import Simulation, Size

SWEEP_TROUBLE_SECONDS = 300.0


@dataclass
class Outcome:
    """What a run showed.

    `before` and `after` have what differed from fresh scans before and after the last sweep, by subject. `unpublished`
    are the subnets whose report a function made and could not publish.
    """

    happened: Counter[str] = field(default_factory=Counter)
    before: dict[str, list[str]] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=dict)
    unpublished: frozenset[str] = frozenset()


def run(sandbox: Sandbox, size: Size, seed: int) -> Outcome:
    """Run the simulation in an empty sandbox. The seed decides which changes and faults occur."""
    outcome = Outcome()
    with patch.dict(os.environ, sandbox.environment()):
        simulation = Simulation(sandbox, size, seed)
        simulation.sweep()
        simulation.change()
        outcome.before = _differences(simulation, _before)
        simulation.clean_up()
        simulation.sweep(trouble_seconds=SWEEP_TROUBLE_SECONDS)
        simulation.sweep()
        outcome.after = _differences(simulation, _after)
    outcome.happened = simulation.happened
    outcome.unpublished = frozenset().union(*(place.unpublished for place in simulation.places))
    return outcome


def _differences(
    simulation: Simulation, compare: Callable[[Simulation, Place, Scan], dict[str, Iterator[str]]]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for place in simulation.places:
        for subject, rows in compare(simulation, place, Scan.of(place)).items():
            found.setdefault(subject, []).extend(rows)
    return found


def _before(simulation: Simulation, place: Place, scan: Scan) -> dict[str, Iterator[str]]:
    return {
        "results of AWS Config": differing_results(place, scan),
        "reasons at the consumer": differing_reasons(place, scan, simulation.consumer),
        "findings of Security Hub": differing_findings(place, scan),
    }


def _after(simulation: Simulation, place: Place, scan: Scan) -> dict[str, Iterator[str]]:
    return {
        "results of AWS Config": differing_results(place, scan),
        "verdicts at the consumer": differing_verdicts(place, scan, simulation.consumer),
        "findings of Security Hub": differing_findings(place, scan),
        "gauges": differing_gauges(place, scan),
    }
