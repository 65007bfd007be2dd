"""Plots as a PNG picture. It needs Pillow, which has its own font, so that labels show on a machine without fonts."""

import io
from collections.abc import Sequence
from importlib import import_module
from itertools import cycle, pairwise
from math import dist
from typing import Any

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.plot import HEIGHT, WIDTH, Layout, Plot, Series, layout_of
from express_path_instrument.bench.plot_svg import corners

_SCALE = 2
"""Pixels of the picture for each pixel of the layout, for screens with a high resolution."""
_INK, _FAINT, _GRID, _BACK = "#1f2328", "#59636e", "#d1d9e0", "#ffffff"
_MODEL_DASHES = (2, 4)
_MARKER = 5


def as_png(plots: Sequence[Plot]) -> bytes:
    """Return a picture of all plots, one below the other. Raise OptionError without Pillow."""
    try:
        images, draws, fonts = (import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont"))
    except ImportError as error:
        raise OptionError(
            "PNG charts need Pillow, which is not installed",
            "install it with: pipx inject express-path pillow, or use a name that ends in .svg",
        ) from error
    image = images.new("RGB", (WIDTH * _SCALE, HEIGHT * len(plots) * _SCALE), _BACK)
    for index, plot in enumerate(plots):
        canvas = _Canvas(draws.Draw(image), fonts, index * HEIGHT)
        _draw(canvas, layout_of(plot))
    written = io.BytesIO()
    image.save(written, "PNG", optimize=True)
    return written.getvalue()


class _Canvas:
    """A part of the picture, in the coordinates of one plot's layout."""

    def __init__(self, draw: Any, fonts: Any, top: int) -> None:  # noqa: ANN401  # an optional library
        """Draw below the row `top`."""
        self._draw, self._fonts, self._top = draw, fonts, top

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        """Return the position of a point of the layout in the picture."""
        return point[0] * _SCALE, (point[1] + self._top) * _SCALE

    def line(self, points: Sequence[tuple[float, float]], color: str, width: float, dashes: Sequence[int] = ()) -> None:
        """Draw a line through points; dashes are lengths of marks and gaps."""
        for first, last in _dashed(points, dashes) if dashes else pairwise(points):
            self._draw.line([self.at(first), self.at(last)], color, round(width * _SCALE))

    def polygon(self, points: Sequence[tuple[float, float]], color: str) -> None:
        """Draw a marker, white inside."""
        self._draw.polygon([self.at(point) for point in points], _BACK, color, 2 * _SCALE)

    def circle(self, x: float, y: float, color: str) -> None:
        """Draw a round marker, white inside."""
        box = [self.at((x - _MARKER, y - _MARKER)), self.at((x + _MARKER, y + _MARKER))]
        self._draw.ellipse(box, _BACK, color, 2 * _SCALE)

    def text(self, x: float, y: float, text: str, anchor: str = "ls", color: str = _INK, size: int = 13) -> None:
        """Write text at its baseline. anchor: ls for left, ms for middle, rs for right."""
        self._draw.text(self.at((x, y)), text, color, self._fonts.load_default(size * _SCALE), anchor)


def _draw(canvas: _Canvas, layout: Layout) -> None:
    canvas.text(24, 32, layout.plot.title, size=16)
    canvas.text(layout.left - 10, layout.top - 14, layout.scale.unit, "rs", _FAINT)
    for value, label in layout.scale.labels():
        canvas.line([(layout.left, layout.y(value)), (layout.right, layout.y(value))], _GRID, 1)
        canvas.text(layout.left - 10, layout.y(value) + 4, label, "rs", _FAINT)
    for x, label in layout.x_labels():
        canvas.line([(x, layout.bottom), (x, layout.bottom + 6)], _GRID, 1)
        canvas.text(x, layout.bottom + 22, label, "ms", _FAINT)
    canvas.text((layout.left + layout.right) / 2, layout.bottom + 44, layout.plot.x_name, "ms", _FAINT)
    for line in layout.plot.series:
        _draw_line(canvas, layout, line)
    for line, y in layout.names():
        canvas.text(layout.right + 12, y + 4, line.label, color=_FAINT if line.is_model else _INK)


def _draw_line(canvas: _Canvas, layout: Layout, line: Series) -> None:
    points, color = layout.line(line), line.pen.light
    if line.is_model:
        canvas.line(points, color, 1.5, _MODEL_DASHES)
        return
    canvas.line(points, color, 2.5, line.pen.dashes)
    for x, y in points if line.has_markers else ():
        if outline := corners(line.pen.shape, x, y):
            canvas.polygon(outline, color)
        else:
            canvas.circle(x, y, color)


def _dashed(
    points: Sequence[tuple[float, float]], dashes: Sequence[int]
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the marks of a dashed line; the pattern continues around corners."""
    marks = []
    lengths = cycle(enumerate(map(float, dashes)))
    index, left = next(lengths)
    for first, last in pairwise(points):
        length, done = dist(first, last), 0.0
        while length - done > 1e-9:  # noqa: PLR2004  # rounding
            piece = min(left, length - done)
            if index % 2 == 0:
                marks.append((_between(first, last, done / length), _between(first, last, (done + piece) / length)))
            done, left = done + piece, left - piece
            if left <= 0:
                index, left = next(lengths)
    return marks


def _between(first: tuple[float, float], last: tuple[float, float], share: float) -> tuple[float, float]:
    return first[0] + (last[0] - first[0]) * share, first[1] + (last[1] - first[1]) * share
