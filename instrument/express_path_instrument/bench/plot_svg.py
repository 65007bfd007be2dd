"""Plots as one self-contained SVG file: light and dark, with a description for screen readers."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from express_path_cli.terminal.charts import new_document, written
from express_path_instrument.bench.plot import HEIGHT, PENS, WIDTH, Layout, Pen, Plot, Series, Shape, layout_of

_SIZE = 5
_CORNERS = {
    Shape.SQUARE: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    Shape.TRIANGLE: ((0, -1.2), (1.2, 1), (-1.2, 1)),
    Shape.DIAMOND: ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
}


def as_plot_svg(plots: Sequence[Plot], title: str, description: str) -> str:
    """Return one document with all plots, one below the other. Screen readers read the title and the description."""
    root = new_document(title, description, _pen_style())
    for index, plot in enumerate(plots):
        place = SubElement(root, "g", {"transform": f"translate(0 {index * HEIGHT})"})
        _draw(place, layout_of(plot))
    return written(root, WIDTH, HEIGHT * len(plots))


def corners(shape: Shape, x: float, y: float) -> list[tuple[float, float]]:
    """Return the corners of a marker around a point, in pixels; none for a circle."""
    return [(x + dx * _SIZE, y + dy * _SIZE) for dx, dy in _CORNERS.get(shape, ())]


def _pen_style() -> str:
    light = " ".join(f"--pen{index}: {pen.light};" for index, pen in enumerate(PENS))
    dark = " ".join(f"--pen{index}: {pen.dark};" for index, pen in enumerate(PENS))
    lines = "\n".join(
        f".line{index} {{ fill: none; stroke: var(--pen{index}); stroke-width: 2.5;"
        f" stroke-dasharray: {' '.join(map(str, pen.dashes)) or 'none'} }}\n"
        f".model{index} {{ fill: none; stroke: var(--pen{index}); stroke-width: 1.5; stroke-dasharray: 2 4 }}\n"
        f".marker{index} {{ fill: var(--back); stroke: var(--pen{index}); stroke-width: 2 }}"
        for index, pen in enumerate(PENS)
    )
    return f"svg {{ {light} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}\n{lines}\n"


def _draw(place: Element, layout: Layout) -> None:
    _text(place, 24, 32, layout.plot.title, "title")
    _text(place, layout.left - 10, layout.top - 14, layout.scale.unit, "faint", "end")
    for value, label in layout.scale.labels():
        SubElement(place, "path", {"class": "grid", "d": f"M{layout.left} {layout.y(value)}H{layout.right}"})
        _text(place, layout.left - 10, layout.y(value) + 4, label, "faint", "end")
    for x, label in layout.x_labels():
        SubElement(place, "path", {"class": "grid", "d": f"M{x} {layout.bottom}v6"})
        _text(place, x, layout.bottom + 22, label, "faint", "middle")
    _text(place, (layout.left + layout.right) / 2, layout.bottom + 44, layout.plot.x_name, "faint", "middle")
    for line in layout.plot.series:
        _draw_line(place, layout, line)
    for line, y in layout.names():
        _text(place, layout.right + 12, y + 4, line.label, *(["faint"] if line.is_model else []))


def _draw_line(place: Element, layout: Layout, line: Series) -> None:
    points, pen = layout.line(line), PENS.index(line.pen)
    if not points:
        return
    kind = f"{'model' if line.is_model else 'line'}{pen}"
    SubElement(place, "path", {"class": kind, "d": "M" + "L".join(f"{x:g} {y:g}" for x, y in points)})
    for x, y in points if line.has_markers else ():
        _draw_marker(place, line.pen, x, y)


def _draw_marker(place: Element, pen: Pen, x: float, y: float) -> None:
    look = {"class": f"marker{PENS.index(pen)}"}
    if pen.shape is Shape.CIRCLE:
        SubElement(place, "circle", {**look, "cx": f"{x:g}", "cy": f"{y:g}", "r": str(_SIZE)})
    else:
        points = " ".join(f"{px:g},{py:g}" for px, py in corners(pen.shape, x, y))
        SubElement(place, "polygon", {**look, "points": points})


def _text(place: Element, x: float, y: float, text: str, *classes: str) -> None:
    SubElement(place, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": " ".join(classes)}).text = text
