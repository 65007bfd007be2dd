"""A small HTTP server on loopback whose answers a test decides byte by byte."""

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from express_path_instrument.bench.load import Server, Target

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
OBJECT = b"x" * 100
CLOSE = b"(close)"


def response(status: str, body: bytes = b"", *headers: str) -> bytes:
    """Return an answer with a length, and these headers."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(status: str, body: bytes) -> bytes:
    """Return an answer whose body is one chunk, as those of S3 that are errors."""
    head = f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode()
    return head + body + b"\r\n0\r\n\r\n"


def with_object(_request: bytes) -> bytes:
    """Answer with an object of 100 bytes."""
    return response("200 OK", OBJECT)


@dataclass(slots=True)
class RawServer:
    """A server, the requests that it got, with their bodies' lengths, and how many connections were made.

    `answer` gets the head of a request. If its answer ends with CLOSE, the connection is closed after it. It
    answers ListObjectsV2 itself, with what was written and not deleted, as objects of 1 KiB.
    """

    answer: Callable[[bytes], bytes]
    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    body_lengths: list[int] = field(default_factory=list)
    connections: int = 0
    open: list[socket.socket] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    context: ssl.SSLContext | None = None

    @property
    def server(self) -> Server:
        """The server, as a load has it."""
        return Server("127.0.0.1", self.port, ("127.0.0.1",), tls=False)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def lines(self) -> list[str]:
        """Return the first line of each request, without the query and the version."""
        return [
            request.decode().partition("\r\n")[0].partition("?")[0].removesuffix(" HTTP/1.1")
            for request in self.requests
        ]

    def left(self) -> list[str]:
        """Return the paths that were written and not deleted."""
        lines = self.lines()
        written = dict.fromkeys(line.removeprefix("PUT ") for line in lines if line.startswith("PUT "))
        return [path for path in written if f"DELETE {path}" not in lines]

    def _listing(self, request: bytes) -> bytes:
        """Answer ListObjectsV2."""
        url = urlsplit(request.split(b" ")[1].decode())
        start = f"{url.path.rstrip('/')}/{parse_qs(url.query).get('prefix', [''])[0]}"
        keys = [path.split("/", 2)[2] for path in self.left() if path.startswith(start)]
        described = "<Size>1024</Size><ETag>1</ETag><LastModified>2026-03-01T09:30:00.000Z</LastModified>"
        rows = [f"<Contents><Key>{key}</Key>{described}</Contents>" for key in keys]
        return response("200 OK", f"<ListBucketResult>{''.join(rows)}</ListBucketResult>".encode())

    def accept(self, listener: socket.socket) -> None:
        """Serve every connection in a thread of its own until the listener is closed."""
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                self.open.append(connection)
                self.threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
                self.threads[-1].start()

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self.context.wrap_socket(connection, server_side=True) if self.context else connection

    def _serve(self, connection: socket.socket) -> None:
        waiting = b""
        with suppress(OSError), connection, self._secured(connection) as opened:
            while True:
                while b"\r\n\r\n" not in waiting:
                    received = opened.recv(1 << 16)
                    if not received:
                        return
                    waiting += received
                head, _, waiting = waiting.partition(b"\r\n\r\n")
                length = _LENGTH.search(head)
                left = int(length[1]) - len(waiting) if length else 0
                while left > 0:
                    left -= len(opened.recv(min(left, 1 << 16)))
                waiting = b"" if length else waiting
                self.requests.append(head)
                self.body_lengths.append(int(length[1]) if length else 0)
                answer = self._listing(head) if b"?list-type=2" in head else self.answer(head)
                opened.sendall(answer.removesuffix(CLOSE))
                if answer.endswith(CLOSE):
                    return


@contextmanager
def serving(answer: Callable[[bytes], bytes] = with_object) -> Iterator[RawServer]:
    """Run a server until the end of the context."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        raw = RawServer(answer, listener.getsockname()[1])
        thread = threading.Thread(target=raw.accept, args=(listener,), daemon=True)
        thread.start()
        yield raw
        listener.shutdown(socket.SHUT_RDWR)
        for connection in raw.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for started in (thread, *raw.threads):
            started.join()


def reads(number: int) -> list[Target]:
    """Return requests for objects with different names."""
    return [Target("GET", f"/{position}") for position in range(number)]
