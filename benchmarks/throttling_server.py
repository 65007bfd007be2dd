"""A small S3 server that throttles writes like a bucket whose partitions divide: `python -m benchmarks.throttling_server`.

It allows a number of writes per second, answers 503 to the others, and doubles the number after it has throttled for a
while, as S3 does when it divides a partition. It keeps the keys, and no objects. PUT, DELETE, and ListObjectsV2 are all
that `express-path bench open --operation put` needs.
"""

import argparse
import asyncio
import time
from itertools import count, islice
from urllib.parse import parse_qs, urlsplit

SLOW_DOWN = b"<Error><Code>SlowDown</Code></Error>"


class Bucket:
    """The keys of one bucket, and how many writes per second it allows."""

    def __init__(self, rate: float, seconds: float) -> None:
        """Begin cold. rate: writes per second at first. seconds: after how long of throttling it doubles."""
        self.rate, self.seconds = rate, seconds
        self.allowed, self.refilled = rate, time.monotonic()
        self.throttled_since: float | None = None
        self.keys: dict[str, int] = {}
        self.numbers = count(1)

    def may_write(self) -> bool:
        """Return whether a write is allowed now (a token bucket of one second)."""
        now = time.monotonic()
        if self.throttled_since and now - self.throttled_since > self.seconds:
            self.rate, self.throttled_since = self.rate * 2, None
        self.allowed = min(self.rate, self.allowed + (now - self.refilled) * self.rate)
        self.refilled = now
        if self.allowed < 1:
            self.throttled_since = self.throttled_since or now
            return False
        self.allowed -= 1
        return True

    def answer(self, method: str, target: str) -> tuple[str, bytes]:
        """Return the status and the body for a request."""
        url = urlsplit(target)
        key = url.path.split("/", 2)[2] if url.path.count("/") > 1 else ""
        if method == "PUT":
            if not self.may_write():
                return "503 Slow Down", SLOW_DOWN
            self.keys[key] = next(self.numbers)
            return "200 OK", b""
        if method == "DELETE":
            self.keys.pop(key, None)
            return "204 No Content", b""
        query = parse_qs(url.query)
        prefix, after = query.get("prefix", [""])[0], int(query.get("continuation-token", ["0"])[0])
        found = list(
            islice((key for key, number in self.keys.items() if number > after and key.startswith(prefix)), 1000)
        )
        rows = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in found)
        token = f"<NextContinuationToken>{self.keys[found[-1]]}</NextContinuationToken>" if found else ""
        more = f"<IsTruncated>{str(bool(found)).lower()}</IsTruncated>{token}"
        return "200 OK", f"<ListBucketResult>{rows}{more}</ListBucketResult>".encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *headers = head.decode().split("\r\n")
                lengths = [line for line in headers if line.lower().startswith("content-length:")]
                await reader.readexactly(int(lengths[0].partition(":")[2]) if lengths else 0)
                status, body = self.answer(*first.split(" ")[:2])
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=7171)
    parser.add_argument("--rate", type=float, default=100, help="writes per second at first")
    parser.add_argument("--seconds", type=float, default=600, help="after how long of throttling the rate doubles")
    options = parser.parse_args()
    bucket = Bucket(options.rate, options.seconds)
    server = await asyncio.start_server(bucket.serve, "127.0.0.1", options.port, limit=1 << 20)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
