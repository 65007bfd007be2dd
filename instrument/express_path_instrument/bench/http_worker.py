"""One process that sends requests: `python -m express_path_instrument.bench.http_worker`, which the HTTP engine starts.

It reads a load in one line of JSON, writes `ready`, reads the time.monotonic() at which to start, and writes its tally
in one line. Meanwhile it reads lines with the same requests, signed again. It ends when its standard input is closed, so
that it does not outlive the command.
"""

import contextlib
import itertools
import json
import os
import signal
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, BinaryIO

from express_path_instrument.bench.http_connection import BadAnswerError, Connection
from express_path_instrument.bench.load import Load, Tally, Target, targets_of, total_of
from express_path_instrument.bench.processor import OwnTimes, own_times

_PAUSE = 0.1
"""How long a connection waits after one that could not be made or was lost, in seconds."""
_LONGEST_NAME = 40
_GROUPS = 1000


def run(load: Load, start: float) -> Tally:
    """Send a load from this process, one thread for each connection, and return what all of them measured."""
    numbers = itertools.count()  # next() is atomic in CPython, so every request has one thread
    context = ssl.create_default_context(cafile=load.server.ca_file) if load.server.tls else None
    addresses = itertools.islice(itertools.cycle(load.server.addresses), load.first, None, load.stride)
    senders = [
        _Sender(load, start, numbers, Connection(load.server, next(addresses), load.timeout, context))
        for _ in range(load.connections)
    ]
    threads = [threading.Thread(target=sender.run, daemon=True) for sender in senders]
    for thread in threads:
        thread.start()
    began, before = time.monotonic(), own_times()
    end = start + load.limit
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    for sender in senders:
        sender.connection.abort()
    for thread in threads:
        thread.join()
    total = total_of(sender.tally for sender in senders)
    after = own_times()
    total.cpu = OwnTimes(after.cpu - before.cpu, after.system - before.system)
    total.busiest = total.cpu.cpu / (time.monotonic() - began)
    if load.rate:
        _count_never_sent(total, load, start, next(numbers))
    return total


