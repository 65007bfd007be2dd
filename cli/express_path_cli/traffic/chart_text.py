"""A NAT gateway's throughput over time as text for the terminal: columns of blocks, and lanes of marks below."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import ceil

from rich.text import Text

from express_path_cli.terminal.charts import Axis, averaged, axis, ticks
from express_path_cli.traffic.chart_marks import Span, lanes
from express_path_cli.traffic.symptoms import Diagnosis
from express_path_cli.traffic.symptoms_load import highest

_ROWS = 10
_GUTTER = 9
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_UNICODE = {"bar": "│", "tick": "┤", "floor": "─", "corner": "┼", "mark": "┬"}
_ASCII = {"bar": "|", "tick": "+", "floor": "-", "corner": "+", "mark": "+"}


def as_text_chart(diagnosis: Diagnosis, width: int, *, ascii_only: bool) -> Text:
    """Return the chart, width columns wide; it does not depend on color. ascii_only: use no other characters.

    A column shows the mean of its periods.
    """
    columns = max(24, width - _GUTTER - 2)
    scale = axis(highest(diagnosis.load.carried), "bit/s", 5)
    rows = [Text(f"{scale.unit} carried, both directions", "dim")]
    rows += _plot(diagnosis, scale, columns, ascii_only=ascii_only)
    rows += _times(diagnosis, columns, ascii_only=ascii_only)
    rows += _marks(diagnosis, columns, ascii_only=ascii_only)
    return Text("\n").join(rows)


def _plot(diagnosis: Diagnosis, scale: Axis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    signs = _ASCII if ascii_only else _UNICODE
    period = timedelta(seconds=diagnosis.period)
    values = averaged(diagnosis.load.carried, period, diagnosis.start, diagnosis.end, columns)
    steps = round(scale.top / scale.step)
    rows = steps * max(1, round(_ROWS / steps))
    # Any traffic at all shows at least an eighth.
    heights = [ceil(8 * rows * value / scale.top - 1e-9) if value else 0 for value in values]
    labels = {round(rows * value / scale.top): label for value, label in scale.labels()}
    for row in range(rows, 0, -1):
        label = labels.get(row, "")
        cells = "".join(_cell(height - 8 * (row - 1), ascii_only=ascii_only) for height in heights)
        gutter = f"{label:>{_GUTTER - 1}} {signs['tick' if label else 'bar']}"
        yield Text.assemble((gutter, "dim"), (cells.rstrip(), "cyan"))


def _cell(eighths: int, *, ascii_only: bool) -> str:
    if ascii_only:
        return "#" if eighths >= 4 else "." if eighths > 0 else " "  # noqa: PLR2004  # half a cell
    return _EIGHTHS[min(max(eighths, 0), 8)]


def _times(diagnosis: Diagnosis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield the floor with a mark at each tick, and below it the labels that fit without touching each other."""
    signs = _ASCII if ascii_only else _UNICODE
    floor, labels = [signs["floor"]] * columns, [" "] * (columns + 1)
    free = 0
    for time, label in ticks(diagnosis.start, diagnosis.end, max(2, columns // 9)):
        column = _column(time, diagnosis, columns)
        if free <= column < columns and column + len(label) <= columns + 1:
            floor[column] = signs["mark"]
            labels[column : column + len(label)] = label
            free = column + len(label) + 1
    yield Text(f"{'0':>{_GUTTER - 1}} {signs['corner']}{''.join(floor)}", "dim")
    yield Text(f"{'UTC':>{_GUTTER - 1}}  {''.join(labels).rstrip()}", "dim")


def _marks(diagnosis: Diagnosis, columns: int, *, ascii_only: bool) -> Iterator[Text]:
    for lane in lanes(diagnosis):
        cells = [" "] * columns
        for span in lane.spans:
            first, last = _columns(span, diagnosis, columns)
            cells[first:last] = (lane.ascii_sign if ascii_only else lane.sign) * (last - first)
        yield Text.assemble((f"{lane.name:>{_GUTTER - 1}}  ", "dim"), ("".join(cells).rstrip(), "bold yellow"))


def _columns(span: Span, diagnosis: Diagnosis, columns: int) -> tuple[int, int]:
    """Return the first and last + 1 column of a time span; it fills at least one."""
    first = min(_column(span[0], diagnosis, columns), columns - 1)
    width = (diagnosis.end - diagnosis.start) / columns
    return first, min(columns, max(first + 1, round((span[1] - diagnosis.start) / width)))


def _column(time: datetime, diagnosis: Diagnosis, columns: int) -> int:
    return int((time - diagnosis.start) / (diagnosis.end - diagnosis.start) * columns)
