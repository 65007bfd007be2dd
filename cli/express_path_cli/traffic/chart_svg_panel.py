"""One NAT gateway's throughput over time, drawn into an SVG document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement

from express_path_cli.terminal.charts import Axis, axis, ticks
from express_path_cli.traffic.chart_marks import lanes
from express_path_cli.traffic.symptoms import Diagnosis
from express_path_cli.traffic.symptoms_findings import Symptom
from express_path_cli.traffic.symptoms_load import highest
from express_path_cli.traffic.symptoms_plateau import Points

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
