"""The engine for large objects: awscrt, whose own threads receive and send, so that Python does not limit it."""

import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from express_path_instrument.bench.http_engine import Sign, renewing
from express_path_instrument.bench.load import Load, Tally, Target
from express_path_instrument.bench.processor import OwnTimes, ProcessorTimes, busiest_thread, usable_cpus, use_between

_SMALLEST_PART = 5 << 20
"""The smallest part, in bytes, of aws-c-s3, which adjusts a smaller one."""
_CHUNK = 1 << 20
_STATUSES = {"AWS_ERROR_S3_SLOW_DOWN": "503", "AWS_ERROR_S3_INTERNAL_ERROR": "500"}
"""The statuses that awscrt reports only by the name of an error."""
_PAUSE = 0.1
"""How long a connection waits after one that could not be made or was lost, in seconds."""
_CANCEL_SECONDS = 5.0
"""How long cancelled requests may take to end."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class CrtEngine:
    """Sends a load with awscrt.s3, one request for each object, from this process."""

    name: str = "awscrt"

    @property
    def version(self) -> str:
        """The version of awscrt."""
        return version("awscrt")

    def run(self, load: Load, sign: Sign | None = None) -> Tally:
        """Send a load and return what was measured. A rate is not possible. sign: as in HttpEngine."""
        with _without_proxies(), _upload_file(load) as upload:
            loop = _Loop(load, _client(load), upload)
            before = ProcessorTimes.now()
            with renewing(sign, loop.use):
                loop.run()
            after = ProcessorTimes.now()
        loop.tally.use = use_between(before, after, OwnTimes(), busiest_thread(before, after), usable_cpus())
        return loop.tally


def _client(load: Load) -> Any:  # noqa: ANN401  # awscrt has no types
    """Return a client that sends each object as one request, without retries, and through no proxy."""
    from awscrt.io import ClientBootstrap, ClientTlsContext, DefaultHostResolver, EventLoopGroup, TlsContextOptions  # noqa: PLC0415  # optional
    from awscrt.s3 import S3Client, S3RequestTlsMode, S3RetryConfig, S3RetryMode  # noqa: PLC0415  # optional

    group = EventLoopGroup()
    trust = TlsContextOptions()
    if load.server.ca_file:
        trust.override_default_trust_store_from_path(None, load.server.ca_file)
    tls = ClientTlsContext(trust).new_connection_options() if load.server.tls else None
    part = max(load.object_bytes, _SMALLEST_PART)
    return S3Client(
        bootstrap=ClientBootstrap(group, DefaultHostResolver(group)),
        region="us-east-1",  # the requests are signed already
        tls_mode=S3RequestTlsMode.ENABLED if load.server.tls else S3RequestTlsMode.DISABLED,
        tls_connection_options=tls,
        part_size=part,
        multipart_upload_threshold=part + 1,
        max_active_connections_override=load.connections,
        retry_config=S3RetryConfig(retry_mode=S3RetryMode.NONE),
    )


@contextmanager
def _without_proxies() -> Iterator[None]:
    """Remove the variables that name proxies, because awscrt has no option to ignore them."""
    proxies = {name: value for name, value in os.environ.items() if name.lower() in _PROXIES}
    for name in proxies:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(proxies)


@contextmanager
def _upload_file(load: Load) -> Iterator[str | None]:
    """Write the file that uploads are read from, if there are uploads, and delete it at the end."""
    size = load.targets[0].body_bytes
    if not size:
        yield None
        return
    with TemporaryDirectory(prefix="express-path-bench-") as folder:
        file = Path(folder) / "object"
        with file.open("wb") as opened:
            for position in range(0, size, _CHUNK):
                opened.write(os.urandom(min(_CHUNK, size - position)))
        yield str(file)


@dataclass(slots=True)
class _Loop:
    """A closed loop: each request that ends starts the next one, in the thread of awscrt that reports the end."""

    load: Load
    client: Any
    upload: str | None
    tally: Tally = field(default_factory=Tally)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _counted: Iterator[int] = field(default_factory=itertools.count)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _active: int = 0
    _all_ended: threading.Event = field(default_factory=threading.Event)
    _open: dict[int, "_Request"] = field(default_factory=dict)
    _streams: list[tuple[int, float]] = field(default_factory=list)
    _end: float = 0

    def use(self, targets: Sequence[Target]) -> None:
        """Use requests that are signed again."""
        self.load = replace(self.load, targets=targets)

    def run(self) -> None:
        """Send until the end. Cancel the requests that are still open then, and count them."""
        now = time.monotonic()
        self.tally.started, self._end = now + self.load.warm_up, now + self.load.limit
        self._active = self.load.connections
        self._streams = [(0, 0.0)] * self.load.connections
        for stream in range(self.load.connections):
            self._next(stream)
        if not self._all_ended.wait(max(0, self._end - time.monotonic())):
            with self._lock:
                left = list(self._open.values())
                self._open.clear()
            for request in left:
                if request.is_counted:
                    self.tally.left_open(self._end - request.sent)
                request.sending.cancel()
            self._all_ended.wait(_CANCEL_SECONDS)
        self.tally.streams = [transferred / busy if busy else 0.0 for transferred, busy in self._streams]

    def _next(self, stream: int) -> None:
        """Start the next request of one connection, or end the connection."""
        sent = time.monotonic()
        warming_up = sent < self.tally.started and self.load.count is not None
        done = sent >= self._end or (
            not warming_up and self.load.count is not None and next(self._counted) >= self.load.count
        )
        if done:
            with self._lock:
                self._active -= 1
                if not self._active:
                    self._all_ended.set()
            return
        number = next(self._numbers)
        target = self.load.targets[number % len(self.load.targets)]
        with self._lock:  # the answer may come before the request is known
            sending = self._send(target, lambda **answer: self._ended(number, stream, answer))
            self._open[number] = _Request(sending, sent, not warming_up, stream)

    def _send(self, target: Target, on_done: Any) -> Any:  # noqa: ANN401  # awscrt has no types
        from awscrt.http import HttpHeaders, HttpRequest  # noqa: PLC0415  # optional
        from awscrt.s3 import S3RequestType  # noqa: PLC0415  # optional

        is_get = target.method == "GET"
        length = [] if is_get else [("Content-Length", str(target.body_bytes))]
        headers = HttpHeaders([("Host", self.load.server.authority), *length])
        return self.client.make_request(
            type=S3RequestType.GET_OBJECT if is_get else S3RequestType.PUT_OBJECT,
            request=HttpRequest(target.method, target.path, headers),
            recv_filepath="/dev/null" if is_get else None,
            send_filepath=None if is_get else self.upload,
            on_done=on_done,
        )

    def _ended(self, number: int, stream: int, answer: Any) -> None:  # noqa: ANN401  # awscrt has no type for it
        ended = time.monotonic()
        with self._lock:
            request = self._open.pop(number, None)
            status = answer["status_code"] or _STATUSES.get(getattr(answer["error"], "name", ""))
            if request:  # otherwise it was open at the end, and is counted already
                self._count(request, ended, str(status or answer["error"].name), answer["error"])
        if status:
            self._next(stream)
        else:
            threading.Timer(_PAUSE, self._next, (stream,)).start()

    def _count(self, request: "_Request", ended: float, name: str, error: object) -> None:
        seconds = ended - request.sent
        if ended >= self._end:
            if request.is_counted:
                self.tally.left_open(self._end - request.sent)
            return
        is_counted = request.is_counted and ended >= self.tally.started
        if is_counted:
            self.tally.ended = ended
            self.tally.statuses[int(ended - self.tally.started), name] += 1
        if error:
            self.tally.failed(name, f"{name}: {error}")
        elif is_counted:
            self.tally.succeeded(seconds, self.load.object_bytes)
            transferred, busy = self._streams[request.stream]
            self._streams[request.stream] = transferred + self.load.object_bytes, busy + seconds


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of awscrt that has no answer yet, and when it was sent. is_counted: it is not part of the warm-up.

    stream: which connection it is for, if each is used by one request after the other.
    """

    sending: Any
    sent: float
    is_counted: bool
    stream: int
