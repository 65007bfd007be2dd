"""Scans of a dump in several formats, measured in other processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Run:
    """A scan in one format: its exit status, CPU seconds without imports, MiB at the peak, and the file it wrote.

    reading: the CPU seconds that it took to read the same files as JSON, just before.
    """

    status: int
    reading: float
    seconds: float
    mebibytes: float
    file: Path


def measured_runs(dump: Path, folder: Path, formats: Iterable[str]) -> dict[str, Run]:
    """Scan a dump in each format, and return the runs by format. The folder gets the output."""
    formats = list(formats)
    command = [sys.executable, "-m", "benchmarks.command_client", str(dump), str(folder), *formats]
    client = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    printed = zip(formats, client.stdout.splitlines(), strict=True)
    return {form: Run(**json.loads(line), file=folder / f"scan.{form}") for form, line in printed}


def seconds_to_read(dump: Path) -> float:
    """Return the CPU seconds that it takes to read the files of a dump as JSON, one by one: the floor of a scan.

    It reads them ten times, because a moment on a shared machine is not like the next.
    """
    start = time.process_time()
    for file in [*dump.rglob("*.json")] * 10:
        json.loads(file.read_bytes())
    return (time.process_time() - start) / 10


def environment() -> dict[str, str]:
    """Return this process's environment, in which a child finds the packages of the repository.

    It is without coverage of child processes, which would double their time.
    """
    found = os.pathsep.join([str(ROOT), str(ROOT / "functions"), str(ROOT / "cli"), os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return {**kept, "PYTHONPATH": found}
