"""The marks below a chart of throughput: a lane for each kind of symptom, and one for missing data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from express_path_cli.traffic.symptoms import Diagnosis
from express_path_cli.traffic.symptoms_findings import Symptom
from express_path_cli.traffic.symptoms_plateau import Points

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Lane:
    """One kind of mark: its name, its sign in Unicode and in ASCII, and the times that it marks."""

    name: str
    sign: str
    ascii_sign: str
    spans: tuple[Span, ...]


def lanes(diagnosis: Diagnosis) -> list[Lane]:
    """Return the lanes that have marks, plateaus first."""
    period = timedelta(seconds=diagnosis.period)
    load = diagnosis.load
    all_lanes = [
        Lane("plateau", "━", "=", _findings(diagnosis, Symptom.PLATEAU)),
        Lane("drops", "×", "x", _nonzero(load.dropped, period)),  # noqa: RUF001  # the multiplication sign is intended
        Lane("no ports", "!", "!", _nonzero(load.port_errors, period)),
        Lane("peaks", "▲", "^", _findings(diagnosis, Symptom.PEAK_NEAR_LIMIT)),
        Lane("no data", "?", "?", _gaps(diagnosis, period)),
    ]
    return [lane for lane in all_lanes if lane.spans]


def _findings(diagnosis: Diagnosis, symptom: Symptom) -> tuple[Span, ...]:
    return tuple((finding.start, finding.end) for finding in diagnosis.findings if finding.symptom is symptom)


def _nonzero(points: Points, period: timedelta) -> tuple[Span, ...]:
    """Return the periods with a value other than 0; adjacent periods are joined."""
    return _joined([(time, time + period) for time, value in points if value])


def _gaps(diagnosis: Diagnosis, period: timedelta) -> tuple[Span, ...]:
    """Return the times between the periods that have datapoints of bytes."""
    edges = [diagnosis.start, *(time for time, _ in diagnosis.load.carried), diagnosis.end]
    ends = [diagnosis.start, *(time + period for time, _ in diagnosis.load.carried)]
    return tuple((end, edge) for end, edge in zip(ends, edges[1:], strict=True) if end < edge)


def _joined(spans: list[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] >= start:
            start, _ = joined.pop()  # noqa: PLW2901  # extend the earlier span
        joined.append((start, end))
    return tuple(joined)
