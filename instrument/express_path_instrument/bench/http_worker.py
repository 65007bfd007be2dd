"""One process that sends requests with libcurl: `python -m express_path_instrument.bench.http_worker`.

The HTTP engine starts it. It reads a load, writes a line, reads the time.monotonic() at which to start, and writes its
tally, all with pickle. It ends when the command is gone, so that it does not outlive it.
"""

import contextlib
import heapq
import itertools
import os
import pickle
import re
import select
import signal
import ssl
import sys
import time
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any, BinaryIO

import pycurl

from express_path_instrument.bench.load import Load, Server, Tally, Target
from express_path_instrument.bench.processor import MachinePeak

BACKLOG = 10.0
"""How many seconds after the end of its duration a constant rate still sends what is late."""
_PAUSE = 0.1
"""How long a connection waits after one that could not be made or was lost, in seconds."""
_TICK = 0.1
"""How often it is checked whether requests receive something, in seconds."""
_LONGEST_NAME = 40
_GROUPS = 1000
_BUFFER = 512 << 10
_BODY = bytes(range(256)) * (_BUFFER // 256)
"""What uploads consist of. Neither S3 nor TLS compresses it."""
_CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,60})</Code>")
_OK, _REDIRECT = 200, 300
_NAMES = {
    pycurl.E_ABORTED_BY_CALLBACK: "connection closed",
    pycurl.E_GOT_NOTHING: "connection closed",
    pycurl.E_PARTIAL_FILE: "answer cut short",
    pycurl.E_UNSUPPORTED_PROTOCOL: "answer is not HTTP/1.1",
    pycurl.E_FTP_WEIRD_SERVER_REPLY: "answer is not HTTP/1.1",
}
_TLS = {pycurl.E_SSL_CONNECT_ERROR, pycurl.E_PEER_FAILED_VERIFICATION}


