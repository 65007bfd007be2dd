"""A proxy that adds service time: each request waits before it is forwarded. Without netem, kernels cannot do that.

It does not parse HTTP. A request begins with the first bytes that the client sends after an answer, so requests must
not be pipelined. Answers are forwarded as they arrive.
"""

import asyncio
import sys

_START_SECONDS = 20
"""How long the server may take to start."""
READY = "ready"
"""What the proxy prints as soon as it accepts connections."""


class _ToServer(asyncio.Protocol):
    """The connection to the server, one for each connection of a client."""

    def __init__(self, client: "_FromClient") -> None:
        """Forward answers to a client."""
        self._client = client

    def data_received(self, data: bytes) -> None:
        """Forward a part of an answer."""
        self._client.answer(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's interface
        """Close the client's connection when the server has closed its own."""
        self._client.close()

    def pause_writing(self) -> None:
        """Stop to read from the client while the server does not keep up."""
        self._client.pause_reading()

    def resume_writing(self) -> None:
        """Read from the client again."""
        self._client.resume_reading()


class _FromClient(asyncio.Protocol):
    """A connection of a client."""

    def __init__(self, server: tuple[str, int], seconds: float) -> None:
        """Forward to a server after some seconds."""
        self._server, self._seconds = server, seconds
        self._loop = asyncio.get_running_loop()
        self._client: asyncio.Transport | None = None
        self._upstream: asyncio.Transport | None = None
        self._waiting: list[bytes] = []
        self._is_answered = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the server."""
        assert isinstance(transport, asyncio.Transport)
        self._client = transport
        self._connecting = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        try:
            upstream, _ = await self._loop.create_connection(lambda: _ToServer(self), *self._server)
        except OSError:
            self.close()
            return
        self._upstream = upstream

    def data_received(self, data: bytes) -> None:
        """Forward a part of a request; its first part waits for the service time, and later parts behind it."""
        if self._is_answered:
            self._is_answered = False
            self._waiting = [data]
            self._loop.call_later(self._seconds, self._forward)
        elif self._waiting or not self._upstream:
            self._waiting.append(data)
        else:
            self._upstream.write(data)

    def _forward(self) -> None:
        if self._upstream is None:  # not connected yet, so wait once more
            self._loop.call_later(self._seconds, self._forward)
            return
        self._upstream.writelines(self._waiting)
        self._waiting = []

    def answer(self, data: bytes) -> None:
        """Forward a part of an answer."""
        self._is_answered = True
        if self._client:
            self._client.write(data)

    def close(self) -> None:
        """Close the client's connection."""
        if self._client:
            self._client.close()

    def pause_reading(self) -> None:
        """Stop to read from the client."""
        if self._client:
            self._client.pause_reading()

    def resume_reading(self) -> None:
        """Read from the client again."""
        if self._client:
            self._client.resume_reading()

    def pause_writing(self) -> None:
        """Stop to read from the server while the client does not keep up."""
        if self._upstream:
            self._upstream.pause_reading()

    def resume_writing(self) -> None:
        """Read from the server again."""
        if self._upstream:
            self._upstream.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's interface
        """Close the connection to the server."""
        self._connecting.cancel()
        if self._upstream:
            self._upstream.close()


async def _reach(host: str, port: int) -> None:
    """Wait until the server, which was just started, accepts connections."""
    while True:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


async def serve(listen: tuple[str, int], server: tuple[str, int], seconds: float) -> None:
    """Wait for the server, then accept connections until the process ends. seconds: the service time."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_START_SECONDS):
        await _reach(*server)
    accepting = await loop.create_server(lambda: _FromClient(server, seconds), *listen, backlog=1024)
    print(READY, flush=True)
    await accepting.serve_forever()


if __name__ == "__main__":
    _HOST, _PORT, _SERVER_HOST, _SERVER_PORT, _SECONDS = sys.argv[1:]
    asyncio.run(serve((_HOST, int(_PORT)), (_SERVER_HOST, int(_SERVER_PORT)), float(_SECONDS)))
