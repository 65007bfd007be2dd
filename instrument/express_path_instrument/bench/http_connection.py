"""One connection to a server that speaks HTTP/1.1: no retries, no redirects, no proxy, and no copy of the body.

It costs a quarter of the processor time of botocore (docs/decisions/0012), so that the client is not what is measured.
"""

import contextlib
import re
import select
import socket
import ssl
import time
from dataclasses import dataclass, field

from express_path_instrument.bench.load import Server, Target

_BUFFER = 1 << 20
_MOST_HEADERS = 1 << 16
_BODY = bytes(range(256)) * (_BUFFER // 256)
"""What uploads consist of. Neither S3 nor TLS compresses it."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,60})</Code>")
_OK = 200
_REDIRECT = 300
_WITHOUT_BODY = (b"204", b"304")
NO_TIME_LEFT = "no time left"


class BadAnswerError(OSError):
    """The server's answer is not HTTP/1.1, or it is cut short."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The HTTP status of an answer, the code of an S3 error, such as SlowDown, and the length of the body otherwise."""

    status: int
    code: str = ""
    body_bytes: int = 0

    @property
    def ok(self) -> bool:
        """Return whether the request succeeded. A redirect is an error: it leads to another server."""
        return _OK <= self.status < _REDIRECT


@dataclass(slots=True)
class Connection:
    """One connection to an address of the server, which is made again after an error.

    timeout: how long nothing arrives until a request fails, in seconds.
    """

    server: Server
    address: str
    timeout: float
    context: ssl.SSLContext | None = None
    _socket: socket.socket | None = None
    _buffer: bytearray = field(default_factory=lambda: bytearray(_BUFFER))

    def send(self, target: Target, deadline: float = float("inf")) -> Answer:
        """Send a request and return its answer, whose body is discarded.

        deadline: the time.monotonic() at which to give up with TimeoutError(NO_TIME_LEFT). Raise OSError.
        """
        try:
            opened = self._open(deadline)
            opened.sendall(self._head(target))
            left = target.body_bytes
            while left > 0:
                opened.sendall(_BODY if left >= _BUFFER else _BODY[:left])
                left -= _BUFFER
                _check(deadline)
            return self._receive(opened, target.method, deadline)
        except BaseException:
            self.close()
            raise

    def abort(self) -> None:
        """End a request that another thread is waiting for, at once."""
        if opened := self._socket:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(opened, socket.SHUT_RDWR)  # of TLS, too, whose own shutdown is not thread-safe

    def close(self) -> None:
        """Close the connection. The next request opens another one."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def _open(self, deadline: float) -> socket.socket:
        """Return the open connection, or another one if the server has closed it since the last answer."""
        if self._socket and select.select([self._socket], [], [], 0)[0]:
            self.close()
        if self._socket is None:
            left = max(0.001, min(self.timeout, deadline - time.monotonic()))
            opened = socket.create_connection((self.address, self.server.port), left)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.settimeout(self.timeout)
            self._socket = opened
            if self.context:
                secured = self.context.wrap_socket(
                    opened, server_hostname=self.server.host, do_handshake_on_connect=False
                )
                self._socket = secured
                secured.do_handshake()
        return self._socket

    def _head(self, target: Target) -> bytes:
        lines = [f"{target.method} {target.path} HTTP/1.1", f"Host: {self.server.authority}"]
        if target.method != "GET":
            lines.append(f"Content-Length: {target.body_bytes}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _receive(self, opened: socket.socket, method: str, deadline: float) -> Answer:
        """Read one answer to its end. The body of an object is discarded, every other body can have an error's code."""
        view, filled, end = memoryview(self._buffer), 0, -1
        while end < 0:
            filled += self._some(opened.recv_into(view[filled:_MOST_HEADERS]), "connection closed", deadline)
            end = self._buffer.find(b"\r\n\r\n", 0, filled)
        head, start = bytes(view[: end + 2]), bytes(view[end + 4 : filled])
        if not head.startswith(b"HTTP/1.1 ") or not head[9:12].isdigit():
            raise BadAnswerError("answer is not HTTP/1.1")
        status, length = int(head[9:12]), _LENGTH.search(head)
        if method == "GET" and length and status < _REDIRECT:
            left = int(length[1]) - len(start)
            while left > 0:
                left -= self._some(opened.recv_into(view[: min(left, _BUFFER)]), "answer cut short", deadline)
            answer = Answer(status, body_bytes=int(length[1]))
        else:
            answer = Answer(status, _error_code(self._body(opened, head, start, deadline)))
        if _CLOSE.search(head):
            self.close()
        return answer

    def _body(self, opened: socket.socket, head: bytes, start: bytes, deadline: float) -> bytes:
        """Return a short body, so that the connection can be used again. Without a length, the server must close it."""
        body, length, is_chunked = start, _LENGTH.search(head), _CHUNKED.search(head)
        most = 0 if head[9:12] in _WITHOUT_BODY else int(length[1]) if length else _MOST_HEADERS
        while len(body) < most and not (is_chunked and body.endswith(b"0\r\n\r\n")):
            received = opened.recv(1 << 14)
            if not received:
                self.close()
                break
            body += received
            _check(deadline)
        return body

    @staticmethod
    def _some(received: int, otherwise: str, deadline: float) -> int:
        """Return how many bytes were received. Raise BadAnswerError if the connection ended."""
        if not received:
            raise BadAnswerError(otherwise)
        _check(deadline)
        return received


def _check(deadline: float) -> None:
    """Raise TimeoutError after the deadline."""
    if time.monotonic() > deadline:
        raise TimeoutError(NO_TIME_LEFT)


def _error_code(body: bytes) -> str:
    code = _CODE.search(body)
    return code[1].decode("ascii") if code else ""
