"""One NAT gateway's throughput over time, drawn into an SVG document."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from textwrap import wrap
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

from express_path_cli.diagnosis.symptoms import Diagnosis
from express_path_cli.diagnosis.symptoms_findings import Symptom
from express_path_cli.diagnosis.symptoms_load import highest
from express_path_cli.diagnosis.symptoms_plateau import Points
from express_path_cli.formats.chart_marks import lanes
from express_path_cli.formats.chart_scale import Axis, axis, ticks

WIDTH = 960
_LEFT, _RIGHT, _PLOT, _LINE, _LETTERS = 84, WIDTH - 32, 220, 18, 125


class _Frame(NamedTuple):
    """Where the plot is, and how times and rates become pixels."""

    diagnosis: Diagnosis
    scale: Axis
    top: float

    def x(self, time: datetime) -> float:
        """The pixel of a time."""
        start, end = self.diagnosis.start, self.diagnosis.end
        return round(_LEFT + (_RIGHT - _LEFT) * ((time - start) / (end - start)), 1)

    def y(self, value: float) -> float:
        """The pixel of a rate."""
        return round(self.top + _PLOT * (1 - value / self.scale.top), 1)


def draw_panel(root: Element, top: int, title: str, sentences: Sequence[str], diagnosis: Diagnosis) -> int:
    """Draw a chart from a pixel row downwards and return how many rows it takes."""
    row = top + 32
    _text(root, 24, row, title, "title")
    for line in (line for each in sentences for line in wrap(each, _LETTERS, break_on_hyphens=False)):
        row += _LINE
        _text(root, 24, row, line)
    top_rate = max(highest(diagnosis.load.carried), highest(diagnosis.load.peak_bits))
    frame = _Frame(diagnosis, axis(top_rate, "bit/s", 5), row + 44)
    _draw_axes(root, frame)
    for shape in _shapes(diagnosis.load.carried, timedelta(seconds=diagnosis.period)):
        _draw_area(root, frame, shape)
    _draw_peaks(root, frame)
    _draw_plateaus(root, frame)
    return _draw_lanes(root, frame) - top


def _text(root: Element, x: float, y: float, text: str, *classes: str) -> None:
    SubElement(root, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": " ".join(classes)}).text = text


def _draw_axes(root: Element, frame: _Frame) -> None:
    _text(root, _LEFT - 10, frame.top - 16, frame.scale.unit, "faint", "end")
    _text(root, _LEFT, frame.top - 16, "carried, both directions, as the mean of each period; times in UTC", "faint")
    if frame.diagnosis.load.peak_bits:
        _text(root, _RIGHT, frame.top - 16, "dotted: the highest ten seconds of it", "faint", "end")
    for value, label in frame.scale.labels():
        y = frame.y(value)
        SubElement(root, "path", {"class": "grid", "d": f"M{_LEFT} {y}H{_RIGHT}"})
        _text(root, _LEFT - 10, y + 4, label, "faint", "end")
    floor = frame.top + _PLOT
    for time, label in ticks(frame.diagnosis.start, frame.diagnosis.end, 10):
        x = frame.x(time)
        SubElement(root, "path", {"class": "grid", "d": f"M{x} {floor}v6"})
        _text(root, x, floor + 20, label, "faint", "middle")


def _shapes(points: Points, period: timedelta) -> Iterator[list[tuple[datetime, datetime, float]]]:
    """Periods as (start, end, value), cut where one is missing."""
    shape: list[tuple[datetime, datetime, float]] = []
    for time, value in points:
        if shape and time > shape[-1][1]:
            yield shape
            shape = []
        shape.append((time, time + period, value))
    if shape:
        yield shape


def _draw_area(root: Element, frame: _Frame, shape: Sequence[tuple[datetime, datetime, float]]) -> None:
    floor = frame.y(0)
    steps = "".join(f"L{frame.x(start)} {frame.y(value)}H{frame.x(end)}" for start, end, value in shape)
    outline = f"M{frame.x(shape[0][0])} {floor}{steps}V{floor}"
    SubElement(root, "path", {"class": "area", "d": outline})


def _draw_peaks(root: Element, frame: _Frame) -> None:
    period = timedelta(seconds=frame.diagnosis.period)
    for shape in _shapes(frame.diagnosis.load.peak_bits, period):
        line = "L".join(f"{frame.x(start + period / 2)} {frame.y(value)}" for start, _, value in shape)
        SubElement(root, "path", {"class": "peak", "d": f"M{line}"})


def _draw_plateaus(root: Element, frame: _Frame) -> None:
    """A frame around each plateau, from the floor to its level."""
    for each in frame.diagnosis.findings:
        if each.symptom is Symptom.PLATEAU:
            x, floor = frame.x(each.start), frame.y(0)
            y = frame.y(each.value) if each.unit == "bit/s" else frame.top
            size = {"x": f"{x}", "y": f"{y}", "width": f"{frame.x(each.end) - x:.1f}", "height": f"{floor - y:.1f}"}
            SubElement(root, "rect", {"class": "band", **size})


def _draw_lanes(root: Element, frame: _Frame) -> int:
    """A line for each kind of mark below the times; returns the row below the last."""
    row = int(frame.top + _PLOT + 26)
    for lane in lanes(frame.diagnosis):
        row += _LINE
        _text(root, _LEFT - 10, row, lane.name, "faint", "end")
        for start, end in lane.spans:
            x = frame.x(start)
            size = {"x": f"{x}", "y": f"{row - 9}", "width": f"{max(2, frame.x(end) - x):.1f}", "height": "9"}
            SubElement(root, "rect", {"class": "mark", **size})
    return row + 24
