"""Symptoms in a NAT gateway's metrics, with their times, and a clear result if there are none."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import pi, sin
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from express_path_cli.nat.metrics import Meter, Series
from express_path_cli.traffic.symptoms import (
    MAX_JITTER,
    MAX_JITTER_RATIO,
    METRICS,
    MIN_PERIODS,
    Diagnosis,
    MeterState,
    Plateau,
    Severity,
    Symptom,
    SymptomFinding,
    diagnose,
    plateaus,
)

START = datetime(2026, 3, 1, tzinfo=UTC)


END = START + timedelta(hours=8)


PERIOD = 300


PERIODS = 96


METER = Meter("nat-1")


PACKET = 1000.0


"""Bytes of a packet, where a test does not say otherwise."""


def time(index: int) -> datetime:
    """The start of a period."""
    return START + index * timedelta(seconds=PERIOD)


def series(metric: str, values: Mapping[int, float] | Sequence[float], meter: Meter = METER) -> Series:
    """Return a metric's values by the index of their periods."""
    by_index = values if isinstance(values, Mapping) else dict(enumerate(values))
    return Series(meter, metric, PERIOD, tuple((time(index), value) for index, value in by_index.items()))


def diagnosed(gbps: Sequence[float], packet: float = PACKET, **metrics: Mapping[int, float]) -> Diagnosis:
    """Return the diagnosis of a gateway with this traffic, a tenth of it outbound, and these other metrics."""
    carried = [rate * 1e9 / 8 * PERIOD for rate in gbps]
    packets = [size / packet for size in carried]
    nothing = [0.0] * len(gbps)
    given = [
        series("BytesOutToDestination", [size / 10 for size in carried]),
        series("BytesOutToSource", [size * 9 / 10 for size in carried]),
        series("PacketsInFromSource", [number / 2 for number in packets]),
        series("PacketsInFromDestination", [number / 2 for number in packets]),
        *(series(metric, metrics.get(metric, nothing)) for metric in METRICS if metric not in BASIC),
    ]
    return diagnose(METER, given, START, END, PERIOD)


BASIC = ("BytesOutToDestination", "BytesOutToSource", "PacketsInFromSource", "PacketsInFromDestination")


QUIET = [0.4, 0.9, 1.3, 0.7] * 24


FLAT = [*QUIET[:24], *[25.0] * 38, *QUIET[:34]]


def only(diagnosis: Diagnosis) -> SymptomFinding:
    """Return the only finding of a diagnosis."""
    (finding,) = diagnosis.findings
    return finding


def test_a_plateau_alone_may_be_the_clients_own_limit() -> None:
    """A plateau without drops is MEDIUM, with its time, its level, and the other metrics of that time."""
    diagnosis = diagnosed(FLAT, PeakBytesPerSecond={30: 3.2e9, 2: 9e9}, ActiveConnectionCount={30: 40_000, 31: 61_000})
    finding = only(diagnosis)
    assert finding == SymptomFinding(
        Symptom.PLATEAU, Severity.MEDIUM, time(24), time(62), pytest.approx(25e9), "bit/s", finding.evidence
    )
    assert finding.evidence["peakBitsPerSecond"] == 25.6e9
    assert finding.evidence["activeConnections"] == 61_000
    assert finding.evidence["jitter"] == 0
    assert finding.evidence["usualJitter"] > 0
    assert finding.evidence["droppedPackets"] == finding.evidence["droppedShare"] == 0
    assert diagnosis.state is MeterState.SYMPTOMS


@pytest.mark.parametrize(
    "metrics",
    [{"PacketsDropCount": {40: 36e6}}, {"ErrorPortAllocation": {40: 10.0}}],
    ids=["drops", "ports"],
)
def test_drops_or_refusals_meanwhile_make_a_plateau_certain(metrics: Mapping[str, Mapping[int, float]]) -> None:
    """A plateau with more than 0.01 % of packets dropped, or with port allocation errors, is HIGH."""
    plateau, other = diagnosed(FLAT, **metrics).findings
    assert (plateau.symptom, plateau.severity) == (Symptom.PLATEAU, Severity.HIGH)
    assert other.severity is Severity.HIGH
    assert (other.start, other.end) == (time(40), time(41))