class Connection:
    """One connection to a checked address: no retries, no redirects, no proxy, and no copy of the body.

    It is made again after an error, or if the server has closed it between two requests.
    """

    def __init__(self, server: Server, address: str, sockets: dict[int, int]) -> None:
        """Say where to connect to. Nothing is sent yet.

        sockets: the file descriptors of all connections, by their local ports: libcurl may swap idle connections.
        """
        self.curl = pycurl.Curl()
        self._sockets = sockets
        self._base = f"{'https' if server.tls else 'http'}://{server.authority}"
        self._form: tuple[Any, ...] = ()
        self._left = self._sends = self._most_sends = 0
        self.last = deque[bytes](maxlen=4)
        host = f"[{address}]" if ":" in address else address
        for option, value in {
            pycurl.CONNECT_TO: [f"::{host}:{server.port}"],  # whatever the URL says, so no name is resolved
            pycurl.PROXY: "",
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.PATH_AS_IS: 1,
            pycurl.NOSIGNAL: 1,
            pycurl.USERAGENT: "",
            pycurl.HTTPHEADER: ["Accept:", "Expect:"],  # libcurl's own, which are not needed
            pycurl.BUFFERSIZE: _BUFFER,
            pycurl.UPLOAD_BUFFERSIZE: _BUFFER,
            pycurl.WRITEFUNCTION: self.last.append,  # in C: only the last parts are kept, for the codes of errors
            pycurl.READFUNCTION: self._part,
            pycurl.PREREQFUNCTION: self._may_send,
        }.items():
            self.curl.setopt(option, value)
        if server.tls:
            known = ssl.get_default_verify_paths()
            if file := server.ca_file or known.cafile:
                self.curl.setopt(pycurl.CAINFO, file)
                self.curl.unsetopt(pycurl.CAPATH)
            elif known.capath:
                self.curl.setopt(pycurl.CAPATH, known.capath)

    def prepare(self, target: Target) -> None:
        """Say what to send next."""
        self.last.clear()
        self._left, self._sends, self._most_sends = target.body_bytes, 0, 1
        self.curl.setopt(pycurl.URL, f"{self._base}{target.path}")
        form = (target.method, target.body_bytes)
        if form == self._form:
            return
        self._form = form
        self.curl.setopt(pycurl.CUSTOMREQUEST, target.method)
        self.curl.setopt(pycurl.UPLOAD, target.method == "PUT")
        self.curl.setopt(pycurl.INFILESIZE_LARGE, target.body_bytes)

    def _part(self, size: int) -> bytes:
        """Return the next bytes of an upload."""
        part = _BODY[: min(size, self._left)]
        self._left -= len(part)
        return part

    def _may_send(self, _address: str, _local_address: str, _port: int, local_port: int) -> int:
        """Forbid libcurl to repeat a request whose connection was lost, unless the server had closed it before.

        libcurl has no option against it. It calls this each time it is about to send a request
        (https://curl.se/libcurl/c/CURLOPT_PREREQFUNCTION.html).
        """
        self._sends += 1
        with contextlib.suppress(KeyError, OSError):
            if select.select([self._sockets[local_port]], [], [], 0)[0]:
                self._most_sends += 1
        return int(pycurl.PREREQFUNC_OK if self._sends <= self._most_sends else pycurl.PREREQFUNC_ABORT)

    def remember_socket(self) -> None:
        """Remember the connection of the last request, if it is a new one that may be used again."""
        if self.curl.getinfo(pycurl.NUM_CONNECTS) and (number := self.curl.getinfo(pycurl.ACTIVESOCKET)) >= 0:
            self._sockets[self.curl.getinfo(pycurl.LOCAL_PORT)] = number

    @property
    def moved(self) -> tuple[int, ...]:
        """How far the request is: it changes as long as something is sent or received."""
        numbers = (pycurl.REQUEST_SIZE, pycurl.SIZE_UPLOAD_T, pycurl.HEADER_SIZE, pycurl.SIZE_DOWNLOAD_T)
        return tuple(int(self.curl.getinfo(number)) for number in numbers)

    def error_name(self, code: int, message: str) -> str:
        """Return a short name for an error of libcurl, by which errors are counted: the system's words, if there are any."""
        if code in _TLS:
            return f"TLS: {message}"[:_LONGEST_NAME]
        if number := int(self.curl.getinfo(pycurl.OS_ERRNO)):
            return os.strerror(number).lower()[:_LONGEST_NAME]
        return _NAMES.get(code) or message.rpartition(": ")[2].lower()[:_LONGEST_NAME]


@dataclass(slots=True)
class _Request:
    """A request that has no answer yet.

    since: from when on its latency counts, which is before `sent` at a rate. moved: how far it was at `moved_at`.
    """

    connection: Connection
    target: Target
    since: float
    sent: float
    is_counted: bool
    moved_at: float
    moved: tuple[int, ...] = ()


