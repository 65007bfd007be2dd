"""What a NAT gateway's load shows where traffic is held up: plateaus, drops, refused connections, peaks.

The ceilings are AWS's (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html): a NAT gateway
scales by itself from 5 to 100 Gbit/s and from 1 to 10 million packets per second, drops what is more, and holds
55,000 connections for each of its addresses to one destination (address, port and protocol). It does not say at which
ceiling it is at a time, so a plateau counts anywhere from the lowest one on, and nowhere below: a steady trickle is
no ceiling.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from express_path.domain.verdict.capacity import NAT_GATEWAY_BASELINE_GBPS, NAT_GATEWAY_PEAK_GBPS
from express_path_cli.diagnosis.symptoms_load import Load, within
from express_path_cli.diagnosis.symptoms_plateau import Plateau, Points, plateaus

NEAR = 0.9
"""From this share of a ceiling on, throughput is near it."""
LOWEST_BITS, HIGHEST_BITS = NAT_GATEWAY_BASELINE_GBPS * 1e9, NAT_GATEWAY_PEAK_GBPS * 1e9
LOWEST_PACKETS, HIGHEST_PACKETS = 1e6, 1e7
MANY_DROPS = 0.0001
"""The share of dropped packets above which AWS suspects a problem
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""
APART = timedelta(hours=1)
"""Events further apart than this are told as two."""


class Symptom(StrEnum):
    """What was seen."""

    PLATEAU = "PLATEAU"
    PORT_ALLOCATION_ERRORS = "PORT_ALLOCATION_ERRORS"
    PACKETS_DROPPED = "PACKETS_DROPPED"
    PEAK_NEAR_LIMIT = "PEAK_NEAR_LIMIT"


class Severity(StrEnum):
    """HIGH: traffic is held up. MEDIUM: it may well be. LOW: too little for AWS to suspect a problem."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Finding(NamedTuple):
    """One symptom, from start to end; value is in unit. evidence has numbers by name, each where it is known.

    droppedPackets, droppedShare (of packets that arrived), portAllocationErrors, peakBitsPerSecond,
    peakPacketsPerSecond (of any ten seconds), activeConnections (the most): all of the same time.
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
    """All findings, the worst first; of one severity, by symptom and time."""
    found = [*_plateaus(load, period), *_refusals(load, period), *_drops(load, period), *_peaks(load, period)]
    worst, kinds = list(Severity), list(Symptom)
    return sorted(found, key=lambda each: (worst.index(each.severity), kinds.index(each.symptom), each.start))


def _plateaus(load: Load, period: timedelta) -> Iterator[Finding]:
    """Plateaus in bit/s; in packets/s only where the bytes show none, since bytes follow packets of one size."""
    bits = plateaus(load.carried, period, NEAR * LOWEST_BITS)
    packets = plateaus(load.passed, period, NEAR * LOWEST_PACKETS)
    yield from (_plateau(each, "bit/s", HIGHEST_BITS, load) for each in bits)
    for each in packets:
        if all(each.end <= other.start or other.end <= each.start for other in bits):
            yield _plateau(each, "packets/s", HIGHEST_PACKETS, load)


def _plateau(found: Plateau, unit: str, limit: float, load: Load) -> Finding:
    evidence = {"jitter": found.jitter, **_evidence(load, found.start, found.end)}
    if found.usual_jitter is not None:
        evidence["usualJitter"] = found.usual_jitter
    held_up = _many_drops(evidence) or evidence.get("portAllocationErrors") or found.level >= NEAR * limit
    severity = Severity.HIGH if held_up else Severity.MEDIUM
    return Finding(Symptom.PLATEAU, severity, found.start, found.end, found.level, unit, evidence)


def _refusals(load: Load, period: timedelta) -> Iterator[Finding]:
    for start, end, errors in _episodes(load.refused, period):
        evidence = _evidence(load, start, end)
        yield Finding(Symptom.PORT_ALLOCATION_ERRORS, Severity.HIGH, start, end, errors, "errors", evidence)


def _drops(load: Load, period: timedelta) -> Iterator[Finding]:
    """Dropped packets: few are LOW; many are MEDIUM, and HIGH while the gateway is busy as one that scales."""
    busy = dict(load.carried)
    for start, end, packets in _episodes(load.dropped, period):
        evidence = _evidence(load, start, end)
        severity = Severity.LOW
        if _many_drops(evidence):
            at_work = any(start <= time < end and value >= NEAR * LOWEST_BITS for time, value in busy.items())
            severity = Severity.HIGH if at_work else Severity.MEDIUM
        yield Finding(Symptom.PACKETS_DROPPED, severity, start, end, packets, "packets", evidence)


def _peaks(load: Load, period: timedelta) -> Iterator[Finding]:
    for points, limit, unit in (
        (load.peak_bits, HIGHEST_BITS, "bit/s"),
        (load.peak_packets, HIGHEST_PACKETS, "packets/s"),
    ):
        near = tuple((time, value) for time, value in points if value >= NEAR * limit)
        for start, end, _ in _episodes(near, period):
            evidence = _evidence(load, start, end)
            severity = Severity.HIGH if _many_drops(evidence) else Severity.MEDIUM
            top = max(within(points, start, end))
            yield Finding(Symptom.PEAK_NEAR_LIMIT, severity, start, end, top, unit, evidence)


def _episodes(points: Points, period: timedelta) -> list[tuple[datetime, datetime, float]]:
    """Periods whose value is not 0, those less than APART together, as start, end and sum."""
    found: list[tuple[datetime, datetime, float]] = []
    for time, value in points:
        if not value:
            continue
        start, end, total = found.pop() if found and time - found[-1][1] < APART else (time, time, 0.0)
        found.append((start, max(end, time + period), total + value))
    return found


def _evidence(load: Load, start: datetime, end: datetime) -> dict[str, float]:
    """What else is known of that time."""
    evidence = {}
    for name, points, combined in (
        ("droppedPackets", load.dropped, sum),
        ("portAllocationErrors", load.refused, sum),
        ("peakBitsPerSecond", load.peak_bits, max),
        ("peakPacketsPerSecond", load.peak_packets, max),
        ("activeConnections", load.connections, max),
    ):
        if values := within(points, start, end):
            evidence[name] = combined(values)
    arrived = sum(within(load.arrived, start, end))
    if arrived and "droppedPackets" in evidence:
        evidence["droppedShare"] = evidence["droppedPackets"] / arrived
    return evidence


def _many_drops(evidence: Mapping[str, float]) -> bool:
    """Whether so many packets were dropped that AWS suspects a problem; any, where the share is not known."""
    return evidence.get("droppedShare", evidence.get("droppedPackets", 0)) > MANY_DROPS