def test_a_plateau_at_the_last_ceiling_is_certain() -> None:
    """A plateau at 100 Gbit/s is HIGH, because no gateway scales further."""
    assert only(diagnosed([*QUIET[:24], *[96.0] * 38, *QUIET[:34]], packet=8000)).severity is Severity.HIGH


def test_small_packets_meet_another_ceiling_than_bytes() -> None:
    """A million packets of 100 bytes are less than 5 Gbit/s, so the plateau is in packets/s."""
    finding = only(diagnosed([*[rate / 10 for rate in QUIET[:24]], *[0.96] * 38, *[0.1] * 34], packet=100))
    assert finding == SymptomFinding(
        Symptom.PLATEAU, Severity.MEDIUM, time(24), time(62), pytest.approx(1.2e6), "packets/s", finding.evidence
    )


def test_bytes_and_packets_that_are_flat_together_are_one_plateau() -> None:
    """Plateaus of bytes and packets at the same time are one finding, and at different times two."""
    loads = [*QUIET[:8], *[25.0] * 30, *QUIET[:8]]
    small = [*[rate / 100 for rate in QUIET[:4]], *[3.9] * 30, *QUIET[:16]]
    carried = [rate * 1e9 / 8 * PERIOD for rate in [*loads, *small]]
    packets = [size / (PACKET if index < len(loads) else 100) for index, size in enumerate(carried)]
    given = [
        series("BytesOutToDestination", [0.0] * PERIODS),
        series("BytesOutToSource", carried),
        series("PacketsInFromSource", [0.0] * PERIODS),
        series("PacketsInFromDestination", packets),
        series("PacketsDropCount", [0.0] * PERIODS),
    ]
    diagnosis = diagnose(METER, given, START, END, PERIOD)
    assert [(finding.unit, finding.start) for finding in diagnosis.findings] == [
        ("bit/s", time(8)),
        ("packets/s", time(50)),
    ]
    assert "portAllocationErrors" not in diagnosis.findings[0].evidence


@pytest.mark.parametrize(
    ("dropped", "severity", "state"),
    [(900.0, Severity.LOW, MeterState.NO_SIGN), (1e5, Severity.MEDIUM, MeterState.SYMPTOMS)],
)
def test_only_many_drops_are_a_symptom(dropped: float, severity: Severity, state: MeterState) -> None:
    """Up to 0.01 % of the received packets are no symptom. Below the lowest limit, the service may have a problem."""
    diagnosis = diagnosed(QUIET, PacketsDropCount={3: dropped})
    finding = only(diagnosis)
    expected = (Symptom.PACKETS_DROPPED, severity, time(3), time(4), dropped, "packets")
    assert finding == SymptomFinding(*expected, evidence=finding.evidence)
    assert finding.evidence["droppedShare"] == pytest.approx(dropped / (0.7e9 / 8 * PERIOD / PACKET))
    assert diagnosis.state is state


def test_drops_whose_share_is_unknown_count_as_many() -> None:
    """If the number of received packets is unknown, drops count as more than 0.01 %."""
    diagnosis = diagnose(METER, [series("PacketsDropCount", {3: 5.0})], START, END, PERIOD)
    assert only(diagnosis).severity is Severity.MEDIUM
    assert "droppedShare" not in only(diagnosis).evidence


def test_events_less_than_an_hour_apart_are_one() -> None:
    """Events less than an hour apart are one finding, with one start, end, and sum."""
    diagnosis = diagnosed(QUIET, PacketsDropCount={3: 8.0, 4: 0.0, 15: 2.0, 28: 9.0})
    assert [(finding.start, finding.end, finding.value) for finding in diagnosis.findings] == [
        (time(3), time(16), 10),
        (time(28), time(29), 9),
    ]


