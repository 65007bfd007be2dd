"""The symptoms of a NAT gateway that is at a limit, in its metrics over time.

The ceilings are AWS's (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html): a NAT gateway
scales automatically from 5 to 100 Gbit/s and from 1 to 10 million packets per second, drops packets above that, and
supports 55,000 connections per address to one destination (address, port and protocol). AWS does not report the current
ceiling, so a plateau counts at any level from the lowest ceiling up. Below it, steady traffic is not throttled.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from math import sqrt
from statistics import fmean, median, quantiles

from express_path.domain.verdict.capacity import NAT_GATEWAY_BASELINE_GBPS, NAT_GATEWAY_PEAK_GBPS
from express_path_cli.nat.metrics import Meter, Series
from express_path_cli.nat.saturation import Growth, SaturationEvidence, ThroughputLimit, classify

Points = Sequence[tuple[datetime, float]]
"""Pairs of (start of period, value): aware times, one pair for each period with a datapoint."""

BAND = 0.05
"""The lowest period of a flat run is at most this share below its highest one."""
LEVEL_TOLERANCE = BAND / 4
"""The largest difference between a run's middle and flanks, or between its halves, as a share of its level."""
MAX_SHARE_ABOVE = 0.02
"""The share of periods up to the run's end that may be higher: bursts that the ceiling did not stop."""
MIN_DURATION = timedelta(minutes=18)
MIN_PERIODS = 12
"""A run has at least this number of periods, and lasts at least MIN_DURATION. Of 60 simulated days of free traffic in
periods of a minute, none had a run of 18 minutes, and two had one of 15."""
MAX_JITTER_RATIO = 0.4
"""A run's jitter is at most this share of the jitter that the window's other traffic has at the run's level."""
MAX_JITTER = 0.02
"""The highest jitter, as a share of the level, if there is no other traffic to compare with."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """From start to end, throughput ran flat at level (the mean), in the unit of the points.

    jitter: the upper quartile of the steps between periods, as a share of the level. usual_jitter: what the window's
    other traffic would have at that level, None if there is too little of it.
    """

    start: datetime
    end: datetime
    level: float
    jitter: float
    usual_jitter: float | None

    def overlaps(self, other: "Plateau") -> bool:
        """Return whether both have some time in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class _FlatRun:
    """Consecutive points, and their smoothed values."""

    points: Points
    smooth: Sequence[float]


def plateaus(points: Points, period: timedelta, min_level: float) -> list[Plateau]:
    """Return the plateaus with a level of at least min_level (> 0), in chronological order; points may be in any order.

    Traffic that nothing limits varies: it drifts, has round peaks, and jitters from period to period. A ceiling cuts
    all that off. So a plateau is a longest run of periods, apart from single periods that are missing or out of line
    (the median of three neighbors), that is

    1. in a band: min >= (1 - BAND) * max, for at least MIN_PERIODS periods and MIN_DURATION;
    2. at the top: almost no period before or in it was higher. Later ones may be: a NAT gateway scales;
    3. level: the means of its middle half and of its flanks are equal within LEVEL_TOLERANCE, and so are those of its
       two halves. A parabola, the shape of any smooth peak near its top, leaves the band with a difference of BAND / 2,
       and a steady rise with BAND / 2 between the halves: both are twice LEVEL_TOLERANCE;
    4. calm: it jitters (upper quartile of the steps) at most MAX_JITTER_RATIO times as much as other traffic. The
       jitter of independent flows grows with the square root of their sum, which is the least that unlimited traffic
       has, so steps are divided by that root before they are compared.
    """
    ordered = sorted(points)
    flat = [run for run in _flat_runs(ordered, period) if fmean(run.smooth) >= min_level]
    inside = {time for run in flat for time, _ in run.points}
    usual = [step for time, step in _steps(ordered, period, rooted=True) if time not in inside]
    kept: list[Plateau] = []
    for run in sorted(flat, key=lambda run: -len(run.points)):
        plateau = _plateau_of(run, period, usual)
        if plateau and not any(plateau.overlaps(other) for other in kept):
            kept.append(plateau)
    return sorted(kept, key=lambda plateau: plateau.start)


