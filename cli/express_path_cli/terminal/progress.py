"""A progress bar for a person at a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from express_path_cli.terminal.tables import Terminal


class Watch(Protocol):
    """A receiver of progress."""

    def expect(self, tasks: int) -> None:
        """Add a number of tasks to those expected."""

    def done(self, name: str) -> None:
        """Count one task as finished."""


class Silent:
    """A watch that shows nothing."""

    def expect(self, tasks: int) -> None:
        """Show nothing."""

    def done(self, name: str) -> None:
        """Show nothing."""


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task, self._total = progress, task, 0

    def expect(self, tasks: int) -> None:
        """Make the bar longer."""
        self._total += tasks
        self._progress.update(self._task, total=self._total)

    def done(self, name: str) -> None:
        """Advance the bar by one, and show the task's name."""
        self._progress.update(self._task, advance=1, description=name)


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watch]:
    """Show a progress bar on standard error, unless quiet or not at a terminal. It is erased at the end."""
    console = Terminal(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress, progress.add_task("", total=None))