@pytest.mark.parametrize(
    ("groups", "every", "expected"),
    [
        ([9.0] * 20, timedelta(minutes=72), [(180, Severity.HIGH)]),
        ([1.0] * 30, timedelta(hours=23), [(30, Severity.LOW)]),
        ([9.0, 9.0], timedelta(days=2), [(9, Severity.LOW), (9, Severity.LOW)]),
    ],
    ids=["180 in a day", "one a day", "nine every other day"],
)
def test_failed_connections_count_by_the_day(
    groups: Sequence[float], every: timedelta, expected: Sequence[tuple[float, Severity]]
) -> None:
    """However they are grouped, ten failed connections in a day are a symptom, and fewer are not."""
    points = tuple((START + number * every, value) for number, value in enumerate(groups))
    failed = Series(METER, "ErrorPortAllocation", PERIOD, points)
    diagnosis = diagnose(METER, [failed], START, START + 60 * timedelta(days=1), PERIOD)
    assert [(finding.value, finding.severity) for finding in diagnosis.findings] == expected


def test_one_failed_connection_is_no_symptom() -> None:
    """A single port allocation error in a day, also during a plateau, does not make anything HIGH."""
    assert diagnosed(QUIET, ErrorPortAllocation={3: 1.0}).state is MeterState.NO_SIGN
    severities = {
        finding.symptom: finding.severity for finding in diagnosed(FLAT, ErrorPortAllocation={40: 1.0}).findings
    }
    assert severities == {Symptom.PLATEAU: Severity.MEDIUM, Symptom.PORT_ALLOCATION_ERRORS: Severity.LOW}


@pytest.mark.parametrize(
    ("gbps", "metrics", "severity"),
    [
        ([8.0] * PERIODS, {}, Severity.LOW),
        ([0.0] * 40 + [8.0] * 30 + [0.0] * 26, {}, Severity.LOW),
        (FLAT, {"PeakBytesPerSecond": dict.fromkeys(range(24, 62), 30e9 / 8)}, Severity.LOW),
        (FLAT, {"PeakBytesPerSecond": dict.fromkeys(range(24, 62), 26e9 / 8)}, Severity.MEDIUM),
        ([8.0] * PERIODS, {"PacketsDropCount": {40: 36e6}}, Severity.HIGH),
    ],
    ids=["steady all day", "steady and idle", "higher for ten seconds", "never higher", "steady with drops"],
)
def test_steady_traffic_is_not_called_a_limit(
    gbps: Sequence[float], metrics: Mapping[str, Mapping[int, float]], severity: Severity
) -> None:
    """A plateau needs drops, or other traffic that varies and no ten seconds above it, to be more than LOW."""
    found = {finding.symptom: finding.severity for finding in diagnosed(gbps, **metrics).findings}
    assert found[Symptom.PLATEAU] is severity


def test_bursts_that_stop_at_one_height_are_found() -> None:
    """Ten-second peaks at a limit show, although the means of the periods vary far below it."""
    random = Random(5)
    peaks = [random.uniform(5, 20) for _ in range(40)] + [24.9 * random.gauss(1, 0.003) for _ in range(30)]
    metrics = {"PeakBytesPerSecond": {index: peak * 1e9 / 8 for index, peak in enumerate(peaks)}}
    finding = only(diagnosed([random.uniform(0.5, 4) for _ in range(PERIODS)], **metrics))
    assert (finding.symptom, finding.severity) == (Symptom.PEAKS_FLAT, Severity.MEDIUM)
    assert (finding.start, finding.end, finding.value) == (time(40), time(70), pytest.approx(24.9e9, rel=0.01))


