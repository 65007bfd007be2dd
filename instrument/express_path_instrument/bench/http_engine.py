"""Send a load from several processes, so that Python is not the limit."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, cast

import pycurl

from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.load import Load, Tally, total_of
from express_path_instrument.bench.processor import ProcessorTimes, usable_cpus, use_between

_WORKER = [sys.executable, "-m", "express_path_instrument.bench.http_worker"]
_LEAD = 0.05
"""How long before the start the processes are told when to start, in seconds."""


@dataclass(frozen=True, slots=True)
class HttpEngine:
    """Sends a load from some processes, at most one for each connection, with libcurl."""

    processes: int
    name: str = "libcurl"

    @property
    def version(self) -> str:
        """The version of libcurl."""
        return str(pycurl.version_info()[1])

    def run(self, load: Load) -> Tally:
        """Send a load and return what was measured. Raise OptionError if a process ends early."""
        try:
            answers, use = self._run(load)
        except BrokenPipeError:  # a process has ended before it was told what to do
            answers, use = [b""], None
        if not use or not all(answers):
            raise OptionError(
                "a process that sends requests ended early", "run again with fewer --connections, and with --debug"
            )
        total = total_of(map(Tally.from_json, answers))
        total.use = use_between(*use, total.cpu, total.busiest, usable_cpus())
        return total

    def _run(self, load: Load) -> tuple[list[bytes], tuple[ProcessorTimes, ProcessorTimes] | None]:
        """Return what each process answers, and the processor times before and after; none if one is not ready."""
        with ExitStack() as stack:
            workers = [stack.enter_context(_worker(part)) for part in load.divided(self.processes)]
            if not all(output.readline() for _, output in workers):
                return [], None
            start = time.monotonic() + _LEAD
            before = ProcessorTimes.now()
            for given, _ in workers:
                _send(given, repr(start))
            return [output.readline() for _, output in workers], (before, ProcessorTimes.now())


@contextmanager
def _worker(load: Load) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Start a process with its load, and yield its standard input and output. It is gone at the end, whatever happens."""
    pipe = subprocess.PIPE
    with subprocess.Popen(_WORKER, stdin=pipe, stdout=pipe, env=_environment()) as process:  # noqa: S603  # our module
        try:
            given, output = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            _send(given, load.as_json())
            yield given, output
        finally:
            process.kill()


def _send(given: IO[bytes], line: str) -> None:
    given.write(line.encode("ascii") + b"\n")
    given.flush()


def _environment() -> dict[str, str]:
    """Return the environment of a process, which finds the modules that this one has found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
