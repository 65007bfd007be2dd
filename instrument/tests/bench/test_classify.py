"""What limits a sweep: simulated, published, and recorded measurements, also with noise and without a step."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.classifier import KINDS, RUNS, confusion, pairs
from express_path_cli.nat.saturation import Growth, SaturationEvidence, ThroughputLimit, classify
from express_path_instrument.bench.classify import cause_of, growth_of, load_points
from express_path_instrument.bench.results import BenchResult, Latency
from express_path_instrument.bench.results_reader import read_bench
from instrument.tests.bench.published import endpoint, nat

RECORDED = Path(__file__).parent / "recorded"
PUBLISHED = {"published-nat-gateway": nat, "published-endpoint": endpoint}
CAUSES = {
    "published-nat-gateway": {ThroughputLimit.CEILING},
    "published-endpoint": {ThroughputLimit.UNDETERMINED},
    "lab-nat": {ThroughputLimit.CEILING},
    "lab-endpoint": {ThroughputLimit.NOT_SATURATED, ThroughputLimit.FLATTENING, ThroughputLimit.UNDETERMINED},
    "busy-client": {ThroughputLimit.CLIENT_BOUND},
    "throttled": {ThroughputLimit.THROTTLED},
}
"""The recorded measurements, and what may be said about each alone. The lab's client was busy in part."""


def test_classification_of_simulated_sweeps() -> None:
    """No kind is called what it is not: no path is blamed by one run, and noise is not called flattening."""
    found = confusion()
    wrong = {kind: counts for kind, counts in found.items() if not counts.keys() <= KINDS[kind][1]}
    assert wrong == {}
    assert all(counts.total() == RUNS for counts in found.values())
    assert found["linear, 5 % noise"][ThroughputLimit.NOT_SATURATED] >= RUNS * 0.9


@pytest.mark.long
def test_a_path_is_blamed_only_after_two_paths_took_turns() -> None:
    """In 600 pairs, whatever changes meanwhile, only a NAT that was measured in turns with another path is the limit."""
    found = pairs()
    assert sum(counts.total() for counts in found.values()) == 600
    assert {kind: counts[True] for kind, counts in found.items() if counts[True]} == {"NAT, in turns": 60}


def recorded(name: str) -> BenchResult:
    """Return a recorded or published measurement."""
    if name in PUBLISHED:
        return PUBLISHED[name]()
    return read_bench(RECORDED / f"{name}.json")


def cause(result: BenchResult) -> ThroughputLimit:
    """Return what limits a measurement."""
    return cause_of(load_points(result))


@pytest.mark.parametrize(("name", "expected"), CAUSES.items())
def test_recorded_measurement_is_classified(name: str, expected: set[ThroughputLimit]) -> None:
    """Each recorded measurement has the cause that is known for it."""
    assert cause(recorded(name)) in expected


@pytest.mark.parametrize(
    ("cpu", "other", "expected"),
    [
        (85.0, 0.0, ThroughputLimit.CLIENT_BOUND),
        (84.0, 0.0, ThroughputLimit.UNDETERMINED),
        (60.0, 0.0, ThroughputLimit.UNDETERMINED),
        (59.0, 0.0, ThroughputLimit.CEILING),
        (20.0, 45.0, ThroughputLimit.UNDETERMINED),
        (20.0, 30.0, ThroughputLimit.CEILING),
        (None, 0.0, ThroughputLimit.UNDETERMINED),
    ],
)
def test_processors_decide_what_a_plateau_can_mean(cpu: float | None, other: float, expected: ThroughputLimit) -> None:
    """From 85 % on it is the client's, below 60 % it is not, and between them, or with other work, nobody can tell."""
    result = recorded("published-nat-gateway")
    steps = tuple(replace(step, cpu_percent=cpu, other_cpu_percent=other) for step in result.steps)
    assert cause(replace(result, steps=steps)) is expected


@pytest.mark.parametrize(
    ("sent", "throttled", "expected"),
    [
        (10_000, 5, ThroughputLimit.UNDETERMINED),
        (2_000, 5, ThroughputLimit.THROTTLED),
        (39, 1, ThroughputLimit.UNDETERMINED),
        (35, 5, ThroughputLimit.THROTTLED),
    ],
)
def test_few_503_are_not_throttling(sent: int, throttled: int, expected: ThroughputLimit) -> None:
    """Neither one 503 in 40 requests nor one in two thousand explains throughput."""
    result = recorded("published-endpoint")
    steps = tuple(replace(step, requests=sent, errors={"503": throttled}) for step in result.steps)
    assert cause(replace(result, steps=steps)) is expected


@pytest.mark.parametrize("loads", [(1,), (48, 64), (64, 64)])
def test_loads_that_are_too_few_or_too_alike_show_nothing(loads: tuple[int, ...]) -> None:
    """A verdict needs loads that differ at least by a factor of two."""
    result = recorded("published-nat-gateway")
    steps = tuple(step for load in loads for step in result.steps if step.connections == load)
    assert growth_of(load_points(replace(result, steps=steps))) is None
    assert cause(replace(result, steps=steps)) is ThroughputLimit.UNDETERMINED


def test_sweep_without_answers_is_flat() -> None:
    """Steps in which nothing succeeded have no throughput, and nothing divides by zero."""
    result = recorded("published-nat-gateway")
    steps = tuple(replace(step, gbps=0, requests_per_second=0, latency=Latency()) for step in result.steps)
    assert growth_of(load_points(replace(result, steps=steps))) is Growth.FLAT


def test_points_are_medians_of_repeats() -> None:
    """A load's point has the median of its repeats."""
    step = recorded("published-endpoint").steps[0]
    repeats = tuple(
        replace(step, repeat=index, gbps=gbps, latency=Latency(p99=p99))
        for index, (gbps, p99) in enumerate(((1.0, 30.0), (3.0, 10.0), (2.0, 20.0)))
    )
    [point] = load_points(replace(recorded("published-endpoint"), steps=repeats))
    assert (point.gbps, point.latency("p99")) == (2.0, 20.0)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (SaturationEvidence(Growth.FLAT, path_reports_limit=True), ThroughputLimit.PATH_CEILING),
        (SaturationEvidence(Growth.FLAT), ThroughputLimit.UNDETERMINED),
        (SaturationEvidence(Growth.LINEAR, path_reports_limit=True), ThroughputLimit.NOT_SATURATED),
        (SaturationEvidence(Growth.FLAT, throttled=True, client_cpu_percent=100), ThroughputLimit.THROTTLED),
        (SaturationEvidence(Growth.FLAT, throttled=True, hanging=True), ThroughputLimit.HANGING),
    ],
)
def test_evidence_decides(evidence: SaturationEvidence, expected: ThroughputLimit) -> None:
    """Metrics of a NAT gateway and steps of a sweep are judged alike."""
    assert classify(evidence) is expected
