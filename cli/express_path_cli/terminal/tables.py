"""What text is written to: a terminal with a width and perhaps colors, or a pipe or a file without either."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment
from rich.text import Text

from express_path_cli.terminal.console import without_controls


class Terminal(Console):
    """A rich console that prints no control characters of a text, only those of styles."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Print texts as they are, without highlighting numbers and paths."""
        super().__init__(highlight=False, stderr=stderr)
        self.push_render_hook(_Cleaning())


class _Cleaning(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Cleaned(renderable) for renderable in renderables]


class _Cleaned:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else without_controls(text), style, control)


class Screen:
    """A console to write lines to. It is used directly, since rich's own tables take 30 s for 100,000 lines.

    width: in columns; None for a pipe or a file, where no line is wrapped.
    """

    def __init__(self, console: Console | None = None) -> None:
        """Write to a console, or without one to a file."""
        self._console = console or Console(file=StringIO(), color_system=None)
        self.width = self._console.width if self._console.is_terminal else None
        self._folded = lru_cache(maxsize=1 << 14)(self._fold)
        self._codes = lru_cache(maxsize=None)(self._look_up)

    def paint(self, text: str, style: str) -> str:
        """Return a text with the control codes of a style around it, if the console has colors."""
        return text.join(self._codes(style))

    def folded(self, text: str, indent: str = "") -> Sequence[str]:
        """Return a printable text in lines that fit the console, broken between words if possible."""
        return self._folded(printable(text), indent)

    def _fold(self, text: str, indent: str) -> Sequence[str]:
        if self.width is None or len(indent) + cell_len(text) <= self.width:
            return (indent + text,)
        lines = Text(text).wrap(self._console, max(self.width - len(indent), 1), overflow="fold")
        return tuple(indent + line.plain.rstrip() for line in lines)

    def _look_up(self, style: str) -> Sequence[str]:
        with self._console.capture() as captured:
            self._console.print(Text("|", style), end="")
        return captured.get().split("|")


def print_lines(lines: Callable[[Screen], Iterable[str]]) -> None:
    """Print what is made for the screen that the command writes to."""
    console = Terminal()
    console.file.writelines(f"{line}\n" for line in lines(Screen(console)))


def printable(text: str) -> str:
    """Return a text in one line, without characters that control a terminal, which a name or a dump may contain."""
    if text.isprintable():
        return text
    kept = (character if character.isprintable() or character.isspace() else "\ufffd" for character in text)
    return " ".join("".join(kept).split())


def text_width(text: str) -> int:
    """Return how many columns a printable text takes."""
    return len(text) if text.isascii() else cell_len(text)


def shortened(text: str, width: int) -> str:
    """Return a text, or its beginning and three dots if it is wider."""
    if text_width(text) <= width:
        return text
    while text_width(text) > width - 3:
        text = text[:-1]
    return f"{text}..."


_GAP = "  "
_NONE = "-"
_CUT_VALUE_WIDTH = 26
"""The widest value that is whole where room is short: the longest reason. IDs are shorter, names may be longer."""
_MAX_VALUES = 2
"""How many values of a kind a terminal shows."""
_ACCOUNT_DIGITS = 12
"""The length of an account ID, which is at the left of its column, unlike a number."""

Layout = Sequence[tuple[str, ...]]
"""The titles in each column, from top to bottom. The values of all other titles are in one line below the columns."""


class Record(NamedTuple):
    """The values of a row by title, and notes by title, which are below the row in a terminal."""

    cells: Mapping[str, Sequence[str]]
    notes: Mapping[str, Sequence[str]] = {}


