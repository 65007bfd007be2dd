"""Measuring: the best of several runs, in processor time of this process, and figures beside a floor."""

import gc
import time
from collections.abc import Callable
from typing import NamedTuple

from rich.console import Console
from rich.table import Table


class Figure(NamedTuple):
    """One measured thing: what it is, and its value in the unit of its table."""

    what: str
    value: float


class Measured(NamedTuple):
    """A table of figures in one unit; compared says how the floor's value is told apart, as in "times the floor"."""

    title: str
    unit: str
    compared: str
    floor: float
    figures: list[Figure]
    more_is_better: bool = True

    def show(self) -> None:
        """Print the table, never narrower than its figures need."""
        table = Table("what", title=self.title, title_justify="left")
        table.add_column(self.unit, justify="right")
        table.add_column(self.compared, justify="right")
        for figure in self.figures:
            ratio = figure.value / self.floor if self.more_is_better else self.floor / figure.value
            table.add_row(figure.what, f"{figure.value:,.0f}", f"{ratio:.2f}x")
        Console(width=max(100, Console().width)).print(table)


def seconds(run: Callable[[], object], *, before: Callable[[], object] = lambda: None, times: int = 5) -> float:
    """The least processor time of several runs, in seconds: whatever else the machine does only adds to it.

    before is called ahead of each run and not measured; nor is collecting the garbage of earlier runs.
    """
    best = float("inf")
    for _ in range(times):
        before()
        gc.collect()
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best