@pytest.mark.parametrize(
    ("metric", "value", "unit"), [("PeakBytesPerSecond", 11.5e9, "bit/s"), ("PeakPacketsPerSecond", 9.2e6, "packets/s")]
)
def test_ten_seconds_near_the_last_ceiling_are_seen(metric: str, value: float, unit: str) -> None:
    """The highest ten seconds of each minute show bursts that averages hide."""
    finding = only(diagnosed(QUIET, **{metric: {5: value, 6: value / 2}}))
    in_unit = value * 8 if unit == "bit/s" else value
    assert finding == SymptomFinding(
        Symptom.PEAK_NEAR_LIMIT, Severity.MEDIUM, time(5), time(6), in_unit, unit, finding.evidence
    )
    both = diagnosed(QUIET, **{metric: {5: value}, "PacketsDropCount": {5: 1e6}}).findings
    assert {finding.severity for finding in both if finding.symptom is Symptom.PEAK_NEAR_LIMIT} == {Severity.HIGH}


def test_the_worst_comes_first() -> None:
    """Findings are sorted by severity, then by symptom, then by time."""
    diagnosis = diagnosed(
        FLAT, PacketsDropCount={2: 1.0, 90: 1e6}, ErrorPortAllocation={70: 10.0, 1: 10.0}, PeakBytesPerSecond={0: 12e9}
    )
    assert [(finding.symptom, finding.severity, finding.start) for finding in diagnosis.findings] == [
        (Symptom.PORT_ALLOCATION_ERRORS, Severity.HIGH, time(1)),
        (Symptom.PLATEAU, Severity.MEDIUM, time(24)),
        (Symptom.PACKETS_DROPPED, Severity.MEDIUM, time(90)),
        (Symptom.PEAK_NEAR_LIMIT, Severity.MEDIUM, time(0)),
        (Symptom.PACKETS_DROPPED, Severity.LOW, time(2)),
    ]


@pytest.mark.parametrize(
    ("gbps", "state", "missing"),
    [
        (QUIET, MeterState.NO_SIGN, 0),
        ([0.003] * PERIODS, MeterState.NO_SIGN, 0),
        (QUIET[:48], MeterState.NO_SIGN, 0.5),
        ([0.0] * PERIODS, MeterState.IDLE, 0),
        ([], MeterState.NO_DATA, 1),
    ],
)
def test_a_gateway_without_symptoms_has_its_own_state(gbps: Sequence[float], state: MeterState, missing: float) -> None:
    """Normal traffic, a steady low rate, no traffic, and no datapoints have no findings, but different states."""
    diagnosis = diagnosed(gbps)
    assert (diagnosis.findings, diagnosis.state, diagnosis.missing) == ((), state, missing)


def test_only_the_meters_own_series_count() -> None:
    """Metrics of another zone of the same gateway do not count."""
    zone = Meter("nat-1", "us-east-1a")
    other = [series(metric, [1e12] * PERIODS, zone) for metric in METRICS]
    assert diagnose(METER, other, START, END, PERIOD).state is MeterState.NO_DATA
    assert diagnose(zone, other, START, END, PERIOD).state is MeterState.SYMPTOMS


@settings(max_examples=60)
@given(
    values=st.dictionaries(
        st.sampled_from(sorted(METRICS)),
        st.dictionaries(st.integers(0, PERIODS - 1), st.floats(0, 1e13), max_size=40),
    ),
    data=st.data(),
)
def test_whatever_is_measured_findings_lie_in_the_window_and_order_is_nothing(
    values: Mapping[str, Mapping[int, float]], data: st.DataObject
) -> None:
    """Every finding has a time in the window and a value, and the order of the series does not matter."""
    given_series = [series(metric, dict(sorted(points.items()))) for metric, points in values.items()]
    diagnosis = diagnose(METER, given_series, START, END, PERIOD)
    for finding in diagnosis.findings:
        assert START <= finding.start < finding.end <= END
        assert finding.value > 0
    assert diagnose(METER, data.draw(st.permutations(given_series)), START, END, PERIOD) == diagnosis


DAY = 288


FIVE_MINUTES = timedelta(minutes=5)


LEAST = 4.5e9


CEILING = 25e9


def at(values: list[float], period: timedelta = FIVE_MINUTES) -> list[tuple[datetime, float]]:
    """Return a point for each value, one per period."""
    return [(START + index * period, value) for index, value in enumerate(values)]


