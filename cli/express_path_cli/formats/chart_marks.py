"""What a chart marks besides throughput: a lane for each kind of symptom, and one for missing data."""

from datetime import datetime, timedelta
from typing import NamedTuple

from express_path_cli.diagnosis.symptoms import Diagnosis
from express_path_cli.diagnosis.symptoms_findings import Symptom
from express_path_cli.diagnosis.symptoms_load import Load
from express_path_cli.diagnosis.symptoms_plateau import Points

Span = tuple[datetime, datetime]


class Lane(NamedTuple):
    """A kind of mark: its name, its sign in Unicode and in ASCII, and when it was seen."""

    name: str
    sign: str
    ascii_sign: str
    spans: tuple[Span, ...]


def lanes(diagnosis: Diagnosis) -> list[Lane]:
    """The lanes that have anything to mark, plateaus first."""
    period = timedelta(seconds=diagnosis.period)
    load: Load = diagnosis.load
    found = [
        Lane("plateau", "━", "=", _of(diagnosis, Symptom.PLATEAU)),
        Lane("drops", "×", "x", _seen(load.dropped, period)),  # noqa: RUF001  # a cross is meant
        Lane("no ports", "!", "!", _seen(load.refused, period)),
        Lane("peaks", "▲", "^", _of(diagnosis, Symptom.PEAK_NEAR_LIMIT)),
        Lane("no data", "?", "?", _gaps(diagnosis, period)),
    ]
    return [each for each in found if each.spans]


def _of(diagnosis: Diagnosis, symptom: Symptom) -> tuple[Span, ...]:
    return tuple((each.start, each.end) for each in diagnosis.findings if each.symptom is symptom)


def _seen(points: Points, period: timedelta) -> tuple[Span, ...]:
    """The periods in which there was any, those that touch as one."""
    return _joined([(time, time + period) for time, value in points if value])


def _gaps(diagnosis: Diagnosis, period: timedelta) -> tuple[Span, ...]:
    """What lies between the periods that have bytes."""
    edges = [diagnosis.start, *(time for time, _ in diagnosis.load.carried), diagnosis.end]
    ends = [diagnosis.start, *(time + period for time, _ in diagnosis.load.carried)]
    return tuple((end, edge) for end, edge in zip(ends, edges[1:], strict=True) if end < edge)


def _joined(spans: list[Span]) -> tuple[Span, ...]:
    found: list[Span] = []
    for start, end in spans:
        if found and found[-1][1] >= start:
            start, _ = found.pop()  # noqa: PLW2901  # the earlier span grows
        found.append((start, end))
    return tuple(found)
