"""What the lab must show is checked against published measurements, and fails for those that do not show it."""

from dataclasses import replace

import pytest

from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.compare import Comparison, compare
from express_path_instrument.bench.results import BenchResult
from express_path_instrument.lab.claims import claims
from express_path_instrument.lab.results import route_change_plot, with_limit
from express_path_instrument.lab.route_change import RouteChange
from instrument.tests.bench.published import endpoint, nat

LIMIT = 24.9e9
"""The limit of the published NAT gateway, in bit/s."""


def scaled(result: BenchResult, factor: float) -> BenchResult:
    """Return a measurement with other throughput."""
    steps = tuple(
        replace(step, gbps=step.gbps * factor, requests_per_second=step.requests_per_second * factor)
        for step in result.steps
    )
    return replace(result, steps=steps)


def control(factor: float = 1.05) -> BenchResult:
    """Return the measurement of a NAT without a limit."""
    return replace(scaled(endpoint(), factor), label="control")


def held(comparison: Comparison, limit: float = LIMIT) -> list[bool]:
    """Return which claims hold, in their order."""
    return [claim.holds for claim in claims(comparison, limit)]


def test_published_measurement_shows_what_the_lab_must_show() -> None:
    """All claims hold for the measurement on AWS, and each has its number."""
    found = list(claims(compare([nat(), endpoint(), control()]), LIMIT))
    assert [claim.holds for claim in found] == [True] * 5
    assert all(claim.measured for claim in found)


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (compare([replace(endpoint(), label="a"), endpoint(), control()]), [False, False, False, True, False]),
        (compare([scaled(nat(), 0.5), endpoint(), control()]), [False, True, True, True, True]),
        (compare([nat(), endpoint(), control(0.85)]), [True, True, True, False, True]),
        (compare([nat(), endpoint(), replace(nat(), label="control")]), [True, True, True, False, False]),
    ],
    ids=["no limit", "another limit", "a slow NAT", "a limit in the control"],
)
def test_claims_fail_if_the_lab_does_not_show_them(comparison: Comparison, expected: list[bool]) -> None:
    """Each claim fails for a lab that is not what it should be."""
    assert held(comparison) == expected


def test_repeats_that_disagree_are_reported() -> None:
    """A path whose repeats differ by more than 10 % does not hold."""
    calm, wild = (
        replace(
            nat(), repeats=2, steps=(*nat().steps, *(replace(step, repeat=2) for step in scaled(nat(), factor).steps))
        )
        for factor in (1.02, 1.5)
    )
    for result, expected in ((calm, [True]), (wild, [False])):
        assert held(compare([result, endpoint(), control()]))[5:] == expected


def test_the_limit_is_drawn() -> None:
    """The plot of throughput has a flat line at the NAT's limit."""
    plot = with_limit(plots_of(compare([nat(), endpoint(), control()]))[0], LIMIT)
    assert {y for _, y in plot.series[-1].points} == {LIMIT}
    assert plot.series[-1].is_model


def test_route_change_is_drawn_by_second() -> None:
    """Each variant is one line; the title says when the route was added."""
    change = RouteChange(True, 8, {"ConnectionResetError": 8}, 0.1, 1.9, [1e6, 1e6, 2e9])
    plot = route_change_plot((change, replace(change, resets=False)))
    assert [line.name for line in plot.series] == ["resets", "no resets"]
    assert plot.series[0].points == ((0.5, 1e6), (1.5, 1e6), (2.5, 2e9))
    assert "after 1.9 s" in plot.title
