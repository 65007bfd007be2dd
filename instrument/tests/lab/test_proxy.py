"""The lab's proxy delays each request once, and forwards everything else as it comes."""

import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SECONDS = 0.2


class Answers(socketserver.StreamRequestHandler):
    """Reads a number and a line of any length, and answers with as many bytes; with 0, it closes the connection."""

    def handle(self) -> None:
        """Answer until the client is gone."""
        while (number := int(self.rfile.readline() or 0)) and self.rfile.readline():
            self.wfile.write(b"x" * number)


class Server(socketserver.ThreadingTCPServer):
    """A server that accepts many connections at once."""

    request_queue_size = 128
    daemon_threads = True


@pytest.fixture(scope="module")
def proxy() -> Iterator[tuple[str, int]]:
    """Return the address of a proxy, a process in front of a server in this one."""
    with Server(("127.0.0.1", 0), Answers) as server, socket.socket() as free:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
        free.close()
        upstream = map(str, server.server_address)
        command = [sys.executable, "-m", "express_path_instrument.lab.proxy", host, str(port), *upstream, str(SECONDS)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            yield host, port
            process.kill()
        server.shutdown()


def read(connection: socket.socket, size: int) -> int:
    """Read up to a number of bytes, and return how many came before the end of the connection."""
    received = 0
    while received < size and (chunk := connection.recv(65536)):
        received += len(chunk)
    return received


def test_each_request_waits_once(proxy: tuple[str, int]) -> None:
    """Every request of a connection waits for the service time, but not each of its parts."""
    with socket.create_connection(proxy, timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for parts in ([b"4\n\n"], [b"4", b"\n", b"\n"]):
            started = time.monotonic()
            for part in parts:
                connection.sendall(part)
            assert read(connection, 4) == 4
            assert time.monotonic() - started >= SECONDS


def test_many_requests_wait_side_by_side(proxy: tuple[str, int]) -> None:
    """Connections do not wait for each other: 64 requests take less than 64 times the service time."""
    with ExitStack() as opened:
        connections = [opened.enter_context(socket.create_connection(proxy, timeout=10)) for _ in range(64)]
        started = time.monotonic()
        for connection in connections:
            connection.sendall(b"4\n\n")
        assert [read(connection, 4) for connection in connections] == [4] * 64
        assert time.monotonic() - started < 64 * SECONDS


def test_client_is_disconnected_if_the_server_closes(proxy: tuple[str, int]) -> None:
    """The proxy closes the client's connection when the server closes its own."""
    with socket.create_connection(proxy, timeout=10) as connection:
        connection.sendall(b"0\n")
        assert read(connection, 1) == 0
