"""What a sweep of an account costs: API calls, processor time, wall time and peak memory, against the bare reads.

Each run is a process of its own against one moto server in another, so that all start alike and nothing but what is
done with the answers differs from the floor. The server takes most of the wall time. BENCHMARK_VPCS names the sizes,
as in BENCHMARK_VPCS=20,100,1000: with 1,000 VPCs moto takes minutes.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SIZES = os.environ.get("BENCHMARK_VPCS", "20,100")
REPEATS = 5
WAYS = {
    "bare": "floor: the bare reads",
    "verdicts": "express-path: reads and verdicts",
    "sweep": "express-path: the function, no news",
}
MILLI = 1000


class Cost(NamedTuple):
    """What one run cost: calls, milliseconds of processor and wall time, MiB at the peak."""

    calls: float
    cpu: float
    wall: float
    peak: float


UNITS = ("API calls", "ms CPU", "ms wall", "MiB peak")


class Server:
    """The benchmark's server process, asked line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Wait until it serves."""
        self._process = process
        self.environment: dict[str, str] = self._answer()

    def ask(self, question: str) -> Any:  # noqa: ANN401  # an answer is any JSON
        """Ask one question and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:  # noqa: ANN401  # as above
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def main() -> None:
    """Measure accounts of each size and print a table for each: medians, and how many times the floor's they are."""
    for vpcs in map(int, SIZES.split(",")):
        title = f"a sweep of {vpcs:,} VPCs of 12 subnets and 7 route tables: medians of {REPEATS} processes"
        table = Table("what", title=title, title_justify="left")
        for unit in UNITS:
            table.add_column(unit, justify="right")
        costs = _costs(vpcs)
        for way, cost in costs.items():
            floors = zip(cost, costs["bare"], strict=True)
            table.add_row(WAYS[way], *(f"{value:,.0f}  {value / floor:.2f}x" for value, floor in floors))
        Console(width=max(100, Console().width)).print(table)


def _costs(vpcs: int) -> dict[str, Cost]:
    with _serving(vpcs) as server:
        _run(server, "sweep")  # AWS Config then holds everything, as it does on all days but the first
        runs = [{way: _run(server, way) for way in WAYS} for _ in range(REPEATS)]
    return {way: Cost(*map(statistics.median, zip(*(run[way] for run in runs), strict=True))) for way in WAYS}


@contextmanager
def _serving(vpcs: int) -> Iterator[Server]:
    command = [sys.executable, "-m", "benchmarks.sweep_server", str(vpcs)]
    with subprocess.Popen(command, cwd=ROOT, env=_environment(), text=True, stdin=-1, stdout=-1) as process:
        yield Server(process)


def _run(server: Server, way: str) -> Cost:
    event = json.dumps(server.ask("event"))
    server.ask("calls")
    command = [sys.executable, "-m", "benchmarks.sweep_client", way]
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, env=_environment() | server.environment, stdin=-1, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(event.encode())
    process.stdin.close()
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(server.ask("calls"), cpu * MILLI, wall * MILLI, float(printed.split()[-1]))


def _environment() -> dict[str, str]:
    """This process's environment, in which a child finds the packages of the repository."""
    found = os.pathsep.join([str(ROOT), str(ROOT / "functions"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": found}
