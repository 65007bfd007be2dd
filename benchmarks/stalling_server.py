"""A server that stalls or hangs at a known time, for `python -m benchmarks clients`: one process, HTTP/1.1 on loopback.

It answers every GET after SERVICE seconds with OBJECT. The first part of the path says what else happens in a run, which
begins with the first request after a pause: `/stall`: STALL_AFTER seconds later, the server does nothing for STALL
seconds. `/hang`: the requests with the numbers in HANGING are never answered. `/calm`: nothing.
"""

import asyncio
import time

SERVICE = 0.01
STALL_AFTER, STALL = 2.0, 1.0
HANGING = frozenset({100, 200})
OBJECT = bytes(1024)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(OBJECT), OBJECT)
_PAUSE = 1.5
"""Seconds without a request after which a run has ended; longer than a stall."""


class _Run:
    """The run that goes on: when it began, when its last request came, and how many there were."""

    began = last = float("-inf")
    requests = 0
    has_stalled = False

    def __init__(self) -> None:
        """Count from the first request."""
        self.began = self.last = time.monotonic()


class _Connection(asyncio.Protocol):
    """A connection of a client. Requests have no body, and are not pipelined."""

    run = _Run()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.waiting = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer a request, late or never if the run says so."""
        self.waiting += data
        if not self.waiting.endswith(b"\r\n\r\n"):
            return
        kind, self.waiting = self.waiting.split(b"/")[1].split(b" ")[0], b""
        now, cls = time.monotonic(), type(self)
        if now - cls.run.last > _PAUSE:
            cls.run = _Run()
        cls.run.last = now
        cls.run.requests += 1
        if kind == b"hang" and cls.run.requests in HANGING:
            return
        if kind == b"stall" and not cls.run.has_stalled and now - cls.run.began >= STALL_AFTER:
            cls.run.has_stalled = True
            time.sleep(STALL)
        asyncio.get_running_loop().call_later(SERVICE, self.transport.write, _ANSWER)


async def serve() -> None:
    """Print the port, and answer until the process ends."""
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
