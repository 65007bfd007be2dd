"""The lab's proxy delays each request once, and forwards everything else as it comes."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from lab.proxy import serve

SECONDS = 0.05
Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def with_proxy(server: Client, client: Client) -> None:
    """Run a client against a server behind the proxy, all on loopback."""
    upstream = await asyncio.start_server(server, "127.0.0.1", 0)
    address = upstream.sockets[0].getsockname()
    free = await asyncio.start_server(server, "127.0.0.1", 0)
    own = free.sockets[0].getsockname()
    free.close()
    await free.wait_closed()
    proxy = asyncio.create_task(serve(own, address, SECONDS))
    try:
        while True:
            try:
                reader, writer = await asyncio.open_connection(*own)
                break
            except OSError:
                await asyncio.sleep(0)
        await client(reader, writer)
        writer.close()
    finally:
        proxy.cancel()
        upstream.close()


async def answer_lines(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each line with its length and as many bytes, in two parts."""
    while line := await reader.readline():
        writer.write(f"{len(line)}\n".encode())
        await writer.drain()
        writer.write(b"x" * len(line))
        await writer.drain()
    writer.close()


def test_each_request_waits_once() -> None:
    """Two requests on one connection take at least twice the service time; the parts of one request wait together."""
    times: list[float] = []

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for parts in ([b"one\n"], [b"tw", b"o", b"\n"]):
            started = time.monotonic()
            for part in parts:
                writer.write(part)
                await writer.drain()
            assert await reader.readline() == b"4\n"
            assert await reader.readexactly(4) == b"xxxx"
            times.append(time.monotonic() - started)

    asyncio.run(with_proxy(answer_lines, client))
    assert all(SECONDS <= seconds < 10 * SECONDS for seconds in times), times


def test_large_answer_arrives_whole() -> None:
    """An answer that does not fit the buffers is forwarded completely while the client reads slowly."""
    size = 8 * 1024 * 1024

    async def send_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline():
            writer.write(bytes(size))
            await writer.drain()
        writer.close()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"all\n")
        received = 0
        while chunk := await reader.read(65536):
            received += len(chunk)
            await asyncio.sleep(0)
        assert received == size

    asyncio.run(with_proxy(send_much, client))


def test_large_request_arrives_whole() -> None:
    """A request that does not fit the buffers waits once, and is forwarded completely."""
    size = 4 * 1024 * 1024

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * (size - 1) + b"\n")
        await writer.drain()
        assert await reader.readexactly(2) == b"ok"

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = 0
        while received < size and (chunk := await reader.read(65536)):
            received += len(chunk)
        writer.write(b"ok" if received == size else b"no")
        await writer.drain()
        writer.close()

    asyncio.run(with_proxy(count, client))


def test_client_is_disconnected_if_the_server_is_gone() -> None:
    """The proxy closes the client's connection when the server closes its own."""

    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def client(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""

    asyncio.run(with_proxy(refuse, client))
