"""What limits a sweep: published and recorded measurements, also with noise, a missing step, and in any order."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from express_path_cli.nat.saturation import SaturationEvidence, ThroughputLimit, classify
from express_path_instrument.bench.classify import cause_of, load_points
from express_path_instrument.bench.results import BenchResult, Latency, Step
from express_path_instrument.bench.results_reader import read_bench

RECORDED = Path(__file__).parent / "recorded"
CAUSES = {
    "published-nat-gateway": ThroughputLimit.PATH_CEILING,
    "published-endpoint": ThroughputLimit.NOT_SATURATED,
    "lab-nat": ThroughputLimit.PATH_CEILING,
    "lab-endpoint": ThroughputLimit.NOT_SATURATED,
    "busy-client": ThroughputLimit.CLIENT_BOUND,
    "throttled": ThroughputLimit.THROTTLED,
}
"""The recorded measurements, and what limited them. For the published ones, only the highest CPU is known."""


def recorded(name: str) -> BenchResult:
    """Return a recorded measurement."""
    return read_bench(RECORDED / f"{name}.json")


def cause(result: BenchResult) -> ThroughputLimit:
    """Return what limits a measurement."""
    return cause_of(load_points(result))


def noisy(step: Step, speed: float, tail: float, cpu: float) -> Step:
    """Return a step with its throughput, latency, and CPU multiplied by these factors."""
    return replace(
        step,
        gbps=step.gbps * speed,
        requests_per_second=step.requests_per_second * speed,
        latency=Latency(
            p50=step.latency.p50 and step.latency.p50 * tail, p99=step.latency.p99 and step.latency.p99 * tail
        ),
        cpu_peak_percent=step.cpu_peak_percent and min(100.0, step.cpu_peak_percent * cpu),
    )


def test_every_recorded_measurement_has_an_expected_cause() -> None:
    """No recording is left out."""
    assert {file.stem for file in RECORDED.glob("*.json")} == set(CAUSES)


@pytest.mark.parametrize(("name", "expected"), CAUSES.items())
def test_recorded_measurement_is_classified(name: str, expected: ThroughputLimit) -> None:
    """Each recorded measurement has the cause that is known for it."""
    assert cause(recorded(name)) is expected


@pytest.mark.parametrize(("name", "expected"), CAUSES.items())
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_cause_survives_noise_a_missing_step_and_any_order(
    name: str, expected: ThroughputLimit, data: st.DataObject
) -> None:
    """With 10 % noise on every number, without one of the loads, and with the steps in any order, it is the same."""
    result = recorded(name)
    factor = st.floats(0.9, 1.1)
    loads = sorted({step.connections or 0 for step in result.steps})
    missing = data.draw(st.sampled_from([None, *loads]), "missing")
    kept = [
        noisy(step, data.draw(factor), data.draw(factor), data.draw(factor))
        for step in result.steps
        if step.connections != missing
    ]
    steps = data.draw(st.permutations(kept))
    assert cause(replace(result, steps=tuple(steps))) is expected


def test_busy_client_is_never_blamed_on_the_path() -> None:
    """The published plateau with a busy client is the client's, and without known CPU it is undetermined."""
    result = recorded("published-nat-gateway")
    for cpu, expected in (
        (95.0, ThroughputLimit.CLIENT_BOUND),
        (79.0, ThroughputLimit.PATH_CEILING),
        (None, ThroughputLimit.UNDETERMINED),
    ):
        steps = tuple(replace(step, cpu_peak_percent=cpu) for step in result.steps)
        assert cause(replace(result, steps=steps)) is expected


def test_few_503_are_not_throttling() -> None:
    """Less than one 503 in a thousand answers does not explain throughput, but two in a thousand do."""
    result = recorded("published-endpoint")
    for share, expected in ((0.0005, ThroughputLimit.NOT_SATURATED), (0.002, ThroughputLimit.THROTTLED)):
        steps = tuple(replace(step, errors={"503": round(step.requests * share)}) for step in result.steps)
        assert cause(replace(result, steps=steps)) is expected


@pytest.mark.parametrize("loads", [(1,), (48, 64), (64, 64)])
def test_loads_that_are_too_alike_show_no_plateau(loads: tuple[int, ...]) -> None:
    """A plateau needs loads that differ at least by a factor of two."""
    result = recorded("published-nat-gateway")
    steps = tuple(step for load in loads for step in result.steps if step.connections == load)
    assert cause(replace(result, steps=steps)) is ThroughputLimit.NOT_SATURATED


def test_sweep_without_answers_is_flat() -> None:
    """Steps in which nothing succeeded have no throughput, so they are a plateau, and nothing divides by zero."""
    result = recorded("published-nat-gateway")
    steps = tuple(replace(step, gbps=0, requests_per_second=0, latency=Latency()) for step in result.steps)
    assert cause(replace(result, steps=steps)) is ThroughputLimit.UNDETERMINED


def test_points_are_medians_of_repeats() -> None:
    """A load's point has the median of its repeats, their TP80, and the range of their p99."""
    step = recorded("published-endpoint").steps[0]
    repeats = tuple(
        replace(step, repeat=index, gbps=gbps, latency=Latency(p99=p99))
        for index, (gbps, p99) in enumerate(((1.0, 30.0), (3.0, 10.0), (2.0, 20.0)))
    )
    [point] = load_points(replace(recorded("published-endpoint"), steps=repeats))
    assert (point.gbps, point.gbps_tp80, point.p99_ms, point.p99_range_ms) == (
        2.0,
        pytest.approx(2.6),
        20.0,
        (10.0, 30.0),
    )


def test_open_loop_is_classified_by_its_rate() -> None:
    """A path that does not keep up with the rate has a plateau, too."""
    rates = (100.0, 200.0, 400.0, 800.0)
    base = recorded("published-endpoint")
    steps = tuple(
        replace(
            base.steps[0],
            connections=None,
            rate_per_second=rate,
            requests_per_second=min(rate, 250),
            gbps=min(rate, 250) / 100,
            latency=Latency(p50=10 * rate / 100, p99=30 * rate / 100),
        )
        for rate in rates
    )
    assert cause(replace(base, steps=steps)) is ThroughputLimit.PATH_CEILING


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (SaturationEvidence(plateau=True, path_reports_limit=True), ThroughputLimit.PATH_CEILING),
        (SaturationEvidence(plateau=True), ThroughputLimit.UNDETERMINED),
        (SaturationEvidence(plateau=True, latency_climbs=True), ThroughputLimit.UNDETERMINED),
        (SaturationEvidence(plateau=True, client_cpu_percent=10), ThroughputLimit.UNDETERMINED),
        (SaturationEvidence(plateau=False, path_reports_limit=True), ThroughputLimit.NOT_SATURATED),
        (SaturationEvidence(plateau=True, throttled_share=0.5, client_cpu_percent=100), ThroughputLimit.THROTTLED),
    ],
)
def test_evidence_decides(evidence: SaturationEvidence, expected: ThroughputLimit) -> None:
    """Metrics of a NAT gateway and steps of a sweep are judged alike."""
    assert classify(evidence) is expected
