"""What text is written to: a terminal with a width and perhaps colors, or a pipe or a file without either."""

from collections.abc import Sequence
from functools import lru_cache
from io import StringIO

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
