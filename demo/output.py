"""What the demonstration prints: steps, progress on a terminal, and tables of verdicts."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from demo.verdicts import Row

STYLES = {"NON_COMPLIANT": "bold red", "COMPLIANT": "green", "NOT_APPLICABLE": "dim"}
WIDE = 100
"""Columns of a terminal that is wide enough to show a subnet's id under its name."""

INDENT = "   "
NAME = 20
"""Columns of an item's name."""


class Narrator:
    """Tells what happens: on a terminal with spinners and bars, in a pipe with plain lines."""

    def __init__(self, console: Console) -> None:
        """Print to a console."""
        self._console = console
        self._steps = 0

    def headline(self, text: str) -> None:
        """Print the first line or the last one."""
        if self._steps:
            self._console.print()
        self._console.print(Text(text, style="bold"))

    def say(self, text: str) -> None:
        """Print a paragraph, indented under the current step."""
        for line in Text(text).wrap(self._console, self._console.width - len(INDENT)):
            line.rstrip()
            self._console.print(Text(INDENT).append_text(line))

    def subtitle(self, text: str) -> None:
        """Print the title of a part of the current step."""
        self._console.print(Text(f"\n{INDENT}{text}", style="bold"))

    def warn(self, text: str) -> None:
        """Print what went wrong."""
        self._console.print(Text(text, style="bold red"))

    def command(self, words: Sequence[str]) -> None:
        """Print a shell command, one option a line, so that it can be copied."""
        text = f" \\\n{INDENT}      ".join(words)
        self._console.print(Text(f"\n{INDENT}$ {text}\n", style="cyan"), soft_wrap=True)

    def code(self, text: str) -> None:
        """Print text that is to be copied, line by line and unwrapped."""
        for line in text.splitlines():
            self._console.print(Text(f"{INDENT}  {line}", style="cyan"), soft_wrap=True)

    def item(self, name: str, text: str, *, marked: bool = False) -> None:
        """Print a name and beside it what belongs to it, marked with a star if it stands out."""
        head = f"{INDENT}{'*' if marked else ' '} {name:<{NAME}} "
        lines = Text(text).wrap(self._console, max(self._console.width - len(head), NAME))
        for number, line in enumerate(lines):
            line.rstrip()
            start = Text(head if number == 0 else " " * len(head))
            self._console.print(start.append_text(line), style="bold" if marked else "", soft_wrap=True)

    @contextmanager
    def step(self, title: str, doing: str) -> Iterator[None]:
        """Print a numbered title, and show on a terminal what is being done until the block ends."""
        self._title(title)
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(doing):
            yield

    @contextmanager
    def counted_step(self, title: str, total: int) -> Iterator[Callable[[], None]]:
        """Print a numbered title, and give a function to call for each of `total` things that is done."""
        self._title(title)
        columns = (TextColumn(INDENT[:-1]), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as bar:
            task = bar.add_task("", total=total)
            yield lambda: bar.advance(task)

    def table(self, rows: Sequence[Row], earlier: Sequence[Row] = ()) -> None:
        """Print the verdicts, and the earlier ones where they have changed."""
        was = {row.subnet: row.compliance for row in earlier}
        table = Table(box=SIMPLE_HEAD)
        for title in ("Subnet", "Verdict", "Path", "Deciding route"):
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(self._subnet(row), _verdict(row, was.get(row.subnet)), row.path, _dim_after_first(row.route))
            if row is not rows[-1]:
                table.add_row()
        self._console.print(Padding(table, (0, 0, 0, len(INDENT) - 2), expand=False))

    def _subnet(self, row: Row) -> Text:
        wide = self._console.width >= WIDE
        return Text.assemble((row.subnet, "bold"), (f"\n{row.subnet_id}", "dim") if wide else "")

    def _title(self, title: str) -> None:
        self._steps += 1
        self._console.print(Text(f"\n{self._steps}. {title}", style="bold"))


class Stopwatch:
    """How long it has been since it was made."""

    def __init__(self) -> None:
        """Start it."""
        self._started = time.monotonic()

    def __str__(self) -> str:
        return f"{time.monotonic() - self._started:.0f} seconds"


def _verdict(row: Row, was: str | None) -> Text:
    changed = was not in (None, row.compliance)
    return Text.assemble(
        (row.compliance, STYLES[row.compliance]), f"\n{row.reason}", (f"\nwas {was}", "dim") if changed else ""
    )


def _dim_after_first(text: str) -> Text:
    first, _, rest = text.partition("\n")
    return Text.assemble(first, (f"\n{rest}", "dim") if rest else "")
