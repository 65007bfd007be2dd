"""Charts: plotille draws them in the terminal, and matplotlib, which is optional, in files."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotille  # type: ignore[import-untyped]  # it has types, but no py.typed

from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
"""The files that charts can be written to."""
GUTTER = 13
"""How many columns stand to the left of what plotille draws: a label of ten characters, and the axis."""


def check_chart(file: Path) -> None:
    """Raise OptionError unless a chart can be written to a file with this name."""
    if file.suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"--chart {file}: charts are SVG, PNG, or PDF files", f"use a name that ends in {', '.join(SUFFIXES)}"
        )


def text_figure(width: int, rows: int, y_label: str) -> plotille.Figure:
    """Return an empty figure of plotille that is width columns wide, and does not depend on color."""
    figure = plotille.Figure()
    figure.width, figure.height, figure.with_colors = max(24, width - GUTTER - 2), rows, False
    figure.x_label, figure.y_label = "", y_label
    figure.register_label_formatter(float, _number)
    return figure


def text_lines(figure: plotille.Figure, width: int, *, ascii_only: bool) -> list[str]:
    """Return what plotille draws. ascii_only: with dots instead of braille."""
    lines = [line.replace("\u2800", " ")[:width].rstrip() for line in figure.show().splitlines()]
    if ascii_only:
        return [re.sub("[\u2801-\u28ff]", ".", line) for line in lines]
    return lines


def _number(value: float, chars: int, delta: float, left: bool = False) -> str:  # noqa: ARG001  # plotille's interface
    """Return the label of a number on an axis."""
    text = f"{value:.3g}"
    return text.ljust(chars) if left else text.rjust(chars)


@contextmanager
def figure_in(file: Path, height: float, title: str, description: str) -> Iterator["Figure"]:
    """Yield a figure of matplotlib, which is written to a file at the end. Raise OptionError without matplotlib.

    height: in inches. Texts stay texts: dollar signs are no formulas. The same figure gives the same file.
    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415  # optional
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise OptionError(
            "charts in files need matplotlib, which is not installed",
            "install it with: pipx inject express-path matplotlib",
        ) from error
    suffix, written = file.suffix.lower(), io.BytesIO()
    metadata = {".svg": {"Title": title, "Description": description, "Date": None}, ".png": {"Title": title}}
    settings: Any = {
        "date.converter": "concise",
        "svg.fonttype": "none",
        "svg.hashsalt": "express-path",
        "text.parse_math": False,
        "timezone": "UTC",
    }
    with rc_context(settings):
        figure = Figure(figsize=(9.6, height), layout="constrained")
        yield figure
        figure.savefig(written, format=suffix[1:], dpi=150, metadata=metadata.get(suffix))
    write_bytes(file, [written.getvalue()])
