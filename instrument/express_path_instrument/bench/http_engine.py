"""Send a load from several processes, so that Python is not the limit."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import IO, cast

import pycurl

from express_path.errors import ExpressPathError
from express_path_cli.terminal.errors import OptionError
from express_path_instrument.bench.load import Load, Tally, Target, total_of
from express_path_instrument.bench.processor import ProcessorTimes, usable_cpus, use_between

Sign = Callable[[], Sequence[Target]]
_WORKER = [sys.executable, "-m", "express_path_instrument.bench.http_worker"]
RENEW_SECONDS = 120.0
"""How old signatures become. Those of a directory bucket are valid for 300 seconds."""
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

    def run(self, load: Load, sign: Sign | None = None) -> Tally:
        """Send a load and return what was measured. Raise OptionError if a process ends early.

        sign: returns the load's requests with other signatures, before those of a long load expire.
        """
        with ExitStack() as stack:
            workers = [stack.enter_context(_worker(part)) for part in load.divided(self.processes)]
            for worker in workers:
                if worker.output.readline() != b"ready\n":
                    raise _ended()
            start = time.monotonic() + _LEAD
            before = ProcessorTimes.now()
            for worker in workers:
                worker.send(repr(start))
            with renewing(sign, lambda targets: _renew(workers, load, targets)):
                answers = [worker.output.readline() for worker in workers]
            after = ProcessorTimes.now()
        if not all(answers):
            raise _ended()
        total = total_of(map(Tally.from_json, answers))
        total.use = use_between(before, after, total.cpu, total.busiest, usable_cpus())
        return total


@contextmanager
def renewing(sign: Sign | None, use: Callable[[Sequence[Target]], None]) -> Iterator[None]:
    """Sign requests again, and use them, every RENEW_SECONDS until the end.

    If that fails, the next time is soon enough: signatures are valid for longer. Sequence[Target] whose signatures expire fail,
    and are reported.
    """
    ended = threading.Event()

    def renew() -> None:
        while sign and not ended.wait(RENEW_SECONDS):
            with suppress(ExpressPathError, OSError):
                use(sign())

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _renew(workers: Sequence["_Worker"], load: Load, targets: Sequence[Target]) -> None:
    parts = replace(load, targets=targets).divided(len(workers))
    for worker, part in zip(workers, parts, strict=True):
        worker.send(json.dumps(asdict(part)["targets"]))


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
