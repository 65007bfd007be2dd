"""Plots as text for the terminal: each line has its own sign, so nothing depends on color."""

from rich.text import Text

from express_path_instrument.bench.plot import Plot, Series

_ROWS = 12
_GUTTER = 9
_MODEL_SIGN = "."


def as_text_plot(plot: Plot, width: int) -> Text:
    """Return the plot, width columns wide, in ASCII. Measurements cover models, and later lines earlier ones."""
    columns = max(24, width - _GUTTER - 2)
    cells = [[" "] * columns for _ in range(_ROWS)]
    for line in sorted(plot.series, key=lambda line: not line.is_model):
        _draw(cells, plot, line)
    scale = plot.scale
    labels = {_ROWS - round(_ROWS * value / scale.top): label for value, label in scale.labels() if value}
    rows = [Text(f"{plot.title} ({scale.unit})", "bold")]
    for index, row in enumerate(cells):
        label = labels.get(index, "")
        rows.append(Text.assemble((f"{label:>{_GUTTER - 1}} {'+' if label else '|'}", "dim"), "".join(row).rstrip()))
    rows.append(Text(f"{'0':>{_GUTTER - 1}} +{'-' * columns}", "dim"))
    rows.append(Text(f"{'':>{_GUTTER}} {_x_labels(plot, columns)}", "dim"))
    rows.append(Text(f"{'':>{_GUTTER}} {plot.x_name}: {_legend(plot)}", "dim"))
    return Text("\n").join(rows)


def _draw(cells: list[list[str]], plot: Plot, line: Series) -> None:
    """Draw the points of a line, and between them dots."""
    top, sign = plot.scale.top, _MODEL_SIGN if line.is_model else line.pen.sign
    columns = len(cells[0])
    for (x, y), (next_x, next_y) in zip(line.points, line.points[1:], strict=False):
        first, last = _column(plot, x, columns), _column(plot, next_x, columns)
        for column in range(first + 1, last):
            between = y + (next_y - y) * (column - first) / (last - first)
            _mark(cells, column, between / top, _MODEL_SIGN if line.is_model else "-", only_free=True)
    for x, y in line.points:
        _mark(cells, _column(plot, x, columns), y / top, sign)


def _mark(cells: list[list[str]], column: int, share: float, sign: str, *, only_free: bool = False) -> None:
    """Write a sign at a share of the height, 0 to 1. Values above the plot have none."""
    row = len(cells) - 1 - min(int(share * len(cells)), len(cells) - 1)
    if share <= 1 and not (only_free and cells[row][column] != " "):
        cells[row][column] = sign


def _column(plot: Plot, x: float, columns: int) -> int:
    highest = max(plot.x_values, default=1.0) or 1.0
    return min(columns - 1, int(x / highest * (columns - 1)))


def _x_labels(plot: Plot, columns: int) -> str:
    line = [" "] * (columns + 4)
    free = 0
    for value in plot.x_values:
        label, column = f"{value:g}", _column(plot, value, columns)
        if column >= free:
            line[column : column + len(label)] = label
            free = column + len(label) + 1
    return "".join(line).rstrip()


def _legend(plot: Plot) -> str:
    names = [f"{line.pen.sign} {line.name}" for line in plot.series if not line.is_model]
    return "  ".join([*names, *([f"{_MODEL_SIGN} model"] if any(line.is_model for line in plot.series) else [])])
