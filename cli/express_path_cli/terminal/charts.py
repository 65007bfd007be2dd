"""Parts of charts: round axes, ticks of time, and SVG documents. All times are in UTC."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from express_path_cli.terminal.texts import prefix_of

_ROUND = (1, 2, 2.5, 5, 10)
_MINUTES = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7 * 1440, 14 * 1440, 28 * 1440, 56 * 1440)
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from 0 to top in equal steps; labels are values divided by factor, in unit."""

    top: float
    step: float
    factor: float
    unit: str

    def labels(self) -> Iterator[tuple[float, str]]:
        """Yield each tick's value and label, from 0 up."""
        for index in range(round(self.top / self.step) + 1):
            yield index * self.step, f"{index * self.step / self.factor:g}"


def axis(highest: float, unit: str, steps: int) -> Axis:
    """Return an axis from 0 to highest or a little more, with at most steps round steps."""
    rough = (highest or 1.0) / steps
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in _ROUND if factor * power >= rough * (1 - 1e-9))
    prefix, factor = prefix_of(highest)
    return Axis(step * ceil((highest or 1.0) / step - 1e-9), step, factor, prefix + unit)


def ticks(start: datetime, end: datetime, maximum: int) -> list[tuple[datetime, str]]:
    """Return up to maximum round times from start to end, with labels; midnight has its date."""
    window = (end - start) / timedelta(minutes=1)
    apart = next((minutes for minutes in _MINUTES if window / minutes < maximum), _MINUTES[-1])
    length = timedelta(minutes=apart)
    first = _MONDAY - (_MONDAY - start.astimezone(UTC)) // length * length
    times = [first + index * length for index in range(int((end - first) / length) + 1)]
    return [(time, f"{time:{'%H:%M' if time.hour or time.minute else '%b %d'}}") for time in times]


def averaged(
    points: Sequence[tuple[datetime, float]], period: timedelta, start: datetime, end: datetime, columns: int
) -> list[float | None]:
    """Return the mean of the periods that overlap each of some equal columns of time; None without periods."""
    width = (end - start) / columns
    by_column: list[list[float]] = [[] for _ in range(columns)]
    for time, value in points:
        first = (time - start) // width
        last = max(first, ceil((time + period - start) / width - 1e-9) - 1)
        for column in range(max(first, 0), min(last, columns - 1) + 1):
            by_column[column].append(value)
    return [sum(values) / len(values) if values else None for values in by_column]


_STYLE = """
svg { --back: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d1d9e0; --line: #0969da; --mark: #bc4c00 }
@media (prefers-color-scheme: dark) {
  svg { --back: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --grid: #3d444d; --line: #4493f8; --mark: #f0883e }
}
text { font: 13px system-ui, sans-serif; fill: var(--ink) }
.title { font-weight: 600; font-size: 16px }
.faint { fill: var(--faint) }
.end { text-anchor: end }
.middle { text-anchor: middle }
.back { fill: var(--back) }
.grid { stroke: var(--grid); fill: none }
.area { fill: var(--line); fill-opacity: 0.2; stroke: var(--line); stroke-width: 1.5; stroke-linejoin: round }
.peak { fill: none; stroke: var(--faint); stroke-width: 1; stroke-dasharray: 2 2 }
.band { fill: none; stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 6 3 }
.mark { fill: var(--mark) }
"""


def new_document(title: str, description: str) -> Element:
    """Return an empty document with the colors and texts of all charts."""
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-labelledby": "title desc"})
    SubElement(root, "title", id="title").text = title
    SubElement(root, "desc", id="desc").text = description
    SubElement(root, "style").text = _STYLE
    SubElement(root, "rect", {"class": "back", "width": "100%", "height": "100%"})
    return root


def written(root: Element, width: int, height: int) -> str:
    """Return the text of a document with this size in pixels."""
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(width))
    root.set("height", str(height))
    indent(root)
    return tostring(root, encoding="unicode") + "\n"
