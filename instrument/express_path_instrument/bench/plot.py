"""Plots of lines over a numeric axis: what to draw. `plot_svg.py`, `plot_png.py`, and `plot_text.py` draw it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from express_path_cli.terminal.charts import Axis, axis

WIDTH, HEIGHT = 960, 400
"""The size of one plot in pixels."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 780, 72, 340
_LABEL_HEIGHT, _LONGEST_LABEL = 17, 24
MOST_MARKERS = 24
"""Lines with more points have no markers."""


class Shape(StrEnum):
    """The markers of lines."""

    CIRCLE = "circle"
    SQUARE = "square"
    TRIANGLE = "triangle"
    DIAMOND = "diamond"


@dataclass(frozen=True, slots=True)
class Pen:
    """How a line is drawn. Lines differ in dashes, marker, and sign, so that nobody needs the color to tell them apart.

    light, dark: its color on a white and on a dark background. dashes: lengths of marks and gaps; empty: solid.
    sign: its character in a terminal.
    """

    light: str
    dark: str
    dashes: tuple[int, ...]
    shape: Shape
    sign: str


PENS = (
    Pen("#0969da", "#4493f8", (), Shape.CIRCLE, "o"),
    Pen("#bc4c00", "#f0883e", (8, 4), Shape.SQUARE, "#"),
    Pen("#1a7f37", "#3fb950", (2, 3), Shape.TRIANGLE, "^"),
    Pen("#8250df", "#ab7df8", (12, 4, 2, 4), Shape.DIAMOND, "*"),
)
"""A pen for each measurement, so at most four can be compared."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: (x, y) points in ascending order of x. A model is drawn thin, dotted, and without markers."""

    name: str
    points: tuple[tuple[float, float], ...]
    pen: Pen
    is_model: bool = False

    @property
    def label(self) -> str:
        """Its name, shortened to what fits beside the plot."""
        return self.name if len(self.name) <= _LONGEST_LABEL else f"{self.name[: _LONGEST_LABEL - 3]}..."

    @property
    def has_markers(self) -> bool:
        """Whether its points have markers; many markers would hide the line."""
        return not self.is_model and len(self.points) <= MOST_MARKERS


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot: its title, the name and labeled values of its x axis, and the unit of its y axis, such as bit/s."""

    title: str
    x_name: str
    x_values: tuple[float, ...]
    unit: str
    series: tuple[Series, ...]

    @property
    def scale(self) -> Axis:
        """The y axis. It covers the measurements; a model may leave the plot."""
        measured = [y for line in self.series if not line.is_model for _, y in line.points]
        return axis(max(measured, default=0.0) * 1.05, self.unit, 5)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of a plot are, in pixels from its upper left corner."""

    plot: Plot
    scale: Axis
    left: int = _LEFT
    right: int = _RIGHT
    top: int = _TOP
    bottom: int = _BOTTOM

    def x(self, value: float) -> float:
        """Return the horizontal pixel of a value of the x axis, which starts at 0."""
        highest = max(self.plot.x_values, default=1.0) or 1.0
        return round(self.left + (self.right - self.left) * value / highest, 1)

    def y(self, value: float) -> float:
        """Return the vertical pixel of a value."""
        return round(self.bottom - (self.bottom - self.top) * value / self.scale.top, 1)

    def line(self, series: Series) -> list[tuple[float, float]]:
        """Return the pixels of a line. It ends at the upper edge of the plot if its values leave it."""
        return [(self.x(x), self.y(y)) for x, y in _clipped(series.points, self.scale.top)]

    def x_labels(self) -> list[tuple[float, str]]:
        """Return the pixel and the text of each label of the x axis that does not touch the one before it."""
        labels: list[tuple[float, str]] = []
        for value in self.plot.x_values:
            if not labels or self.x(value) - labels[-1][0] >= 30:  # noqa: PLR2004  # pixels that a number needs
                labels.append((self.x(value), f"{value:g}"))
        return labels

    def names(self) -> list[tuple[Series, float]]:
        """Return each line with the vertical pixel of its name beside its end; names do not touch each other."""
        drawn = [(line, self.line(line)) for line in self.plot.series]
        ends = [(points[-1][1], line) for line, points in drawn if points]
        rows: list[tuple[Series, float]] = []
        for y, line in sorted(ends, key=lambda end: end[0]):
            lowest = rows[-1][1] + _LABEL_HEIGHT if rows else 0.0
            rows.append((line, max(y, lowest)))
        return rows


def layout_of(plot: Plot) -> Layout:
    """Return the layout of a plot."""
    return Layout(plot, plot.scale)


def _clipped(points: Sequence[tuple[float, float]], top: float) -> Iterator[tuple[float, float]]:
    """Yield points up to the first one above the top, which is replaced by the crossing of the top."""
    before: tuple[float, float] | None = None
    for x, y in points:
        if y > top:
            if before and before[1] < top:
                yield before[0] + (x - before[0]) * (top - before[1]) / (y - before[1]), top
            return
        before = (x, y)
        yield before