def _plateau_of(run: _FlatRun, period: timedelta, usual: Sequence[float]) -> Plateau | None:
    """Return the plateau of a run if it is calm."""
    level = fmean(run.smooth)
    jitter = _upper_quartile([step for _, step in _steps(run.points, period)]) / level
    expected = _upper_quartile(usual) / sqrt(level) if len(usual) >= MIN_PERIODS else 0.0
    if jitter > (MAX_JITTER_RATIO * expected or MAX_JITTER):
        return None
    return Plateau(run.points[0][0], run.points[-1][0] + period, level, jitter, expected or None)


def _steps(points: Points, period: timedelta, *, rooted: bool = False) -> Iterator[tuple[datetime, float]]:
    """Yield the step from each point to the next, if rooted divided by the root of their mean; none between zeros."""
    for (time, here), (later, there) in pairwise(points):
        mean = (here + there) / 2
        if later - time <= 2 * period and mean > 0:
            yield time, abs(there - here) / (sqrt(mean) if rooted else 1)


def _upper_quartile(steps: Sequence[float]) -> float:
    return quantiles(steps, n=4)[2]


def _flat_runs(points: Points, period: timedelta) -> Iterator[_FlatRun]:
    """Yield the longest runs that are in a band, long enough, level and at the top."""
    fewest = shortest_plateau(period) // period
    earlier: list[float] = []
    for stretch in _stretches(points, period):
        smooth = _smoothed([value for _, value in stretch])
        for first, last in _in_band(smooth):
            run = _FlatRun(stretch[first:last], smooth[first:last])
            if last - first >= fewest and _is_level(run.smooth) and _is_top(run.smooth, [*earlier, *smooth[:last]]):
                yield run
        earlier += smooth


def _stretches(points: Points, period: timedelta) -> Iterator[Points]:
    """Yield the points in stretches; a stretch ends where more than one period is missing."""
    first = 0
    for index, (here, there) in enumerate(pairwise(points), 1):
        if there[0] - here[0] > 2 * period:
            yield points[first:index]
            first = index
    yield points[first:]


def _smoothed(values: Sequence[float]) -> list[float]:
    """Return each value's median with its neighbors, which removes single spikes and dips and keeps edges."""
    inner = [median(values[index - 1 : index + 2]) for index in range(1, len(values) - 1)]
    return [*values[:1], *inner, *values[1:][-1:]]


