"""Plots of lines: SVG, PNG, and terminal, all readable without color."""

import io
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.plot import HEIGHT, PENS, WIDTH, Plot, Series, layout_of
from express_path_instrument.bench.plot_png import as_png
from express_path_instrument.bench.plot_svg import as_plot_svg
from express_path_instrument.bench.plot_text import as_text_plot

SVG = "{http://www.w3.org/2000/svg}"
FLAT = Series("flat & low", ((1, 1e9), (8, 8e9), (64, 9e9)), PENS[0])
STEEP = Series("steep", ((1, 1e9), (8, 8e9), (64, 60e9)), PENS[1])
MODEL = Series("model", ((1, 1e9), (64, 64e9)), PENS[0], is_model=True)
PLOT = Plot("Throughput", "connections", (1, 8, 64), "bit/s", (MODEL, FLAT, STEEP))


def test_pens_differ_without_color() -> None:
    """No two pens share their dashes, marker, or sign."""
    for values in ([pen.dashes for pen in PENS], [pen.shape for pen in PENS], [pen.sign for pen in PENS]):
        assert len(set(values)) == len(PENS)


def test_svg_has_lines_markers_names_and_a_description() -> None:
    """Each measurement has a line, its own markers, and its name; texts are escaped."""
    root = ET.fromstring(as_plot_svg([PLOT, PLOT], "Two plots", "one is <flat>"))
    assert root.findtext(f"{SVG}desc") == "one is <flat>"
    assert root.get("height") == str(2 * HEIGHT)
    first = root.findall(f"{SVG}g")[0]
    assert {path.get("class") for path in first.findall(f"{SVG}path")} == {"grid", "line0", "line1", "model0"}
    assert len(first.findall(f"{SVG}circle")) == 3
    assert len(first.findall(f"{SVG}polygon")) == 3
    texts = [text.text for text in first.findall(f"{SVG}text")]
    assert {"Throughput", "Gbit/s", "connections", "64", "flat & low", "steep", "model"} <= set(texts)


def test_model_that_leaves_the_plot_is_cut_at_its_edge() -> None:
    """Measurements set the scale, and a model ends where it crosses the top."""
    layout = layout_of(Plot("", "", (1, 64), "bit/s", (MODEL, FLAT)))
    assert layout.scale.top == 10e9
    assert layout.line(MODEL)[-1] == (layout.x(10), layout.top)


def test_names_of_close_lines_do_not_touch() -> None:
    """Names keep the height of a line apart, in the order of the lines' ends; long ones are shortened."""
    lines = tuple(
        Series(f"line {index} with a very long name", ((1, 5e9), (64, 9e9)), PENS[index]) for index in range(3)
    )
    names = layout_of(Plot("", "", (1, 64), "bit/s", lines)).names()
    rows = [row for _, row in names]
    assert all(after - before >= 17 for before, after in pairwise(rows))
    assert {len(line.label) for line, _ in names} == {24}


def test_png_shows_the_same() -> None:
    """The picture has the size of the plots, and pixels in the color of each pen."""
    picture = Image.open(io.BytesIO(as_png([PLOT])))
    assert picture.size == (2 * WIDTH, 2 * HEIGHT)
    colors = {color for _, color in picture.convert("RGB").getcolors(1 << 20) or []}
    for pen in PENS[:2]:
        assert tuple(bytes.fromhex(pen.light[1:])) in colors


def test_missing_pillow_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library, the message says how to get it, and that SVG needs none."""
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(OptionError, match="need Pillow") as raised:
        as_png([PLOT])
    assert "pipx inject express-path pillow" in raised.value.hint


def test_terminal_plot_is_ascii_and_fits() -> None:
    """Each measurement has its own sign, in a plot that is not wider than asked for."""
    shown = as_text_plot(PLOT, 70).plain
    assert shown.isascii()
    lines = shown.splitlines()
    assert max(map(len, lines[:-1])) <= 70
    assert shown.count("#") == 3 + 1  # two points may share a cell, and the legend has one
    assert "o flat & low" in lines[-1]


def test_plot_without_points_is_empty() -> None:
    """A plot of nothing has axes."""
    empty = Plot("p99 latency", "connections", (1.0,), "s", (Series("none", (), PENS[0]),))
    assert "p99 latency" in as_text_plot(empty, 60).plain
    assert as_plot_svg([empty], "", "").startswith("<svg")
    assert as_png([empty])