def _count_never_sent(tally: Tally, load: Load, start: float, number: int) -> None:
    """Count what a constant rate could not send before its end, from this number on. They are put in 1000 groups."""
    if load.rate is None or load.seconds is None:
        return
    seconds = load.warm_up + load.seconds
    due = ceil((seconds * load.rate - load.first) / load.stride)
    group = max(1, (due - number) // _GROUPS)
    for first in range(number, due, group):
        intended = start + (load.first + first * load.stride) / load.rate
        if intended >= tally.started:
            tally.left_open(start + load.limit - intended, min(group, due - first))


@dataclass(slots=True)
class _Sender:
    """One connection and what it measured."""

    load: Load
    start: float
    numbers: Iterator[int]
    connection: Connection
    tally: Tally = field(default_factory=Tally)

    def run(self) -> None:
        """Send requests until the end of the load."""
        self.tally.started = self.start + self.load.warm_up
        time.sleep(max(0, self.start - time.monotonic()))
        if self.load.rate:
            self._at_constant_rate(self.load.rate)
        else:
            self._in_a_loop()
        self.connection.close()

    def _at_constant_rate(self, rate: float) -> None:
        """Send each request at its time, or at once if that has passed. The latency counts from the intended time.

        A late request is not skipped: users would have sent it, and would have waited
        (https://github.com/giltene/wrk2#acknowledgements). At the limit of the load, it counts without being sent.
        """
        end, deadline = self.tally.started + (self.load.seconds or 0), self.start + self.load.limit
        while time.monotonic() < deadline:
            number = next(self.numbers)
            intended = self.start + (self.load.first + number * self.load.stride) / rate
            if intended >= end:
                break
            time.sleep(max(0, intended - time.monotonic()))
            is_counted = intended >= self.tally.started
            self._measure(self._target(number), intended, is_counted=is_counted, deadline=deadline)

    def _in_a_loop(self) -> None:
        """Send each request when the previous one has ended.

        A request that starts in the warm-up and ends after it counts; with a count, none of the warm-up does.
        """
        load, end = self.load, self.start + self.load.limit
        for number in itertools.count() if load.count else self.numbers:
            sent = time.monotonic()
            if sent >= self.tally.started:
                break
            self._measure(self._target(number), sent, is_counted=load.count is None, deadline=end)
        for number in self.numbers:
            sent = time.monotonic()
            if sent >= end or (load.count is not None and number >= load.count):
                break
            self._measure(self._target(number), sent, is_counted=True, deadline=end)

    def _target(self, number: int) -> Target:
        position = self.load.first + number * self.load.stride
        return self.load.targets[position % len(self.load.targets)]

    def _measure(self, target: Target, sent: float, *, is_counted: bool, deadline: float) -> None:
        """Send one request and count it, also if it is still open at the deadline.

        sent: from when on its latency counts; with a rate, that is before it is sent.
        """
        started = time.monotonic()
        if self.load.rate and is_counted:
            self.tally.started_late(started - sent)
        try:
            answer = self.connection.send(target, deadline)
        except OSError as error:
            now = time.monotonic()
            if now >= deadline:
                self._left_open(deadline - sent, is_counted=is_counted)
                return
            name = error_name(error)
            self._count(now, name, is_counted=is_counted)
            self.tally.failed(name, f"{name}: {error}")
            if is_counted and isinstance(error, TimeoutError):
                self.tally.waited(now - sent)
            time.sleep(min(_PAUSE, deadline - now))
            return
        ended = time.monotonic()
        if ended > deadline:
            self._left_open(deadline - sent, is_counted=is_counted)
            return
        is_counted = is_counted and self.tally.started <= ended
        self._count(ended, str(answer.status), is_counted=is_counted)
        expected = self.load.object_bytes if target.method == "GET" else 0
        if not answer.ok:
            self.tally.failed(str(answer.status), f"{answer.status} {answer.code}".strip())
        elif expected and answer.body_bytes != expected:
            self.tally.failed("wrong size", f"an object has {answer.body_bytes} bytes, not {expected}")
        elif is_counted:
            self.tally.succeeded(ended - sent, self.load.object_bytes)
            if self.load.rate:
                self.tally.answered(ended - started)

    def _left_open(self, seconds: float, *, is_counted: bool) -> None:
        if is_counted:
            self.tally.left_open(seconds)

    def _count(self, ended: float, status: str, *, is_counted: bool) -> None:
        """Count an answer in its second of the measurement."""
        if is_counted:
            self.tally.ended = ended
            self.tally.statuses[max(0, int(ended - self.tally.started)), status] += 1


def error_name(error: OSError) -> str:
    """Return a short name for an error of a connection, by which errors are counted."""
    if isinstance(error, BadAnswerError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"[:_LONGEST_NAME]
    return (error.strerror or str(error)).lower()[:_LONGEST_NAME]


def main(lines: BinaryIO, answers: BinaryIO) -> None:
    """Do what the module says."""
    load = Load.from_json(lines.readline())
    answers.write(b"ready\n")
    answers.flush()
    start = lines.readline()
    if start:
        current = _Current(load.targets)
        load = replace(load, targets=current)
        threading.Thread(target=_follow, args=(lines.fileno(), current), daemon=True).start()
        answers.write(run(load, float(start)).as_json().encode("ascii") + b"\n")
        answers.flush()


@dataclass(slots=True)
class _Current(Sequence[Target]):
    """The requests of a load, which are replaced when they are signed again."""

    targets: Sequence[Target]

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, position: Any) -> Any:  # noqa: ANN401  # as the targets
        return self.targets[position]


def _follow(descriptor: int, current: _Current) -> None:
    """Use requests that are signed again. End the process when the command closes its standard input or is gone."""
    line = bytearray()
    with contextlib.suppress(OSError):
        # Not the buffered object: at the end of the process, Python would wait for its lock.
        while received := os.read(descriptor, 1 << 20):
            line += received
            if line.endswith(b"\n"):
                current.targets = targets_of(json.loads(line))
                line.clear()
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command handles Ctrl-C
    main(sys.stdin.buffer, sys.stdout.buffer)
