"""Charts of throughput over time: for a terminal, and as one self-contained SVG file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement

from rich.text import Text

from express_path_cli.terminal.charts import Axis, averaged, axis, new_document, ticks, written
from express_path_cli.traffic.symptoms import Diagnosis, Points, Symptom, highest

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


_ROWS = 10
_GUTTER = 9
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_UNICODE = {"bar": "│", "tick": "┤", "floor": "─", "corner": "┼", "mark": "┬"}
_ASCII = {"bar": "|", "tick": "+", "floor": "-", "corner": "+", "mark": "+"}


def as_text_chart(diagnosis: Diagnosis, width: int, *, ascii_only: bool) -> Text:
    """Return the chart, width columns wide; it does not depend on color. ascii_only: use no other characters.

    A column shows the mean of its periods.
    """
    columns = max(24, width - _GUTTER - 2)
    scale = axis(highest(diagnosis.load.carried), "bit/s", 5)
    rows = [Text(f"{scale.unit} carried, both directions", "dim")]
    rows += _plot(diagnosis, scale, columns, ascii_only=ascii_only)
    rows += _times(diagnosis, columns, ascii_only=ascii_only)
    rows += _marks(diagnosis, columns, ascii_only=ascii_only)
    return Text("\n").join(rows)


def _plot(diagnosis: Diagnosis, scale: Axis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    signs = _ASCII if ascii_only else _UNICODE
    period = timedelta(seconds=diagnosis.period)
    values = averaged(diagnosis.load.carried, period, diagnosis.start, diagnosis.end, columns)
    steps = round(scale.top / scale.step)
    rows = steps * max(1, round(_ROWS / steps))
    # Any traffic at all shows at least an eighth.
    heights = [ceil(8 * rows * value / scale.top - 1e-9) if value else 0 for value in values]
    labels = {round(rows * value / scale.top): label for value, label in scale.labels()}
    for row in range(rows, 0, -1):
        label = labels.get(row, "")
        cells = "".join(_cell(height - 8 * (row - 1), ascii_only=ascii_only) for height in heights)
        gutter = f"{label:>{_GUTTER - 1}} {signs['tick' if label else 'bar']}"
        yield Text.assemble((gutter, "dim"), (cells.rstrip(), "cyan"))


def _cell(eighths: int, *, ascii_only: bool) -> str:
    if ascii_only:
        return "#" if eighths >= 4 else "." if eighths > 0 else " "  # noqa: PLR2004  # half a cell
    return _EIGHTHS[min(max(eighths, 0), 8)]


def _times(diagnosis: Diagnosis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield the floor with a mark at each tick, and below it the labels that fit without touching each other."""
    signs = _ASCII if ascii_only else _UNICODE
    floor, labels = [signs["floor"]] * columns, [" "] * (columns + 1)
    free = 0
    for time, label in ticks(diagnosis.start, diagnosis.end, max(2, columns // 9)):
        column = _column(time, diagnosis, columns)
        if free <= column < columns and column + len(label) <= columns + 1:
            floor[column] = signs["mark"]
            labels[column : column + len(label)] = label
            free = column + len(label) + 1
    yield Text(f"{'0':>{_GUTTER - 1}} {signs['corner']}{''.join(floor)}", "dim")
    yield Text(f"{'UTC':>{_GUTTER - 1}}  {''.join(labels).rstrip()}", "dim")


def _marks(diagnosis: Diagnosis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    for lane in lanes(diagnosis):
        cells = [" "] * columns
        for span in lane.spans:
            first, last = _columns(span, diagnosis, columns)
            cells[first:last] = (lane.ascii_sign if ascii_only else lane.sign) * (last - first)
        yield Text.assemble((f"{lane.name:>{_GUTTER - 1}}  ", "dim"), ("".join(cells).rstrip(), "bold yellow"))


def _columns(span: Span, diagnosis: Diagnosis, columns: int) -> tuple[int, int]:
    """Return the first and last + 1 column of a time span; it fills at least one."""
    first = min(_column(span[0], diagnosis, columns), columns - 1)
    width = (diagnosis.end - diagnosis.start) / columns
    return first, min(columns, max(first + 1, round((span[1] - diagnosis.start) / width)))


def _column(time: datetime, diagnosis: Diagnosis, columns: int) -> int:
    return int((time - diagnosis.start) / (diagnosis.end - diagnosis.start) * columns)


WIDTH = 960
_LEFT, _RIGHT, _PLOT_HEIGHT, _LINE_HEIGHT = 84, WIDTH - 32, 220, 18
_MAX_CHARACTERS = 125
"""The longest line of text that fits the width."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """The position of the plot, and the conversion of times and rates to pixels."""

    diagnosis: Diagnosis
    scale: Axis
    top: float

    def x(self, time: datetime) -> float:
        """Return the horizontal pixel of a time."""
        start, end = self.diagnosis.start, self.diagnosis.end
        return round(_LEFT + (_RIGHT - _LEFT) * ((time - start) / (end - start)), 1)

    def y(self, value: float) -> float:
        """Return the vertical pixel of a rate."""
        return round(self.top + _PLOT_HEIGHT * (1 - value / self.scale.top), 1)


def draw_panel(root: Element, top: int, title: str, sentences: Sequence[str], diagnosis: Diagnosis) -> int:
    """Draw a chart below a pixel row and return its height in pixels."""
    row = top + 32
    _text(root, 24, row, title, "title")
    for line in (line for text in sentences for line in wrap(text, _MAX_CHARACTERS, break_on_hyphens=False)):
        row += _LINE_HEIGHT
        _text(root, 24, row, line)
    top_rate = max(highest(diagnosis.load.carried), highest(diagnosis.load.peak_bits))
    plot = _Plot(diagnosis, axis(top_rate, "bit/s", 5), row + 44)
    _draw_axes(root, plot)
    for shape in _shapes(diagnosis.load.carried, timedelta(seconds=diagnosis.period)):
        _draw_area(root, plot, shape)
    _draw_peaks(root, plot)
    _draw_plateaus(root, plot)
    return _draw_lanes(root, plot) - top


def _text(root: Element, x: float, y: float, text: str, *classes: str) -> None:
    SubElement(root, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": " ".join(classes)}).text = text


def _draw_axes(root: Element, plot: _Plot) -> None:
    _text(root, _LEFT - 10, plot.top - 16, plot.scale.unit, "faint", "end")
    _text(root, _LEFT, plot.top - 16, "carried in both directions, mean of each period; times in UTC", "faint")
    if plot.diagnosis.load.peak_bits:
        _text(root, _RIGHT, plot.top - 16, "dotted: highest ten seconds of each period", "faint", "end")
    for value, label in plot.scale.labels():
        y = plot.y(value)
        SubElement(root, "path", {"class": "grid", "d": f"M{_LEFT} {y}H{_RIGHT}"})
        _text(root, _LEFT - 10, y + 4, label, "faint", "end")
    floor = plot.top + _PLOT_HEIGHT
    for time, label in ticks(plot.diagnosis.start, plot.diagnosis.end, 10):
        x = plot.x(time)
        SubElement(root, "path", {"class": "grid", "d": f"M{x} {floor}v6"})
        _text(root, x, floor + 20, label, "faint", "middle")


def _shapes(points: Points, period: timedelta) -> Iterator[list[tuple[datetime, datetime, float]]]:
    """Yield stretches of (start, end, value) periods; a stretch ends where a period is missing."""
    shape: list[tuple[datetime, datetime, float]] = []
    for time, value in points:
        if shape and time > shape[-1][1]:
            yield shape
            shape = []
        shape.append((time, time + period, value))
    if shape:
        yield shape


def _draw_area(root: Element, plot: _Plot, shape: Sequence[tuple[datetime, datetime, float]]) -> None:
    floor = plot.y(0)
    steps = "".join(f"L{plot.x(start)} {plot.y(value)}H{plot.x(end)}" for start, end, value in shape)
    outline = f"M{plot.x(shape[0][0])} {floor}{steps}V{floor}"
    SubElement(root, "path", {"class": "area", "d": outline})


def _draw_peaks(root: Element, plot: _Plot) -> None:
    period = timedelta(seconds=plot.diagnosis.period)
    for shape in _shapes(plot.diagnosis.load.peak_bits, period):
        line = "L".join(f"{plot.x(start + period / 2)} {plot.y(value)}" for start, _, value in shape)
        SubElement(root, "path", {"class": "peak", "d": f"M{line}"})


def _draw_plateaus(root: Element, plot: _Plot) -> None:
    """Draw a frame around each plateau, from the floor to its level."""
    for finding in plot.diagnosis.findings:
        if finding.symptom is Symptom.PLATEAU:
            x, floor = plot.x(finding.start), plot.y(0)
            y = plot.y(finding.value) if finding.unit == "bit/s" else plot.top
            size = {"x": f"{x}", "y": f"{y}", "width": f"{plot.x(finding.end) - x:.1f}", "height": f"{floor - y:.1f}"}
            SubElement(root, "rect", {"class": "band", **size})


def _draw_lanes(root: Element, plot: _Plot) -> int:
    """Draw a lane for each kind of mark below the time axis and return the row below the last one."""
    row = int(plot.top + _PLOT_HEIGHT + 26)
    for lane in lanes(plot.diagnosis):
        row += _LINE_HEIGHT
        _text(root, _LEFT - 10, row, lane.name, "faint", "end")
        for start, end in lane.spans:
            x = plot.x(start)
            size = {"x": f"{x}", "y": f"{row - 9}", "width": f"{max(2, plot.x(end) - x):.1f}", "height": "9"}
            SubElement(root, "rect", {"class": "mark", **size})
    return row + 24


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: its title, the sentences above it, and the diagnosis to draw."""

    title: str
    sentences: tuple[str, ...]
    diagnosis: Diagnosis


def as_svg(panels: Sequence[Panel]) -> str:
    """Return one document with the charts of all panels, one below the other; texts are escaped."""
    descriptions = (" ".join((f"{panel.title}:", *panel.sentences)) for panel in panels)
    root = new_document("Throughput of the NAT gateways on flagged paths", "\n".join(descriptions))
    top = 0
    for panel in panels:
        top += draw_panel(root, top, panel.title, panel.sentences, panel.diagnosis)
    return written(root, WIDTH, top)
