"""Plots of lines: in the terminal and in files, readable without color."""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from express_path_cli.terminal.charts import SUFFIXES
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.plot import Plot, PlottedSeries, as_text_plot, write_plots

FLAT = PlottedSeries("flat & low", ((1, 1e9), (8, 8e9), (64, 9e9)))
STEEP = PlottedSeries("steep", ((1, 1e9), (8, 8e9), (64, 60e9)))
MODEL = PlottedSeries("model", ((1, 1e9), (64, 64e9)), is_model=True)
PLOT = Plot("Throughput", "connections", (1, 8, 64), "bit/s", (MODEL, FLAT, STEEP))
STACKED = Plot(
    "Answers",
    "seconds",
    (0, 1),
    "/s",
    (PlottedSeries("200", ((0, 9), (1, 5))), PlottedSeries("503", ((0, 3), (1, 4)))),
    is_stacked=True,
)
EMPTY = Plot("p99 latency", "connections", (1.0,), "s", (PlottedSeries("none", ()),))


def test_svg_has_names_and_a_description(tmp_path: Path) -> None:
    """Texts of both plots are text, escaped, and the description is in the metadata. The same plots give the same file."""
    file = tmp_path / "a.svg"
    write_plots(file, [PLOT, EMPTY], "Two plots", "one is <flat>")
    first = file.read_bytes()
    text = " ".join(ET.fromstring(first).itertext())
    for words in ("Throughput", "Gbit/s", "connections", "64", "flat & low", "steep", "model", "p99 latency"):
        assert words in text
    assert "one is <flat>" in text
    write_plots(file, [PLOT, EMPTY], "Two plots", "one is <flat>")
    assert file.read_bytes() == first


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_is_written(suffix: str, tmp_path: Path) -> None:
    """Each file has the format that its name says, whatever the case of its suffix."""
    file = tmp_path / f"a{suffix.upper()}"
    write_plots(file, [PLOT, STACKED], "", "")
    assert file.read_bytes().startswith({".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix])


def test_missing_matplotlib_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the library, the message says how to get it, and nothing is written."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match="need matplotlib") as raised:
        write_plots(tmp_path / "a.svg", [PLOT], "", "")
    assert "pipx inject express-path matplotlib" in raised.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_terminal_plot_fits_and_has_a_sign_for_each_line(width: int, ascii_only: bool) -> None:
    """Each measurement has its own sign, in a plot that is not wider than asked for."""
    shown = as_text_plot(PLOT, width, ascii_only=ascii_only)
    assert shown.isascii() is ascii_only
    title, *lines = shown.splitlines()
    assert title == "Throughput"
    assert max(map(len, lines)) <= width
    assert "o flat & low  # steep" in lines[-1]
    assert "(Gbit/s)" in shown
    body = "".join(lines[:-1])
    assert "#" in body
    assert "o" in body


def test_areas_are_stacked() -> None:
    """Each area stands on the one before it, and the axis ends above their sum."""
    assert [line.points for line in STACKED.edges] == [((0, 9), (1, 5)), ((0, 12), (1, 9))]
    assert STACKED.top == pytest.approx(12 * 1.08)
