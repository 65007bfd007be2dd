"""Symptoms in a NAT gateway's metrics, with their times, and a clear result if there are none."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from express_path_cli.nat.metrics import Meter, Series
from express_path_cli.traffic.symptoms import (
    METRICS,
    Diagnosis,
    MeterState,
    Severity,
    Symptom,
    SymptomFinding,
    diagnose,
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
    [{"PacketsDropCount": {40: 36e6}}, {"ErrorPortAllocation": {40: 1.0}}],
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


def test_few_drops_are_no_symptom() -> None:
    """Drops of up to 0.01 % of the received packets are a LOW finding, not a symptom."""
    diagnosis = diagnosed(QUIET, PacketsDropCount={3: 900.0})
    finding = only(diagnosis)
    expected = (Symptom.PACKETS_DROPPED, Severity.LOW, time(3), time(4), 900, "packets")
    assert finding == SymptomFinding(*expected, evidence=finding.evidence)
    assert finding.evidence["droppedShare"] == pytest.approx(900 / (0.7e9 / 8 * PERIOD / PACKET))
    assert diagnosis.state is MeterState.NO_SIGN


def test_many_drops_are_a_symptom() -> None:
    """Drops above 0.01 % are MEDIUM. Below the lowest limit, the VPC service itself may have a problem."""
    assert only(diagnosed(QUIET, PacketsDropCount={3: 1e5})).severity is Severity.MEDIUM


def test_drops_whose_share_is_unknown_count_as_many() -> None:
    """If the number of received packets is unknown, drops count as more than 0.01 %."""
    diagnosis = diagnose(METER, [series("PacketsDropCount", {3: 5.0})], START, END, PERIOD)
    assert only(diagnosis).severity is Severity.MEDIUM
    assert "droppedShare" not in only(diagnosis).evidence


def test_events_less_than_an_hour_apart_are_one() -> None:
    """Events less than an hour apart are one finding, with one start, end, and sum."""
    diagnosis = diagnosed(QUIET, ErrorPortAllocation={3: 5.0, 4: 0.0, 15: 2.0, 28: 1.0})
    assert [(finding.start, finding.end, finding.value) for finding in diagnosis.findings] == [
        (time(3), time(16), 7),
        (time(28), time(29), 1),
    ]


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
        FLAT, PacketsDropCount={2: 1.0, 90: 1e6}, ErrorPortAllocation={70: 1.0, 1: 1.0}, PeakBytesPerSecond={0: 12e9}
    )
    assert [(finding.symptom, finding.severity, finding.start) for finding in diagnosis.findings] == [
        (Symptom.PORT_ALLOCATION_ERRORS, Severity.HIGH, time(1)),
        (Symptom.PORT_ALLOCATION_ERRORS, Severity.HIGH, time(70)),
        (Symptom.PLATEAU, Severity.MEDIUM, time(24)),
        (Symptom.PACKETS_DROPPED, Severity.MEDIUM, time(90)),
        (Symptom.PEAK_NEAR_LIMIT, Severity.MEDIUM, time(0)),
        (Symptom.PACKETS_DROPPED, Severity.LOW, time(2)),
    ]


@pytest.mark.parametrize(
    ("gbps", "state"),
    [(QUIET, MeterState.NO_SIGN), ([0.003] * PERIODS, MeterState.NO_SIGN), ([0.0] * PERIODS, MeterState.IDLE)],
)
def test_a_gateway_without_symptoms_has_its_own_state(gbps: Sequence[float], state: MeterState) -> None:
    """Normal traffic, a steady low rate, and no traffic have no findings, but different states."""
    diagnosis = diagnosed(gbps)
    assert (diagnosis.findings, diagnosis.state, diagnosis.missing) == ((), state, 0)


def test_no_datapoints_are_no_idle_gateway() -> None:
    """Without datapoints, the state is NO_DATA."""
    diagnosis = diagnose(METER, [series("BytesOutToSource", [1.0])], START, END, PERIOD)
    assert (diagnosis.state, diagnosis.missing, diagnosis.load.carried) == (MeterState.NO_DATA, 1, ())


def test_missing_periods_are_counted() -> None:
    """If half of the periods have no datapoints, half of the window is missing."""
    assert diagnosed(QUIET[:48]).missing == 0.5


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
