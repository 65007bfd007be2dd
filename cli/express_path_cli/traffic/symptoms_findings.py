"""Symptoms of a NAT gateway that throttles traffic: plateaus, drops, port allocation errors, peaks.

The ceilings are AWS's (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html): a NAT gateway
scales automatically from 5 to 100 Gbit/s and from 1 to 10 million packets per second, drops packets above that, and
supports 55,000 connections per address to one destination (address, port and protocol). AWS does not report the current
ceiling, so a plateau counts at any level from the lowest ceiling up. Below it, steady traffic is not throttled.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from express_path.domain.verdict.capacity import NAT_GATEWAY_BASELINE_GBPS, NAT_GATEWAY_PEAK_GBPS
from express_path_cli.nat.saturation import Cause, Evidence, classify
from express_path_cli.traffic.symptoms_load import Load, within
from express_path_cli.traffic.symptoms_plateau import Plateau, Points, plateaus

NEAR_LIMIT = 0.9
"""Throughput from this share of a ceiling up is near it."""
LOWEST_BITS, HIGHEST_BITS = NAT_GATEWAY_BASELINE_GBPS * 1e9, NAT_GATEWAY_PEAK_GBPS * 1e9
LOWEST_PACKETS, HIGHEST_PACKETS = 1e6, 1e7
MANY_DROPS = 0.0001
"""The share of dropped packets above which AWS suspects a problem
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""
EPISODE_GAP = timedelta(hours=1)
"""Events further apart than this are separate findings."""


class Symptom(StrEnum):
    """The kinds of symptoms."""

    PLATEAU = "PLATEAU"
    PORT_ALLOCATION_ERRORS = "PORT_ALLOCATION_ERRORS"
    PACKETS_DROPPED = "PACKETS_DROPPED"
    PEAK_NEAR_LIMIT = "PEAK_NEAR_LIMIT"


class Severity(StrEnum):
    """HIGH: traffic is throttled. MEDIUM: it probably is. LOW: too little for AWS to suspect a problem."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class Finding:
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


def findings_of(load: Load, period: timedelta) -> list[Finding]:
    """Return all findings: by severity, worst first, then by symptom and time."""
    findings = [*_plateaus(load, period), *_port_errors(load, period), *_drops(load, period), *_peaks(load, period)]
    severities, symptoms = list(Severity), list(Symptom)
    return sorted(
        findings,
        key=lambda finding: (severities.index(finding.severity), symptoms.index(finding.symptom), finding.start),
    )


def _plateaus(load: Load, period: timedelta) -> Iterator[Finding]:
    """Yield plateaus in bit/s, and plateaus in packets/s at other times; packets of equal size show both."""
    bits = plateaus(load.carried, period, NEAR_LIMIT * LOWEST_BITS)
    packets = plateaus(load.passed, period, NEAR_LIMIT * LOWEST_PACKETS)
    yield from (_plateau(plateau, "bit/s", HIGHEST_BITS, load) for plateau in bits)
    for plateau in packets:
        if not any(plateau.overlaps(other) for other in bits):
            yield _plateau(plateau, "packets/s", HIGHEST_PACKETS, load)


def _plateau(plateau: Plateau, unit: str, limit: float, load: Load) -> Finding:
    evidence = {"jitter": plateau.jitter, **_evidence(load, plateau.start, plateau.end)}
    if plateau.usual_jitter is not None:
        evidence["usualJitter"] = plateau.usual_jitter
    at_limit = _many_drops(evidence) or evidence.get("portAllocationErrors") or plateau.level >= NEAR_LIMIT * limit
    cause = classify(Evidence(plateau=True, path_reports_limit=bool(at_limit)))
    severity = Severity.HIGH if cause is Cause.PATH_CEILING else Severity.MEDIUM
    return Finding(Symptom.PLATEAU, severity, plateau.start, plateau.end, plateau.level, unit, evidence)


def _port_errors(load: Load, period: timedelta) -> Iterator[Finding]:
    for episode in _episodes(load.port_errors, period):
        yield _finding(Symptom.PORT_ALLOCATION_ERRORS, Severity.HIGH, episode, episode.total, "errors", load)


def _drops(load: Load, period: timedelta) -> Iterator[Finding]:
    """Yield dropped packets: few are LOW; many are MEDIUM, or HIGH while the gateway carries enough to have scaled."""
    for episode in _episodes(load.dropped, period):
        severity = Severity.LOW
        if _many_drops(_evidence(load, episode.start, episode.end)):
            busy = any(value >= NEAR_LIMIT * LOWEST_BITS for value in within(load.carried, episode.start, episode.end))
            severity = Severity.HIGH if busy else Severity.MEDIUM
        yield _finding(Symptom.PACKETS_DROPPED, severity, episode, episode.total, "packets", load)


def _peaks(load: Load, period: timedelta) -> Iterator[Finding]:
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


def _episodes(points: Points, period: timedelta) -> list[_Episode]:
    """Return the episodes of some points; values less than EPISODE_GAP from each other belong to one episode."""
    episodes: list[_Episode] = []
    for time, value in points:
        if not value:
            continue
        continues = episodes and time - episodes[-1].end < EPISODE_GAP
        before = episodes.pop() if continues else _Episode(time, time, 0.0)
        episodes.append(_Episode(before.start, max(before.end, time + period), before.total + value))
    return episodes


def _finding(symptom: Symptom, severity: Severity, episode: _Episode, value: float, unit: str, load: Load) -> Finding:
    evidence = _evidence(load, episode.start, episode.end)
    return Finding(symptom, severity, episode.start, episode.end, value, unit, evidence)


def _evidence(load: Load, start: datetime, end: datetime) -> dict[str, float]:
    """Return the known numbers of a time, as Finding describes them."""
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
