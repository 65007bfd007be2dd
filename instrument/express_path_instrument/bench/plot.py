"""Plots of lines over a numeric axis: in the terminal with plotille, and in a file with matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from express_path_cli.terminal.charts import GUTTER, figure_in, text_figure, text_lines
from express_path_cli.terminal.texts import prefix_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIGNS = "o#^*x+%@"
"""The markers of lines in the terminal."""
_MARKERS, _STYLES = "os^Dxv", ("-", "--", "-.", ":")
"""Those of matplotlib. Lines differ in marker and dashes, too, so that nobody needs the color to tell them apart."""
_HATCHES = ("", "//", "xx", "..", "--", "++")
"""Areas differ in them, too."""
_MOST_MARKERS = 24
"""Lines with more points have no markers, which would hide the line."""
_ROWS = 14


@dataclass(frozen=True, slots=True)
class PlottedSeries:
    """One line: (x, y) points in ascending order of x. A model is drawn thin, dotted, and without markers."""

    name: str
    points: tuple[tuple[float, float], ...]
    is_model: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot: its title, the name and labeled values of its x axis, and the unit of its y axis, such as bit/s.

    is_stacked: each series, all of which have the same x, is an area on top of those before it. least_top: what the y axis
    covers at least.
    """

    title: str
    x_name: str
    x_values: tuple[float, ...]
    unit: str
    series: tuple[PlottedSeries, ...]
    is_stacked: bool = False
    least_top: float = 0.0

    @property
    def measured(self) -> list[PlottedSeries]:
        """The lines that are no models."""
        return [line for line in self.series if not line.is_model]

    @property
    def top(self) -> float:
        """The end of the y axis, which covers the measurements; a model may leave the plot."""
        return 1.08 * max([self.least_top, *(y for line in self.edges for _, y in line.points)]) or 1.0

    @property
    def edges(self) -> list[PlottedSeries]:
        """The measured lines, or the upper edges of the areas."""
        if not self.is_stacked:
            return self.measured
        xs = [x for x, _ in self.measured[0].points]
        heights = accumulate(
            ([y for _, y in line.points] for line in self.measured), lambda below, own: list(map(add, below, own))
        )
        return [
            PlottedSeries(line.name, tuple(zip(xs, ys, strict=True)))
            for line, ys in zip(self.measured, heights, strict=True)
        ]

    @property
    def right(self) -> float:
        """The end of the x axis."""
        return 1.03 * max(self.x_values, default=1.0) or 1.0


def as_text_plot(plot: Plot, width: int, *, ascii_only: bool) -> str:
    """Return a plot of lines, width columns wide, without colors. ascii_only: dots instead of braille."""
    prefix, factor = prefix_of(plot.top)
    figure = text_figure(width, _ROWS, f"{prefix}{plot.unit}")
    figure.set_x_limits(0, plot.right)
    figure.set_y_limits(0, plot.top / factor)
    signed = list(zip(cycle(_SIGNS), plot.measured, strict=False))
    for sign, line in signed:
        figure.plot([x for x, _ in line.points], [y / factor for _, y in line.points], marker=sign)
    names = f"{'':{GUTTER}}{plot.x_name}: {'  '.join(f'{sign} {line.name}' for sign, line in signed)}"
    return "\n".join([plot.title, *text_lines(figure, width, ascii_only=ascii_only), names])


def write_plots(file: Path, plots: Sequence[Plot], title: str, description: str) -> None:
    """Write all plots to a file, one below the other. Raise OptionError without matplotlib."""
    with figure_in(file, 4 * len(plots), title, description) as figure:
        for axes, plot in zip(figure.subplots(len(plots), squeeze=False)[:, 0], plots, strict=True):
            _draw(axes, plot)


def _draw(axes: "Axes", plot: Plot) -> None:
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415  # optional

    if plot.is_stacked:
        xs, *_ = zip(*plot.measured[0].points, strict=True)
        heights = [[y for _, y in line.points] for line in plot.measured]
        axes.stackplot(xs, heights, labels=[line.name for line in plot.measured], hatch=_HATCHES, edgecolor="white")
    for index, line in enumerate([] if plot.is_stacked else plot.measured):
        color, style = f"C{index}", _STYLES[index % len(_STYLES)]
        marker = _MARKERS[index % len(_MARKERS)] if len(line.points) <= _MOST_MARKERS else ""
        axes.plot(*_coordinates(line), color=color, linestyle=style, marker=marker, label=line.name)
    for style, line in zip(cycle((":", "-.")), (line for line in plot.series if line.is_model), strict=False):
        axes.plot(*_coordinates(line), color="gray", linestyle=style, linewidth=1, label=line.name)
    axes.set(title=plot.title, xlabel=plot.x_name, xlim=(0, plot.right), ylim=(0, plot.top))
    axes.set_xticks(plot.x_values)
    axes.yaxis.set_major_formatter(EngFormatter(plot.unit))
    axes.grid(alpha=0.3)
    axes.legend()


def _coordinates(line: PlottedSeries) -> tuple[list[float], list[float]]:
    return [x for x, _ in line.points], [y for _, y in line.points]
