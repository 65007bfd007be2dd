"""How busy the processors are, as Linux counts it."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

_STAT = Path("/proc/stat")
_PERIOD = 0.5
"""The seconds of one sample."""
_NICE, _IDLE = slice(1, 2), slice(3, 5)
"""The column nice, and the columns idle and iowait of the line `cpu`
(https://man7.org/linux/man-pages/man5/proc_stat.5.html)."""
_TIMES = 8
"""How many columns are times that add up. Those after it are part of them."""


@dataclass(slots=True)
class ProcessorPeak:
    """The highest use of all processors together while it is entered. `percent` is None without /proc/stat."""

    percent: float | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start to sample."""
        if _STAT.exists():
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop to sample. A measurement shorter than a period is one sample."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def _sample(self) -> None:
        before, stopped = read_times(), False
        while not stopped:
            stopped = self._stop.wait(_PERIOD)
            now = read_times()
            if not stopped or self.percent is None:
                self.percent = max(self.percent or 0, busy_percent(before, now))
            before = now


def read_times() -> list[int]:
    """Return the times of all processors together since the start of the system, by column."""
    first, *_ = _STAT.read_text(encoding="ascii").splitlines()
    return [int(text) for text in first.split()[1 : _TIMES + 1]]


def busy_percent(before: Sequence[int], now: Sequence[int]) -> float:
    """Return how much of the time between two reads the processors were busy.

    Work with a low priority (nice) gives way to the measurement, so it does not count, unless that is nice itself.
    """
    spent = [later - earlier for earlier, later in zip(before, now, strict=True)]
    total, is_nice = sum(spent), os.getpriority(os.PRIO_PROCESS, 0) > 0
    free = sum(spent[_IDLE]) + (0 if is_nice else sum(spent[_NICE]))
    return 100 * (total - free) / total if total > 0 else 0.0