def _in_band(values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Yield the longest runs in a band as (first, last + 1); two monotone queues keep it linear."""
    first = 0
    highest: deque[int] = deque()
    lowest: deque[int] = deque()
    for index, value in enumerate(values):
        while highest and values[highest[-1]] <= value:
            highest.pop()
        while lowest and values[lowest[-1]] >= value:
            lowest.pop()
        highest.append(index)
        lowest.append(index)
        begin = first
        while values[lowest[0]] < (1 - BAND) * values[highest[0]]:
            begin = min(lowest[0], highest[0]) + 1
            for queue in (highest, lowest):
                if queue[0] < begin:
                    queue.popleft()
        if begin > first:
            yield first, index
            first = begin
    yield first, len(values)


def _is_level(values: Sequence[float]) -> bool:
    quarter, half = len(values) // 4, len(values) // 2
    middle, flanks = values[quarter:-quarter], [*values[:quarter], *values[-quarter:]]
    allowed = LEVEL_TOLERANCE * fmean(values)
    bow = abs(fmean(middle) - fmean(flanks))
    return bow <= allowed and abs(fmean(values[:half]) - fmean(values[half:])) <= allowed


def _is_top(values: Sequence[float], so_far: Sequence[float]) -> bool:
    top = max(values)
    return sum(value > top for value in so_far) <= MAX_SHARE_ABOVE * len(so_far)


METRICS: Mapping[str, str] = {
    "BytesOutToDestination": "Sum",
    "BytesOutToSource": "Sum",
    "PacketsInFromSource": "Sum",
    "PacketsInFromDestination": "Sum",
    "PacketsDropCount": "Sum",
    "ErrorPortAllocation": "Sum",
    "PeakBytesPerSecond": "Maximum",
    "PeakPacketsPerSecond": "Maximum",
    "ActiveConnectionCount": "Maximum",
}
"""The metrics that a diagnosis needs, each with the statistic that AWS recommends
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""


@dataclass(frozen=True, slots=True)
class MeterLoad:
    """Points of one meter in chronological order; a period has no point if one of its metrics has none.

    carried: bit/s that left the gateway in both directions, as the mean of a period. arrived: packets that reached
    it. passed: packets/s that it did not drop. dropped: packets. port_errors: connections without a source port.
    peak_bits and peak_packets: the highest rate of any ten seconds, per second. connections: the maximum.
    """

    carried: Points = ()
    arrived: Points = ()
    passed: Points = ()
    dropped: Points = ()
    port_errors: Points = ()
    peak_bits: Points = ()
    peak_packets: Points = ()
    connections: Points = ()


def load_of(series: Iterable[Series], period: int) -> MeterLoad:
    """Return the load from the series of METRICS of one meter; period is theirs, in seconds."""
    metrics = {metric_series.metric: dict(metric_series.points) for metric_series in series}
    arrived = _sum_of(metrics, "PacketsInFromSource", "PacketsInFromDestination")
    dropped = _sum_of(metrics, "PacketsDropCount")
    lost = dict(dropped)
    return MeterLoad(
        carried=_sum_of(metrics, "BytesOutToDestination", "BytesOutToSource", scale=8 / period),
        arrived=arrived,
        passed=tuple((time, (value - lost[time]) / period) for time, value in arrived if time in lost),
        dropped=dropped,
        port_errors=_sum_of(metrics, "ErrorPortAllocation"),
        peak_bits=_sum_of(metrics, "PeakBytesPerSecond", scale=8),
        peak_packets=_sum_of(metrics, "PeakPacketsPerSecond"),
        connections=_sum_of(metrics, "ActiveConnectionCount"),
    )


def _sum_of(metrics: Mapping[str, Mapping[datetime, float]], *names: str, scale: float = 1) -> Points:
    """Return the sum of some metrics in the periods that all of them have, times a scale."""
    values = [metrics.get(name, {}) for name in names]
    times = sorted(set(values[0]).intersection(*values))
    return tuple((time, scale * sum(by_time[time] for by_time in values)) for time in times)


def within(points: Points, start: datetime, end: datetime) -> list[float]:
    """Return the values of the periods that begin from start to before end."""
    return [value for time, value in points if start <= time < end]


def highest(points: Points) -> float:
    """Return the highest value; 0 without points."""
    return max((value for _, value in points), default=0.0)


NEAR_LIMIT = 0.9
"""Throughput from this share of a ceiling up is near it."""
LOWEST_BITS, HIGHEST_BITS = NAT_GATEWAY_BASELINE_GBPS * 1e9, NAT_GATEWAY_PEAK_GBPS * 1e9
LOWEST_PACKETS, HIGHEST_PACKETS = 1e6, 1e7
MANY_PORT_ERRORS = 10
"""From this number of failed connections in a day on, a gateway lacks ports. Fewer are single events."""
BURSTS = 1.15
"""If the highest ten seconds of most periods reach this multiple of a plateau, the gateway was not at a limit."""
MANY_DROPS = 0.0001
"""The share of dropped packets above which AWS suspects a problem
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""
EPISODE_GAP, DAY = timedelta(hours=1), timedelta(days=1)
"""Events further apart than an hour are separate findings; failed connections, if they are further apart than a day."""


class Symptom(StrEnum):
    """The kinds of symptoms."""

    PLATEAU = "PLATEAU"
    PEAKS_FLAT = "PEAKS_FLAT"
    PORT_ALLOCATION_ERRORS = "PORT_ALLOCATION_ERRORS"
    PACKETS_DROPPED = "PACKETS_DROPPED"
    PEAK_NEAR_LIMIT = "PEAK_NEAR_LIMIT"


class Severity(StrEnum):
    """HIGH: traffic is throttled. MEDIUM: it probably is. LOW: nothing shows that it is."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class SymptomFinding:
    """One symptom, from start to end; value is in unit. evidence has the numbers that are known, by name.

    droppedPackets, droppedShare (of packets that arrived), portAllocationErrors, peakBitsPerSecond,
    peakPacketsPerSecond (of any ten seconds), activeConnections (the maximum): during the finding.
    jitter, usualJitter: of a plateau, as shares of its level.
    """

    symptom: Symptom
    severity: Severity
    start: datetime
    end: datetime
    value: float
    unit: str
    evidence: Mapping[str, float]


def findings_of(load: MeterLoad, period: timedelta) -> list[SymptomFinding]:
    """Return all findings: by severity, worst first, then by symptom and time."""
    findings = [*_plateaus(load, period), *_port_errors(load, period), *_drops(load, period), *_peaks(load, period)]
    severities, symptoms = list(Severity), list(Symptom)
    return sorted(
        findings,
        key=lambda finding: (severities.index(finding.severity), symptoms.index(finding.symptom), finding.start),
    )


def _plateaus(load: MeterLoad, period: timedelta) -> Iterator[SymptomFinding]:
    """Yield plateaus in bit/s, and at other times those in packets/s and those of the highest ten seconds.

    Packets of equal size show a plateau of bytes, too, and so do the peaks of a plateau.
    """
    bits = plateaus(load.carried, period, NEAR_LIMIT * LOWEST_BITS)
    packets = plateaus(load.passed, period, NEAR_LIMIT * LOWEST_PACKETS)
    peaks = plateaus(load.peak_bits, period, NEAR_LIMIT * LOWEST_BITS)
    yield from (_plateau(Symptom.PLATEAU, plateau, "bit/s", HIGHEST_BITS, load) for plateau in bits)
    for plateau in packets:
        if not any(plateau.overlaps(other) for other in bits):
            yield _plateau(Symptom.PLATEAU, plateau, "packets/s", HIGHEST_PACKETS, load)
    for plateau in peaks:
        if not any(plateau.overlaps(other) for other in (*bits, *packets)):
            yield _plateau(Symptom.PEAKS_FLAT, plateau, "bit/s", HIGHEST_BITS, load)


def _plateau(symptom: Symptom, plateau: Plateau, unit: str, limit: float, load: MeterLoad) -> SymptomFinding:
    """Return the finding of a plateau: HIGH at a limit, MEDIUM if it may be one, LOW if nothing shows a limit.

    Nothing does if there is no other traffic that varies, or if throughput goes higher for ten seconds in most periods.
    """
    evidence = {"jitter": plateau.jitter, **_evidence(load, plateau.start, plateau.end)}
    if plateau.usual_jitter is not None:
        evidence["usualJitter"] = plateau.usual_jitter
    many_errors = evidence.get("portAllocationErrors", 0) >= MANY_PORT_ERRORS
    at_limit = _many_drops(evidence) or many_errors or plateau.level >= NEAR_LIMIT * limit
    cause = classify(SaturationEvidence(Growth.FLAT, path_reports_limit=bool(at_limit)))
    may_be_limit = plateau.usual_jitter is not None and not _has_bursts(plateau, unit, load)
    severity = Severity.MEDIUM if may_be_limit else Severity.LOW
    if cause is ThroughputLimit.PATH_CEILING:
        severity = Severity.HIGH
    return SymptomFinding(symptom, severity, plateau.start, plateau.end, plateau.level, unit, evidence)


def _has_bursts(plateau: Plateau, unit: str, load: MeterLoad) -> bool:
    peaks = within(load.peak_bits if unit == "bit/s" else load.peak_packets, plateau.start, plateau.end)
    return bool(peaks) and median(peaks) >= BURSTS * plateau.level


def _port_errors(load: MeterLoad, period: timedelta) -> Iterator[SymptomFinding]:
    """Yield failed connections: few in every day are LOW, also if they are many in a month."""
    failed = [(time, value) for time, value in load.port_errors if value]
    for episode in _episodes(failed, period, DAY):
        days = (sum(within(failed, time, time + DAY)) for time, _ in failed if episode.start <= time < episode.end)
        severity = Severity.HIGH if max(days) >= MANY_PORT_ERRORS else Severity.LOW
        yield _finding(Symptom.PORT_ALLOCATION_ERRORS, severity, episode, episode.total, "errors", load)


def _drops(load: MeterLoad, period: timedelta) -> Iterator[SymptomFinding]:
    """Yield dropped packets: few are LOW; many are MEDIUM, or HIGH while the gateway carries enough to have scaled."""
    for episode in _episodes(load.dropped, period):
        severity = Severity.LOW
        if _many_drops(_evidence(load, episode.start, episode.end)):
            busy = any(value >= NEAR_LIMIT * LOWEST_BITS for value in within(load.carried, episode.start, episode.end))
            severity = Severity.HIGH if busy else Severity.MEDIUM
        yield _finding(Symptom.PACKETS_DROPPED, severity, episode, episode.total, "packets", load)


def _peaks(load: MeterLoad, period: timedelta) -> Iterator[SymptomFinding]:
    for points, limit, unit in (
        (load.peak_bits, HIGHEST_BITS, "bit/s"),
        (load.peak_packets, HIGHEST_PACKETS, "packets/s"),
    ):
        near_limit = tuple((time, value) for time, value in points if value >= NEAR_LIMIT * limit)
        for episode in _episodes(near_limit, period):
            many_drops = _many_drops(_evidence(load, episode.start, episode.end))
            severity = Severity.HIGH if many_drops else Severity.MEDIUM
            peak = max(within(points, episode.start, episode.end))
            yield _finding(Symptom.PEAK_NEAR_LIMIT, severity, episode, peak, unit, load)


@dataclass(frozen=True, slots=True)
class _Episode:
    """A time with values other than 0, and their sum."""

    start: datetime
    end: datetime
    total: float


def _episodes(points: Points, period: timedelta, gap: timedelta = EPISODE_GAP) -> list[_Episode]:
    """Return the episodes of some points; values that are less than the gap from each other belong to one episode."""
    episodes: list[_Episode] = []
    for time, value in points:
        if not value:
            continue
        continues = episodes and time - episodes[-1].end < gap
        before = episodes.pop() if continues else _Episode(time, time, 0.0)
        episodes.append(_Episode(before.start, max(before.end, time + period), before.total + value))
    return episodes


def _finding(
    symptom: Symptom, severity: Severity, episode: _Episode, value: float, unit: str, load: MeterLoad
) -> SymptomFinding:
    evidence = _evidence(load, episode.start, episode.end)
    return SymptomFinding(symptom, severity, episode.start, episode.end, value, unit, evidence)


def _evidence(load: MeterLoad, start: datetime, end: datetime) -> dict[str, float]:
    """Return the known numbers of a time, as SymptomFinding describes them."""
    evidence = {}
    for name, points, combine in (
        ("droppedPackets", load.dropped, sum),
        ("portAllocationErrors", load.port_errors, sum),
        ("peakBitsPerSecond", load.peak_bits, max),
        ("peakPacketsPerSecond", load.peak_packets, max),
        ("activeConnections", load.connections, max),
    ):
        if values := within(points, start, end):
            evidence[name] = combine(values)
    arrived = sum(within(load.arrived, start, end))
    if arrived and "droppedPackets" in evidence:
        evidence["droppedShare"] = evidence["droppedPackets"] / arrived
    return evidence


def _many_drops(evidence: Mapping[str, float]) -> bool:
    """Return whether AWS would suspect a problem; if the share is unknown, any dropped packet counts."""
    return evidence.get("droppedShare", evidence.get("droppedPackets", 0)) > MANY_DROPS


class MeterState(StrEnum):
    """The state of a gateway over a window. Even with NO_SIGN the path crosses a NAT, which AWS charges for."""

    SYMPTOMS = "SYMPTOMS"
    NO_SIGN = "NO_SIGN"
    IDLE = "IDLE"
    NO_DATA = "NO_DATA"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings in one meter's metrics from start to before end, worst first; period is in seconds."""

    meter: Meter
    start: datetime
    end: datetime
    period: int
    load: MeterLoad
    findings: tuple[SymptomFinding, ...]

    @property
    def state(self) -> MeterState:
        """The state over the whole window."""
        if any(finding.severity is not Severity.LOW for finding in self.findings):
            return MeterState.SYMPTOMS
        if not self.load.carried:
            return MeterState.NO_DATA
        return MeterState.NO_SIGN if highest(self.load.carried) else MeterState.IDLE

    @property
    def missing(self) -> float:
        """The share of the window's periods without datapoints of bytes, from 0 to 1."""
        return max(0.0, 1 - len(self.load.carried) * self.period / (self.end - self.start).total_seconds())


def shortest_plateau(period: timedelta) -> timedelta:
    """Return how long a plateau must last to be seen in periods of this length."""
    return max(MIN_PERIODS, -(-MIN_DURATION // period)) * period


def diagnose(meter: Meter, series: Sequence[Series], start: datetime, end: datetime, period: int) -> Diagnosis:
    """Diagnose one meter from its series of METRICS, all with one period in seconds."""
    load = load_of((metric_series for metric_series in series if metric_series.meter == meter), period)
    return Diagnosis(meter, start, end, period, load, tuple(findings_of(load, timedelta(seconds=period))))
