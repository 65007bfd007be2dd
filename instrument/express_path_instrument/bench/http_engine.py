"""Send a load from several processes, so that Python is not the limit."""

import os
import pickle
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

_WORKER = [sys.executable, "-P", "-m", "express_path_instrument.bench.http_worker"]
_LEAD = 0.05
"""How long before the start the processes are told when to start, in seconds."""


@dataclass(frozen=True, slots=True)
class HttpEngine:
    """Sends a load from some processes, at most one for each connection, with libcurl."""

    processes: int

    @property
    def version(self) -> str:
        """The version of libcurl."""
        return str(pycurl.version_info()[1])

    def run(self, load: Load) -> Tally:
        """Send a load and return what was measured. Raise OptionError if a process ends early."""
        try:
            with ExitStack() as stack:
                workers = [stack.enter_context(_worker(part)) for part in load.divided(self.processes)]
                for _, output in workers:
                    output.readline()  # it is ready
                start, before = time.monotonic() + _LEAD, ProcessorTimes.now()
                for given, _ in workers:
                    _send(given, start)
                tallies = [pickle.load(output) for _, output in workers]  # noqa: S301  # of our own processes
                after = ProcessorTimes.now()
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
            raise OptionError(
                "a process that sends requests ended early", "run again with fewer --connections, and with --debug"
            ) from error
        total = total_of(tallies)
        total.use = use_between(before, after, total.cpu, total.busiest, usable_cpus())
        return total


@contextmanager
def _worker(load: Load) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Start a process with its load, and yield its standard input and output. It is gone at the end, whatever happens."""
    pipe = subprocess.PIPE
    with subprocess.Popen(_WORKER, stdin=pipe, stdout=pipe, env=_environment()) as process:  # noqa: S603  # our module
        try:
            given, output = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            _send(given, load)
            yield given, output
        finally:
            process.kill()


def _send(given: IO[bytes], what: Load | float) -> None:
    pickle.dump(what, given)
    given.flush()


def _environment() -> dict[str, str]:
    """Return the environment of a process, which finds the modules that this one has found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
