"""What the lab must show is checked against two measurements."""

from dataclasses import replace
from pathlib import Path

from express_path_instrument.bench.compare import Comparison, compare
from express_path_instrument.bench.results import BenchResult
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.lab.claims import claims
from express_path_instrument.lab.results import route_change_plot
from express_path_instrument.lab.route_change import RouteChange

RECORDED = Path(__file__).parents[1] / "bench" / "recorded"
LIMIT = 23.7e6
"""The NAT's limit in the recorded run of the lab, in bit/s."""


def nat() -> BenchResult:
    """Return the lab's recorded measurement of the NAT's path."""
    return read_bench(RECORDED / "lab-nat.json")


def endpoint() -> BenchResult:
    """Return the lab's recorded measurement of the endpoint's path."""
    return read_bench(RECORDED / "lab-endpoint.json")


def held(comparison: Comparison, limit: float = LIMIT) -> list[bool]:
    """Return which claims hold, in their order."""
    return [claim.holds for claim in claims(comparison, limit)]


def test_recorded_run_shows_the_ceiling() -> None:
    """All claims hold for the run that docs/traffic.md shows, and each has its number."""
    found = list(claims(compare([nat(), endpoint()]), LIMIT))
    assert [claim.holds for claim in found] == [True] * 5
    assert all(any(character.isdigit() for character in claim.measured) for claim in found)


def test_claims_fail_if_both_paths_are_alike() -> None:
    """Without a NAT's limit, the path is not flat, p99 does not climb, and the endpoint is not faster."""
    assert held(compare([replace(endpoint(), label="a"), endpoint()]))[:3] == [False, False, False]


def test_repeats_that_disagree_are_reported() -> None:
    """A path whose repeats differ by more than 10 % does not hold."""
    steps = tuple(replace(step, gbps=step.gbps * (0.5 + step.repeat / 4)) for step in nat().steps)
    assert held(compare([replace(nat(), steps=steps), endpoint()]))[3:] == [False, True]


def test_single_run_has_no_claim_about_repeats() -> None:
    """The quick run measures once, so nothing is said about repeats."""
    once = [
        replace(result, repeats=1, steps=tuple(step for step in result.steps if step.repeat == 1))
        for result in (nat(), endpoint())
    ]
    assert len(held(compare(once))) == 3


def test_route_change_is_drawn_by_second() -> None:
    """Each variant is one line; the title says when the route was added."""
    change = RouteChange(True, 8, {"ConnectionResetError": 8}, 0.1, 1.9, [1e6, 1e6, 2e9])
    plot = route_change_plot((change, replace(change, resets=False)))
    assert [line.name for line in plot.series] == ["resets", "no resets"]
    assert plot.series[0].points == ((0.5, 1e6), (1.5, 1e6), (2.5, 2e9))
    assert "after 1.9 s" in plot.title
