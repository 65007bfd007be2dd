"""Telling a person at a terminal how far a scan is; nobody else is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn


class Watch(Protocol):
    """Who is told how far the work is."""

    def expect(self, places: int) -> None:
        """So many places more will be read."""

    def done(self, place: str) -> None:
        """One of them has been."""


class Silent:
    """Tells nobody."""

    def expect(self, places: int) -> None:
        """Say nothing."""

    def done(self, place: str) -> None:
        """Say nothing."""


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task, self._total = progress, task, 0

    def expect(self, places: int) -> None:
        """Make the bar longer."""
        self._total += places
        self._progress.update(self._task, total=self._total)

    def done(self, place: str) -> None:
        """Move the bar on by one, and name the place."""
        self._progress.update(self._task, advance=1, description=place)


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watch]:
    """A progress bar on standard error where that is a terminal and nobody asked for quiet; it leaves no trace."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress, progress.add_task("", total=None))