def found(values: list[float], period: timedelta = FIVE_MINUTES) -> list[Plateau]:
    """Return the plateaus of these values."""
    return plateaus(at(values, period), period, LEAST)


def free_traffic(random: Random, periods: int = DAY) -> list[float]:
    """Return a day's traffic that rises and falls around 20 Gbit/s, up to 36, with 6 % jitter."""
    return [
        20e9 * (1 + 0.8 * sin(2 * pi * index / periods - 1.3)) * max(0, random.gauss(1, 0.06))
        for index in range(periods)
    ]


def limited(random: Random, ceiling: float = CEILING) -> list[float]:
    """Return the same traffic with a limit."""
    return [min(value, ceiling * random.gauss(1, 0.003)) for value in free_traffic(random)]


def test_traffic_under_a_ceiling_runs_flat() -> None:
    """The plateau covers the time in which traffic would be higher, at the limit, with less jitter than the rest."""
    (plateau,) = found(limited(Random(1)))
    assert plateau.level == pytest.approx(CEILING, rel=0.01)
    assert timedelta(hours=8) < plateau.end - plateau.start < timedelta(hours=11)
    assert plateau.jitter < 0.01
    assert plateau.usual_jitter == pytest.approx(0.08, abs=0.03)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 0.1))
def test_lone_gaps_do_not_hide_a_plateau(seed: int, share: float) -> None:
    """Single missing datapoints are skipped: the plateau keeps its level and most of its time."""
    random = Random(seed)
    points = at(limited(random))
    kept = [points[0]]
    for here in points[1:]:
        if kept[-1][0] < here[0] - FIVE_MINUTES or random.random() >= share:
            kept.append(here)
    (whole,) = plateaus(points, FIVE_MINUTES, LEAST)
    parts = plateaus(kept, FIVE_MINUTES, LEAST)
    assert parts
    assert all(part.level == pytest.approx(whole.level, rel=0.02) for part in parts)
    assert sum((part.end - part.start for part in parts), timedelta()) > 0.7 * (whole.end - whole.start)


def test_a_long_gap_ends_a_plateau() -> None:
    """Throughput without datapoints is unknown, so a long gap gives two plateaus."""
    points = at([0.2e9] * 20 + [CEILING] * 60 + [0.2e9] * 20)
    without = [point for index, point in enumerate(points) if not 45 <= index < 48]
    assert [(plateau.start, plateau.end) for plateau in plateaus(without, FIVE_MINUTES, LEAST)] == [
        (points[20][0], points[45][0]),
        (points[48][0], points[80][0]),
    ]


def test_lone_spikes_and_dips_belong_to_the_plateau() -> None:
    """A single burst or pause changes neither the length nor the level of a plateau."""
    values = [1e9] * 30 + [CEILING] * 60 + [1e9] * 30
    values[50], values[70] = 1.3 * CEILING, 0.2 * CEILING
    (plateau,) = found(values)
    assert (plateau.start, plateau.end, plateau.level) == (
        START + 30 * FIVE_MINUTES,
        START + 90 * FIVE_MINUTES,
        CEILING,
    )


def test_each_height_that_a_gateway_scales_to_is_a_plateau() -> None:
    """Higher traffic afterwards does not remove an earlier plateau."""
    values = [1e9] * 30 + [10e9] * 24 + [25e9] * 24 + [1e9] * 30
    assert [plateau.level for plateau in found(values)] == [10e9, 25e9]


def test_traffic_that_went_higher_before_is_not_at_a_ceiling() -> None:
    """Flat traffic below an earlier maximum of the gateway is not at a limit."""
    random = Random(3)
    before = [40e9 * random.gauss(1, 0.08) for _ in range(60)]
    assert found(before + [CEILING] * 60) == []


def test_a_window_that_is_flat_throughout_is_a_plateau() -> None:
    """If a whole window is flat, there is no other traffic to compare with, so it must have very little jitter."""
    random = Random(4)
    (plateau,) = found([CEILING * random.gauss(1, 0.004) for _ in range(DAY)])
    assert plateau.usual_jitter is None
    assert plateau.end - plateau.start == timedelta(days=1)
    assert found([CEILING * random.gauss(1, 0.02) for _ in range(DAY)]) == []


