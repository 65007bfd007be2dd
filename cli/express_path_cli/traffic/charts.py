"""A chart of throughput over time for a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rich.text import Text

from express_path_cli.terminal.charts import GUTTER, text_figure, text_lines
from express_path_cli.terminal.texts import prefix_of
from express_path_cli.traffic.symptoms import Diagnosis, Points, Symptom, highest

Span = tuple[datetime, datetime]
_ROWS = 10


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
        Lane("peaks", "▲", "^", _findings(diagnosis, Symptom.PEAKS_FLAT, Symptom.PEAK_NEAR_LIMIT)),
        Lane("no data", "?", "?", _gaps(diagnosis, period)),
    ]
    return [lane for lane in all_lanes if lane.spans]


def _findings(diagnosis: Diagnosis, *symptoms: Symptom) -> tuple[Span, ...]:
    return tuple((finding.start, finding.end) for finding in diagnosis.findings if finding.symptom in symptoms)


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


def _stretches(points: Points, period: timedelta) -> Iterator[tuple[list[Any], list[float]]]:
    """Yield the corners of the steps of periods; a stretch ends where a period is missing."""
    times: list[Any] = []  # the types of matplotlib do not include times
    values: list[float] = []
    for time, value in points:
        if times and time > times[-1]:
            yield times, values
            times, values = [], []
        times += [time, time + period]
        values += [value, value]
    if times:
        yield times, values


def as_text_chart(diagnosis: Diagnosis, width: int, *, ascii_only: bool) -> Text:
    """Return the chart, width columns wide; it does not depend on color. ascii_only: use no other characters."""
    top = highest(diagnosis.load.carried) or 1.0
    prefix, factor = prefix_of(top)
    figure = text_figure(width, _ROWS, f"{prefix}bit/s")
    is_long = diagnosis.end - diagnosis.start > timedelta(days=2)

    def label(value: datetime, chars: int, delta: timedelta, left: bool = False) -> str:  # noqa: ARG001  # plotille's
        """Return the label of a time in UTC."""
        return f"{value:{'%b %d' if is_long else '%H:%M'}}".ljust(chars)

    figure.register_label_formatter(datetime, label)
    figure.origin = False  # no traffic is a line, and no data is none
    figure.set_x_display_timezone(diagnosis.start.tzinfo)
    figure.set_x_limits(diagnosis.start, diagnosis.end)
    figure.set_y_limits(0, 1.08 * top / factor)
    for times, values in _stretches(diagnosis.load.carried, timedelta(seconds=diagnosis.period)):
        figure.plot(times, [value / factor for value in values])
    rows = [Text("carried, both directions; times in UTC", "dim")]
    rows += map(Text, text_lines(figure, width, ascii_only=ascii_only))
    return Text("\n").join([*rows, *_marks(diagnosis, figure.width, ascii_only=ascii_only)])


def _marks(diagnosis: Diagnosis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    for lane in lanes(diagnosis):
        cells = [" "] * columns
        for start, end in lane.spans:
            first = min(_column(start, diagnosis, columns), columns - 1)
            last = max(first + 1, _column(end, diagnosis, columns))
            cells[first:last] = (lane.ascii_sign if ascii_only else lane.sign) * (last - first)
        name = f"{lane.name:>{GUTTER - 3}} | "
        yield Text.assemble((name, "dim"), ("".join(cells).rstrip(), "bold yellow"))


def _column(time: datetime, diagnosis: Diagnosis, columns: int) -> int:
    return int((time - diagnosis.start) / (diagnosis.end - diagnosis.start) * columns)
