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
        with ExitStack() as stack:
            workers = [stack.enter_context(_worker(part)) for part in load.divided(self.processes)]
            for worker in workers:
                if worker.output.readline() != b"ready\n":
                    raise _ended()
            start = time.monotonic() + _LEAD
            before = ProcessorTimes.now()
            for worker in workers:
                worker.send(repr(start))
            answers = [worker.output.readline() for worker in workers]
            after = ProcessorTimes.now()
        if not all(answers):
            raise _ended()
        total = total_of(map(Tally.from_json, answers))
        total.use = use_between(before, after, total.cpu, total.busiest, usable_cpus())
        return total


@dataclass(frozen=True, slots=True)
class _Worker:
    """The pipes of a process."""

    process: subprocess.Popen[bytes]

    @property
    def output(self) -> IO[bytes]:
        """The standard output of the process."""
        return cast("IO[bytes]", self.process.stdout)

    def send(self, line: str) -> None:
        """Write a line to the standard input of the process."""
        stdin = cast("IO[bytes]", self.process.stdin)
        stdin.write(line.encode("ascii") + b"\n")
        stdin.flush()


@contextmanager
def _worker(load: Load) -> Iterator[_Worker]:
    """Start a process with its load. It is gone at the end, whatever happens."""
    pipe = subprocess.PIPE
    with subprocess.Popen(_WORKER, stdin=pipe, stdout=pipe, env=_environment()) as process:  # noqa: S603  # our module
        try:
            worker = _Worker(process)
            worker.send(load.as_json())
            yield worker
        finally:
            process.kill()


def _environment() -> dict[str, str]:
    """Return the environment of a process, which finds the modules that this one has found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _ended() -> OptionError:
    return OptionError(
        "a process that sends requests ended early", "run again with fewer --connections, and with --debug"
    )