def record_lines(
    records: Sequence[Record], layouts: Iterable[Layout], screen: Screen, hidden: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a header and the records. A record has no values for a title that only others have.

    A pipe gets every value in a column of its own. A terminal gets the same if it fits, or else the first of the
    layouts that fits, or else the last one, without columns that are empty or hidden. Values are whole if they fit.
    """
    records = _with_all_titles(records)
    if screen.width is None:
        titles = [*records[0].cells, *records[0].notes]
        yield from aligned([titles, *map(_plain_row, records)])
        return
    grid = _fitting_grid(records, layouts, screen.width, hidden)
    header, *blocks = grid.blocks(max(screen.width, grid.width))
    for line in header:
        yield screen.paint(line, "bold")
    for record, (first_line, *more_lines) in zip(records, blocks, strict=True):
        yield first_line
        for line in more_lines:
            yield screen.paint(line, "dim")
        yield from _note_lines(record, grid.indent, screen)


def _fitting_grid(
    records: Sequence[Record], layouts: Iterable[Layout], screen_width: int, hidden: Sequence[str]
) -> "_Grid":
    """Return the first grid that fits: with whole values if possible, else with cut ones. The last one if none fits."""
    used = [title for title in records[0].cells if any(_has_value(record.cells[title]) for record in records)]
    titles = [title for title in used if title not in hidden]
    one_line_layout = [(title,) for title in titles]
    choices = (one_line_layout, *layouts)
    for layout in choices:
        grid = _Grid(records, layout, titles, max_value_width=max(screen_width, _CUT_VALUE_WIDTH))
        if max(grid.width, grid.width_below) <= screen_width:
            return grid
    # The line below the columns need not fit: it is cut when it is written.
    cut_grids = [_Grid(records, layout, titles, max_value_width=_CUT_VALUE_WIDTH) for layout in choices]
    return next((grid for grid in cut_grids if grid.width <= screen_width), cut_grids[-1])


def _with_all_titles(records: Sequence[Record]) -> Sequence[Record]:
    """Return records that all have the same titles, in the order in which they first occur."""
    cells: dict[str, Sequence[str]] = {title: () for record in records for title in record.cells}
    notes: dict[str, Sequence[str]] = {title: () for record in records for title in record.notes}
    return [Record(cells | dict(record.cells), notes | dict(record.notes)) for record in records]


class _Grid:
    """The titles of records and their values, in the columns of one layout."""

    def __init__(
        self, records: Sequence[Record], layout: Layout, titles: Sequence[str], *, max_value_width: int
    ) -> None:
        """Stack these titles as the layout says, with values of at most this width."""
        columns = [[title for title in column if title in titles] for column in layout]
        stacks = [column for column in columns if column]
        below = [title for title in titles if not any(title in stack for stack in stacks)]
        self._blocks = [stacks]
        self._below = [_GAP.join(below)]
        for record in records:
            self._blocks.append([_values(record, stack, max_value_width) for stack in stacks])
            self._below.append(_GAP.join(_in_line(record, title) for title in below))
        self._widths = [0] * len(stacks)
        for block in self._blocks:
            for number, lines in enumerate(block):
                self._widths[number] = max(self._widths[number], *map(text_width, lines), 0)
        self.indent = " " * (self._widths[0] + len(_GAP))
        """What is before a note, and before the line below the columns: it begins in the second column."""

    @property
    def width(self) -> int:
        """The width of the columns."""
        return sum(self._widths) + len(_GAP) * (len(self._widths) - 1)

    @property
    def width_below(self) -> int:
        """The width of the longest line below the columns."""
        return len(self.indent) + max(map(text_width, self._below))

    def blocks(self, width: int) -> Iterator[list[str]]:
        """Yield the lines of the titles and those of each record. The line below the columns is cut at this width."""
        for block, below in zip(self._blocks, self._below, strict=True):
            lines = [_joined(cells, self._widths) for cells in zip_longest(*block, fillvalue="")]
            if below:
                lines.append(self.indent + shortened(below, width - len(self.indent)))
            yield lines


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield each row in one line. A column is as wide as its widest value, and empty values are dashes."""
    shown = [_shown_row(row) for row in rows]
    widths, formats = [], []
    for column in zip(*shown, strict=True):
        width_of = len if "".join(column).isascii() else text_width
        width = max(map(width_of, column))
        side = "" if all(map(_is_number, column[1:])) else "-"
        widths.append(width)
        formats.append(f"%{side}{width}s")
    pattern = _GAP.join(formats)
    for row in shown:
        # The pattern is several times as fast, but counts characters, not the columns that they take.
        line = pattern % row
        yield line.rstrip() if line.isascii() else _joined(row, widths)


def _shown_row(row: Sequence[str]) -> tuple[str, ...]:
    """Return a row with dashes for empty values, and printable ones."""
    if all(row) and "".join(row).isprintable():
        return tuple(row)
    return tuple([printable(value) or _NONE for value in row])


def _plain_row(record: Record) -> list[str]:
    return [", ".join(values) for values in (*record.cells.values(), *record.notes.values())]


def _has_value(values: Sequence[str]) -> bool:
    return any(value not in ("", "0") for value in values)


def _values(record: Record, stack: Sequence[str], max_width: int) -> list[str]:
    """Return the lines of a record in one column."""
    values = (value for title in stack for value in limited(record.cells[title]))
    return [shortened(printable(value), max_width) for value in values if value]


def _in_line(record: Record, title: str) -> str:
    return printable(", ".join(limited(record.cells[title]))) or _NONE


def limited(values: Sequence[str]) -> Sequence[str]:
    """Return at most two values, and how many more there are."""
    more = len(values) - _MAX_VALUES
    if more <= 0:
        return values
    return [*values[:_MAX_VALUES], f"and {more} more"]


def _note_lines(record: Record, indent: str, screen: Screen) -> Iterator[str]:
    for title, values in record.notes.items():
        if any(values):
            yield from screen.folded(f"{title}: {', '.join(limited(values))}", indent)


def _joined(cells: Iterable[str], widths: Sequence[int]) -> str:
    """Return cells in one line. Numbers are at the right of their column."""
    return _GAP.join(map(_padded, cells, widths)).rstrip()


def _padded(cell: str, width: int) -> str:
    return cell.rjust(width) if _is_number(cell) else cell + " " * (width - text_width(cell))


def _is_number(cell: str) -> bool:
    return cell.isdecimal() and len(cell) < _ACCOUNT_DIGITS