class Sender:
    """All connections of this process, driven by one thread, and what they measured.

    free: connections, each with the time from which on it may be used, as a heap. open: requests by their handles. number:
    how many were sent; of a rate, those from measured_from to last are measured.
    """

    def __init__(self, load: Load) -> None:
        """Prepare everything that takes time. Nothing is sent yet."""
        self.load = load
        self.command = os.getppid()
        self.tally = Tally()
        self.start = self.stop = self.last_send = self.end = self.checked_at = 0.0
        self.number, self.warm_up = 0, itertools.count()
        self.measured_from = load.before(load.warm_up * (load.rate or 0))
        most = load.length * load.rate if load.rate else load.count
        self.last: float = inf if most is None else load.before(most)
        self.open: dict[Any, _Request] = {}
        self.peak = MachinePeak()
        addresses = itertools.islice(itertools.cycle(load.server.addresses), load.first, None)
        sockets: dict[int, int] = {}
        self.connections = [Connection(load.server, next(addresses), sockets) for _ in range(load.connections)]
        self.free = [(0.0, position, connection) for position, connection in enumerate(self.connections)]
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(pycurl.M_MAXCONNECTS, load.connections)

    def run(self, start: float) -> Tally:
        """Send requests until the end of the load, and return what was measured. start: as time.monotonic() tells it."""
        self.start, self.stop = start, start + self.load.length
        self.last_send = self.stop + (BACKLOG if self.load.rate else 0)
        self.end, self.tally.started = self.last_send + 2 * self.load.timeout, start + self.load.warm_up
        began, before = time.monotonic(), time.process_time()
        while (now := time.monotonic()) < self.end:
            next_at = self._send_due(now)
            is_over = now >= self.stop and all(self._is_still(request, now) for request in self.open.values())
            if next_at is None and (is_over or not self.open):
                break
            self._drive(min(self.end, next_at or self.end))
            if os.getppid() != self.command:
                sys.exit(1)  # it was killed
        for request in list(self.open.values()):
            self._close(request, now)
            if request.is_counted:
                self._left_open(request, now)
        if self.load.rate:
            self._count_never_sent(self.load.rate)
        self.tally.cpu, self.tally.peak = time.process_time() - before, self.peak.percent
        self.tally.busiest = self.tally.cpu / (time.monotonic() - began)
        return self.tally

    def _send_due(self, now: float) -> float | None:
        """Send what is due. Return when the next request is due, None if there is none, or infinity if no connection is free."""
        while True:
            due = self._next_due(now)
            if due is None:
                return None
            if not self.free:
                return float("inf")
            at = max(due, self.free[0][0])
            if at > now:
                return at
            _, _, connection = heapq.heappop(self.free)
            self._send(connection, due, now)
            now = time.monotonic()

    def _next_due(self, now: float) -> float | None:
        """Return when the next request is to be sent, None if none is: at its time with a rate, otherwise at once.

        A late request of a rate is not skipped: users would have sent it, and would have waited
        (https://github.com/giltene/wrk2#acknowledgements). Only what is late when the warm-up ends is, which would
        delay what is measured.
        """
        is_measuring, rate = now >= self.tally.started, self.load.rate
        if rate:
            if is_measuring:
                self.number = max(self.number, self.measured_from)
            is_left = self.number < self.last and now < self.last_send
            return self.start + self.load.position(self.number) / rate if is_left else None
        return None if now >= self.stop or (is_measuring and self.number >= self.last) else self.start

    def _send(self, connection: Connection, due: float, now: float) -> None:
        """Send the next request.

        One that starts in the warm-up and ends after it counts, unless there is a count: then none of the warm-up does.
        """
        rate, targets, since = self.load.rate, self.load.targets, due if self.load.rate else now
        is_warm_up = since < self.tally.started
        number = self.number
        if is_warm_up and not rate:
            number = next(self.warm_up)
        else:
            self.number += 1
        is_counted = not is_warm_up or not (rate or self.load.count is not None)
        if rate and is_counted:
            self.tally.started_late(now - since)
        target = targets[self.load.position(number) % len(targets)]
        connection.prepare(target)
        self.open[connection.curl] = _Request(connection, target, since, now, is_counted, now)
        self.multi.add_handle(connection.curl)

    def _drive(self, until: float) -> None:
        """Let libcurl send and receive, and count what ended. If nothing did, wait, at most until a time."""
        self.multi.perform()
        left, ended, failed = self.multi.info_read()
        now = time.monotonic()
        if now >= self.end:
            return
        for curl in ended:
            request = self.open[curl]
            # By libcurl's clock, because others may have been answered in the meantime.
            self._answered(request, min(now, request.sent + curl.getinfo(pycurl.TOTAL_TIME_T) / 1e6))
        for curl, code, message in failed:
            self._failed(self.open[curl], now, self.open[curl].connection.error_name(code, message), message)
        if now - self.checked_at >= min(_TICK, self.load.timeout):
            self._check(now)
        if not (left or ended or failed):
            wait = max(0.0, min(until - now, _TICK))
            # Without an open request, libcurl has nothing to wait for.
            self.multi.select(wait) if self.open else time.sleep(wait)

    def _check(self, now: float) -> None:
        """End the requests that neither sent nor received anything for the timeout, until the end of the duration."""
        self.checked_at = now
        if self.tally.started <= now < self.stop:
            self.peak.sample(now)
        for request in list(self.open.values()):
            if (moved := request.connection.moved) != request.moved:
                request.moved, request.moved_at = moved, now
            elif now < self.stop and self._is_still(request, now):
                if request.is_counted:
                    self.tally.waited(now - request.since)
                self._failed(request, now, "timed out", f"no data for {self.load.timeout:g} s")

    def _answered(self, request: _Request, now: float) -> None:
        """Count an answer: a success, or an error by its status. A redirect is an error: it leads to another server."""
        curl, expected = request.connection.curl, self.load.object_bytes if request.target.method == "GET" else 0
        status, received = curl.getinfo(pycurl.RESPONSE_CODE), int(curl.getinfo(pycurl.SIZE_DOWNLOAD_T))
        is_success = _OK <= status < _REDIRECT
        found = None if is_success else _CODE.search(b"".join(request.connection.last))
        request.connection.remember_socket()
        self._close(request, 0)
        is_late = self._is_late(now)
        is_counted = request.is_counted and self.tally.started <= now
        self._count(now, str(status), is_counted=is_counted and not is_late)
        if not is_success:
            self.tally.failed(str(status), f"{status} {found[1].decode('ascii')}" if found else str(status))
        elif expected and received != expected:
            self.tally.failed("wrong size", f"an object has {received} bytes, not {expected}")
        elif is_counted and is_late:
            self.tally.waited(now - request.since)
        elif is_counted:
            self.tally.succeeded(now - request.since, self.load.object_bytes)
            if self.load.rate:
                self.tally.answered(now - request.sent)

    def _is_late(self, now: float) -> bool:
        """Return whether a closed loop has ended: what is answered then has a latency, and is not in the throughput."""
        return not self.load.rate and now >= self.stop

    def _failed(self, request: _Request, now: float, name: str, words: str) -> None:
        """Count a request without an answer."""
        self._close(request, now + _PAUSE)
        self._count(now, name, is_counted=request.is_counted and not self._is_late(now))
        self.tally.failed(name, f"{name}: {words}")

    def _is_still(self, request: _Request, now: float) -> bool:
        """Return whether a request neither sent nor received anything for the timeout."""
        return now - request.moved_at >= self.load.timeout

    def _left_open(self, request: _Request, now: float) -> None:
        """Count a request that has no answer at the end."""
        seconds = now - request.since
        self.tally.unfinished += 1
        self.tally.hanging += self._is_still(request, now)
        self.tally.oldest = max(self.tally.oldest, seconds)
        self.tally.waited(seconds)

    def _close(self, request: _Request, free_at: float) -> None:
        """Take a request from libcurl, which closes its connection unless it was answered."""
        self.multi.remove_handle(request.connection.curl)
        del self.open[request.connection.curl]
        heapq.heappush(self.free, (free_at, id(request.connection), request.connection))

    def _count(self, ended: float, status: str, *, is_counted: bool) -> None:
        """Count an answer in its second of the measurement."""
        if is_counted:
            self.tally.ended = ended
            self.tally.statuses[max(0, int(ended - self.tally.started)), status] += 1

    def _count_never_sent(self, rate: float) -> None:
        """Count what a constant rate could not send before its end, in 1000 groups. It was late for at least that long."""
        last = int(self.last)
        group = max(1, (last - self.number) // _GROUPS)
        for first in range(self.number, last, group):
            number = min(group, last - first)
            seconds = self.last_send - self.start - self.load.position(first) / rate
            self.tally.unsent += number
            self.tally.waited(seconds, number)
            self.tally.started_late(seconds, number)


def main(lines: BinaryIO, answers: BinaryIO) -> None:
    """Do what the module says."""
    with contextlib.suppress(EOFError):  # the command has ended
        sender = Sender(pickle.load(lines))  # noqa: S301  # of our own process
        answers.write(b"ready\n")
        answers.flush()
        pickle.dump(sender.run(pickle.load(lines)), answers)  # noqa: S301
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command handles Ctrl-C
    main(sys.stdin.buffer, sys.stdout.buffer)
