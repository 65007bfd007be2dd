"""A proxy that adds service time: each request waits before it is forwarded. Without netem, kernels cannot do that.

It does not parse HTTP. A request begins with the first bytes that the client sends after an answer, so requests must
not be pipelined. Answers are forwarded as they arrive.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_Before = Callable[[], Awaitable[None]]
_PART = 1 << 16
_START_SECONDS = 20
"""How long the server may take to start."""
READY = "ready"
"""What the proxy prints as soon as it accepts connections."""


async def _serve(client: _Streams, server: tuple[str, int], seconds: float) -> None:
    """Forward what comes on a connection of a client, and the answers, until one of the two closes its own."""
    requests, to_client = client
    try:
        answers, to_server = await asyncio.open_connection(*server)
    except OSError:
        to_client.close()
        return
    is_answered = asyncio.Event()
    is_answered.set()

    async def wait() -> None:
        if is_answered.is_set():
            is_answered.clear()
            await asyncio.sleep(seconds)

    async def answer() -> None:
        is_answered.set()

    ways = (_forward(requests, to_server, wait), _forward(answers, to_client, answer))
    tasks = [asyncio.create_task(way) for way in ways]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    for opened in (to_client, to_server):
        opened.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, before: _Before) -> None:
    """Forward each part, after what comes before it, until the end of the connection."""
    with suppress(OSError):
        while part := await reader.read(_PART):
            await before()
            writer.write(part)
            await writer.drain()


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
    async with asyncio.timeout(_START_SECONDS):
        await _reach(*server)
    accepting = await asyncio.start_server(lambda *client: _serve(client, server, seconds), *listen, backlog=1024)
    print(READY, flush=True)
    await accepting.serve_forever()


if __name__ == "__main__":
    _HOST, _PORT, _SERVER_HOST, _SERVER_PORT, _SECONDS = sys.argv[1:]
    asyncio.run(serve((_HOST, int(_PORT)), (_SERVER_HOST, int(_SERVER_PORT)), float(_SECONDS)))
