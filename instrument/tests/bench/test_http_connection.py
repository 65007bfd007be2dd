"""A connection reports every answer and every fault by name, and can be used again after an answer."""

import socket
import ssl
import threading
import time

import pytest

from express_path_instrument.bench.http_connection import Connection
from express_path_instrument.bench.http_worker import error_name
from express_path_instrument.bench.load import Server, Target
from instrument.tests.bench.raw_server import CLOSE, OBJECT, chunked, response, serving

GET = Target("GET", "/key?signature=1")
PUT = Target("PUT", "/key?signature=1", (1 << 20) + 5)
SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>"


def connection(server: Server, timeout: float = 5) -> Connection:
    return Connection(server, server.addresses[0], timeout)


@pytest.mark.parametrize(
    ("answer", "target", "status", "code", "ok"),
    [
        (response("200 OK", OBJECT), GET, 200, "", True),
        (response("206 Partial Content", OBJECT), GET, 206, "", True),
        (response("503 Slow Down", SLOW_DOWN), GET, 503, "SlowDown", False),
        (chunked("503 Slow Down", SLOW_DOWN), GET, 503, "SlowDown", False),
        (chunked("500 Internal Server Error", b"no XML"), GET, 500, "", False),
        (response("307 Temporary Redirect", b"", "Location: http://127.0.0.1:9/"), GET, 307, "", False),
        (response("200 OK"), PUT, 200, "", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", PUT, 204, "", True),
    ],
)
def test_an_answer_is_reported_and_the_connection_used_again(
    answer: bytes, target: Target, status: int, code: str, ok: bool
) -> None:
    """Whatever the server answers, a second request uses the same connection and gets the same answer."""
    with serving(lambda _: answer) as raw:
        one = connection(raw.server)
        for _ in range(2):
            found = one.send(target)
            assert (found.status, found.code, found.ok) == (status, code, ok)
        one.close()
    assert raw.connections == 1
    assert raw.body_lengths == [target.body_bytes] * 2
    assert raw.requests[0].startswith(
        f"{target.method} {target.path} HTTP/1.1\r\nHost: {raw.server.authority}".encode()
    )


def test_a_connection_that_the_server_closed_is_made_again() -> None:
    """A server may close a connection between two requests, which is no error."""
    with serving(lambda _: response("200 OK", OBJECT, "Connection: close")) as announced:
        one = connection(announced.server)
        assert [one.send(GET).status for _ in range(2)] == [200, 200]
        one.close()
    assert announced.connections == 2
    with serving() as silent:
        one = connection(silent.server)
        one.send(GET)
        silent.open[0].shutdown(socket.SHUT_RDWR)
        assert one.send(GET).ok
        one.close()
    assert silent.connections == 2


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (CLOSE, "connection closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxxx" + CLOSE, "answer cut short"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 50, "timed out"),
        (b"220 ready\r\n\r\n", "answer is not HTTP/1.1"),
        (b"", "timed out"),
    ],
)
def test_a_fault_has_a_name(answer: bytes, name: str) -> None:
    """An answer that is missing, cut short, late, or not HTTP is an error that is counted by a short name."""
    with serving(lambda _: answer) as raw:
        one = connection(raw.server, timeout=0.2)
        with pytest.raises(OSError) as found:  # noqa: PT011  # its name is checked
            one.send(GET)
    assert error_name(found.value) == name


def speak_plain_text(listener: socket.socket) -> None:
    """Answer one connection without TLS."""
    opened, _ = listener.accept()
    with opened:
        opened.sendall(b"this is not TLS\r\n")


def test_a_refused_connection_and_failed_tls_have_names() -> None:
    """Errors of the network and of TLS are counted by the system's words for them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server("127.0.0.1", listener.getsockname()[1], ("127.0.0.1",), tls=True)
        plain = threading.Thread(target=speak_plain_text, args=(listener,))
        plain.start()
        with pytest.raises(ssl.SSLError) as failed:
            Connection(server, "127.0.0.1", 5, ssl.create_default_context()).send(GET)
        plain.join()
    assert error_name(failed.value).startswith("TLS: ")
    with pytest.raises(ConnectionRefusedError) as refused:
        connection(server).send(GET)
    assert error_name(refused.value) == "connection refused"


def test_nothing_is_awaited_after_the_deadline() -> None:
    """The end of a step ends a request that is still receiving."""
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1000
    with serving(lambda _: endless) as raw:
        with pytest.raises(TimeoutError):
            connection(raw.server).send(GET, deadline=time.monotonic())
        assert not raw.requests or raw.connections == 1
