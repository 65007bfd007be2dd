"""What the lab must show is checked against published measurements, and fails for those that do not show it."""

import pytest
from msgspec.structs import replace

from express_path_instrument.bench.compare import Comparison, compare
from express_path_instrument.bench.results import BenchResult
from express_path_instrument.lab.claims import Outcome, claims
from instrument.tests.bench import published
from instrument.tests.bench.published import nat

LIMIT = 24.9e9
"""The limit of the published NAT gateway, in bit/s."""
SHOWN, REFUTED, NOT_SHOWN = Outcome.SHOWN, Outcome.REFUTED, Outcome.NOT_SHOWN


def with_cpu(result: BenchResult, client: float | None, other: float = 0.0) -> BenchResult:
    """Return a measurement with another use of the processors."""
    steps = (replace(step, cpu_percent=client, other_cpu_percent=other) for step in result.steps)
    return replace(result, steps=tuple(steps))


def endpoint() -> BenchResult:
    """Return the published measurement of an endpoint, whose CPU was not published."""
    return with_cpu(published.endpoint(), 20.0)


def scaled(result: BenchResult, factor: float, only: int | None = None) -> BenchResult:
    """Return a measurement with other throughput, at one number of connections or at all."""
    steps = tuple(
        replace(step, gbps=step.gbps * factor, requests_per_second=step.requests_per_second * factor)
        if only in {None, step.connections}
        else step
        for step in result.steps
    )
    return replace(result, steps=steps)


def control(factor: float = 1.05, only: int | None = None) -> BenchResult:
    """Return the measurement of a NAT without a limit."""
    return scaled(endpoint(), factor, only)


def compared(*results: BenchResult) -> Comparison:
    """Return the comparison of a NAT, an endpoint, and a control, the first two of which were measured in turns."""
    names = ("NAT", "endpoint", "control", "NAT again", "endpoint again")
    turns = published.in_turns("ABCAB").values()
    paths = zip((*results, *results[:2]), turns, strict=True)
    found = (replace(result, path=turn.path, made_at=turn.made_at) for result, turn in paths)
    return compare(dict(zip(names, found, strict=True)))


def outcomes(comparison: Comparison) -> list[Outcome]:
    """Return what is shown, in the order of the claims."""
    return [claim.outcome for claim in claims(comparison, LIMIT)]


def test_published_measurement_shows_what_the_lab_must_show() -> None:
    """All claims hold for the measurement on AWS, and each has its number."""
    found = list(claims(compared(nat(), endpoint(), control()), LIMIT))
    assert [claim.outcome for claim in found] == [SHOWN] * 6
    assert all(claim.measured for claim in found)
    assert "connections x size / limit is 658 ms" in found[1].measured


@pytest.mark.parametrize(
    ("comparison", "refuted"),
    [
        (compared(endpoint(), endpoint(), control()), {0, 1, 2, 3}),
        (compared(scaled(nat(), 0.5), endpoint(), control()), {0}),
        (compared(nat(), endpoint(), control(0.85, only=64)), {4}),
        (compared(nat(), endpoint(), nat()), {4, 5}),
    ],
    ids=["no limit", "another limit", "a NAT that is slow at last", "a limit in the control"],
)
def test_claims_are_refuted_if_the_lab_does_not_show_them(comparison: Comparison, refuted: set[int]) -> None:
    """Each claim fails for a lab that is not what it should be."""
    assert {number for number, outcome in enumerate(outcomes(comparison)) if outcome is REFUTED} == refuted
    assert NOT_SHOWN not in outcomes(comparison)


@pytest.mark.parametrize(
    ("which", "client", "other", "not_shown"),
    [
        ("nat", 20.0, 45.0, {0, 1, 2, 3}),
        ("endpoint", 61.0, 0.0, {2, 3, 4, 5}),
        ("control", None, 0.0, {4, 5}),
        ("control", 20.0, 30.0, set()),
    ],
)
def test_a_busy_machine_shows_nothing(which: str, client: float | None, other: float, not_shown: set[int]) -> None:
    """Claims about a path that was measured on a busy machine are neither shown nor refuted, whatever the numbers say."""
    for factor in (1.0, 0.5):
        runs = {"nat": nat(), "endpoint": endpoint(), "control": control()}
        runs[which] = with_cpu(scaled(runs[which], factor), client, other)
        found = outcomes(compared(*runs.values()))
        assert {number for number, outcome in enumerate(found) if outcome is NOT_SHOWN} == not_shown
