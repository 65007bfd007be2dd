"""What text is written to: a terminal with a width and perhaps colors, or a pipe or a file without either."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

FILE_WIDTH = 120
"""The width of a table in a file, in columns, for tables that are wrapped there."""


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
_MAX_WIDTH = 26
"""The widest value that a terminal shows whole: the longest reason. IDs are shorter, names may be longer."""
_MAX_VALUES = 2
"""How many values of a kind a terminal shows."""
_ACCOUNT_DIGITS = 12
"""The length of an account ID, which is at the left of its column, unlike a number."""

Layout = Sequence[tuple[str, ...]]
"""The titles in each column, from top to bottom."""


class Record(NamedTuple):
    """The values of a row by title, and notes by title, which are below the row in a terminal."""

    cells: Mapping[str, Sequence[str]]
    notes: Mapping[str, Sequence[str]] = {}


def record_lines(
    records: Sequence[Record], layouts: Iterable[Layout], screen: Screen, hidden: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a header and the records. All records have the same titles.

    A pipe gets every value in a column of its own. A terminal gets the same if it fits, or else the first of the
    layouts that fits, or else the last one, without columns that are empty or hidden.
    """
    if screen.width is None:
        titles = [*records[0].cells, *records[0].notes]
        yield from aligned([titles, *map(_plain_row, records)])
        return
    used = [title for title in records[0].cells if any(_has_value(record.cells[title]) for record in records)]
    titles = [title for title in used if title not in hidden]
    grids = [_Grid(records, layout, titles) for layout in ([(title,) for title in titles], *layouts)]
    grid = next((grid for grid in grids if grid.width <= screen.width), grids[-1])
    yield from (screen.paint(line, "bold") for line in grid.header)
    for record, (first, *others) in zip(records, grid.rows(), strict=True):
        yield first
        yield from (screen.paint(line, "dim") for line in others)
        yield from _note_lines(record, grid.note_indent, screen)


class _Grid:
    """Records in the columns of one layout."""

    def __init__(self, records: Sequence[Record], layout: Layout, titles: Sequence[str]) -> None:
        """Stack these titles as the layout says; without its other titles."""
        stacks = [[title for title in column if title in titles] for column in layout]
        self._stacks = [stack for stack in stacks if stack]
        self._blocks = [[_values(record, stack) for stack in self._stacks] for record in records]
        columns = zip(self._stacks, *self._blocks, strict=True)
        self._widths = [max(text_width(line) for lines in column for line in lines) for column in columns]

    @property
    def width(self) -> int:
        """The width of the longest line, without notes."""
        return sum(self._widths) + len(_GAP) * (len(self._widths) - 1)

    @property
    def note_indent(self) -> str:
        """What is before a note: it begins in the second column."""
        return " " * (self._widths[0] + len(_GAP))

    @property
    def header(self) -> list[str]:
        """The titles."""
        return self._lines(self._stacks)

    def rows(self) -> Iterator[list[str]]:
        """Yield the lines of each record."""
        return map(self._lines, self._blocks)

    def _lines(self, block: Sequence[Sequence[str]]) -> list[str]:
        return [_joined(cells, self._widths) for cells in zip_longest(*block, fillvalue="")]


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield each row in one line. A column is as wide as its widest value, and empty values are dashes."""
    shown = [tuple(row) if _is_plain(row) else tuple([printable(value) or _NONE for value in row]) for row in rows]
    columns = list(zip(*shown, strict=True))
    widths = [max(map(len if "".join(column).isascii() else text_width, column)) for column in columns]
    sides = ["" if all(map(_is_number, column[1:])) else "-" for column in columns]
    pattern = _GAP.join(f"%{side}{width}s" for side, width in zip(sides, widths, strict=True))
    # The pattern is several times as fast, but counts characters, not the columns that they take.
    return (line.rstrip() if line.isascii() else _joined(row, widths) for row in shown for line in [pattern % row])


def _is_plain(row: Sequence[str]) -> bool:
    return all(row) and "".join(row).isprintable()


def _plain_row(record: Record) -> list[str]:
    return [", ".join(values) for values in (*record.cells.values(), *record.notes.values())]


def _has_value(values: Sequence[str]) -> bool:
    return any(value not in ("", "0") for value in values)


def _values(record: Record, stack: Sequence[str]) -> list[str]:
    """Return the lines of a record in one column."""
    values = (value for title in stack for value in limited(record.cells[title]))
    return [shortened(printable(value), _MAX_WIDTH) for value in values if value]


def limited(values: Sequence[str]) -> Sequence[str]:
    """Return at most two values, and how many more there are."""
    more = len(values) - _MAX_VALUES
    return [*values[:_MAX_VALUES], f"and {more} more"] if more > 0 else values


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
