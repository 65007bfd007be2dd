"""How much processor time the client uses itself, how much it may use, and how much other work takes."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_USER, _NICE, _SYSTEM, _IDLE, _WAIT = 0, 1, 2, 3, 4
"""Columns of the line `cpu`. The first three are work; interrupts are not counted with it, because they serve the client's
packets too (https://man7.org/linux/man-pages/man5/proc_stat.5.html)."""
_COLUMNS = 8
"""The others are parts of these."""


def affinity() -> int:
    """Return how many processors the affinity mask allows this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_cpus() -> float:
    """Return how many processors this process can use: those of its affinity mask, or fewer by a quota."""
    return min(affinity(), quota() or affinity())


def cpus() -> int:
    """Return how many processes can use the processors fully at the same time."""
    return ceil(usable_cpus())


def quota(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> float | None:
    """Return the smallest CPU quota of this process's cgroup and those above it, in processors; None without one.

    https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max)
    """
    _, _, path = _text(proc / "self" / "cgroup").strip().rpartition("0::")
    folder, found = cgroups / path.lstrip("/"), []
    # A container sees its own cgroup as the root, whatever path it has outside.
    for place in {cgroups, *(above for above in (folder, *folder.parents) if above.is_relative_to(cgroups))}:
        words = _text(place / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit():  # noqa: PLR2004  # quota and period
            found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="ascii", errors="replace")
    return ""


@dataclass(frozen=True, slots=True)
class ProcessorTimes:
    """Processor times in seconds, at one moment: of this process, of all work on the machine.

    machine: None if the system has no /proc.
    """

    at: float
    own: float
    machine: float | None

    @classmethod
    def now(cls) -> "ProcessorTimes":
        """Return the times now."""
        return cls(time.monotonic(), time.process_time(), _machine_time())


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """What a load used: in percent of what the client may use, and what other work used, in percent of all processors.

    client_percent: of all processors that the client may use, or of the one that its busiest process uses,
    whatever is higher. None if the system does not tell.
    """

    client_percent: float | None = None
    other_percent: float | None = None


def use_between(
    before: ProcessorTimes, after: ProcessorTimes, workers: float, busiest: float, usable: float
) -> ProcessorUse:
    """Return what was used between two moments.

    workers: what other processes of the client used. busiest: how much of one processor the busiest of them used, 0 to
    1. usable: how many processors the client may use.
    """
    wall = after.at - before.at
    if wall <= 0:
        return ProcessorUse()
    own = after.own - before.own + workers
    client = 100 * min(1.0, max(own / wall / usable, busiest))
    if before.machine is None or after.machine is None:
        return ProcessorUse(client)
    other = (after.machine - before.machine - own) / wall / (os.cpu_count() or 1)
    return ProcessorUse(client, 100 * min(1.0, max(0.0, other)))


@dataclass(slots=True)
class MachinePeak:
    """How busy all processors of the machine were in the busiest second of those that were sampled, whoever used them.

    percent: 0 to 100; also 0 if the system does not tell, or if there was no whole second.
    """

    percent: float = 0.0
    _at: float = 0.0
    _ticks: list[int] = field(default_factory=list)

    def sample(self, now: float) -> None:
        """Note what was used since the last sample, if that is a second ago."""
        if now < self._at + 1:
            return
        ticks = _ticks()[:_COLUMNS]
        since = [after - before for after, before in zip(ticks, self._ticks, strict=False)]
        if total := sum(since):
            self.percent = max(self.percent, 100 * (1 - (since[_IDLE] + since[_WAIT]) / total))
        self._at, self._ticks = now, ticks


def _machine_time() -> float | None:
    """Return the time of all work. What has a low priority gives way to the measurement, so only a nice one counts it."""
    ticks = _ticks()
    if not ticks:
        return None
    nice = ticks[_NICE] if os.getpriority(os.PRIO_PROCESS, 0) > 0 else 0
    return (ticks[_USER] + nice + ticks[_SYSTEM]) / os.sysconf("SC_CLK_TCK")


def _ticks() -> list[int]:
    """Return what all processors did since the start of the system, or an empty list if it does not tell."""
    line, *_ = _text(_PROC / "stat").splitlines() or [""]
    return [int(word) for word in line.split()[1:]]