@pytest.mark.parametrize("level", [0.0, 3e6, 1e9, 4.4e9])
def test_a_trickle_is_no_ceiling(level: float) -> None:
    """Flat traffic below the lowest limit of a NAT gateway is not a plateau."""
    assert found([level] * DAY) == []


@pytest.mark.parametrize(
    ("period", "periods"), [(timedelta(minutes=1), 18), (FIVE_MINUTES, MIN_PERIODS), (timedelta(hours=1), MIN_PERIODS)]
)
def test_a_plateau_lasts_eighteen_minutes_and_twelve_periods(period: timedelta, periods: int) -> None:
    """A plateau with one period less is not found."""
    around = [1e9, 2e9] * 20
    (plateau,) = found([*around, *[CEILING] * periods, *around], period)
    assert plateau.end - plateau.start == periods * period
    assert found([*around, *[CEILING] * (periods - 1), *around], period) == []


@pytest.mark.parametrize(
    "shape",
    [
        lambda share: sin(pi * share),
        lambda share: 1 - (2 * share - 1) ** 2,
        lambda share: 1 - abs(2 * share - 1),
        lambda share: 0.8 + 0.2 * share,
        lambda share: 1 - 0.5 * share,
        lambda share: share**0.5,
    ],
    ids=["sine", "parabola", "triangle", "rise", "fall", "root"],
)
@pytest.mark.parametrize("periods", [50, DAY, 1440])
def test_smooth_traffic_is_not_flat(shape: Callable[[float], float], periods: int) -> None:
    """A rounded peak or a slow drift stays within the band for a long time, and is not a plateau."""
    assert found([30e9 * shape(index / periods) for index in range(periods)]) == []


# Noise can look like anything once in several thousand days, so these days are the same in every run.
@settings(max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_day_of_free_traffic_has_no_plateau(seed: int) -> None:
    """A rounded peak with jitter is not at a limit."""
    assert found(free_traffic(Random(seed))) == []


@settings(max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.15, 0.5))
def test_noise_invents_no_plateau(seed: int, spread: float) -> None:
    """Random traffic, with or without a dependence on earlier values, has no plateau."""
    random = Random(seed)
    memory = random.choice([0.0, 0.5])
    value, values = 0.0, []
    for _ in range(DAY):
        value = memory * value + random.gauss(0, spread)
        values.append(max(0.0, 20e9 * (1 + value)))
    assert found(values) == []


@settings(max_examples=200)
@given(
    values=st.lists(st.one_of(st.floats(0, 120e9), st.sampled_from([24.5e9, 25e9, 25.1e9, 25.3e9] * 5)), max_size=60),
    period=st.sampled_from([60, 300, 3600]),
)
def test_what_is_found_is_what_was_defined(values: list[float], period: int) -> None:
    """For any points, plateaus do not overlap and are in order, long, high, and within the window."""
    length = timedelta(seconds=period)
    all_found = found(values, length)
    assert all(here.end <= there.start for here, there in pairwise(all_found))
    for plateau in all_found:
        assert START <= plateau.start < plateau.end <= START + len(values) * length
        assert plateau.end - plateau.start >= max(MIN_PERIODS * length, timedelta(minutes=18))
        assert LEAST <= plateau.level <= 120e9
        assert 0 <= plateau.jitter <= max(MAX_JITTER, MAX_JITTER_RATIO * (plateau.usual_jitter or 0))


def test_of_overlapping_runs_the_longest_counts() -> None:
    """Two steps closer together than the band give two overlapping runs, and one plateau."""
    values = [1e9, 2e9] * 20 + [24.1e9] * 3 + [24.6e9] * 40 + [25.38e9] * 4 + [1e9] * 20
    (plateau,) = found(values)
    assert (plateau.start, plateau.end) == (START + 43 * FIVE_MINUTES, START + 87 * FIVE_MINUTES)
