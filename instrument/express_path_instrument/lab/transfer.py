"""A client that keeps several downloads running and reports what happens to each, also when the route changes.

It prints one JSON object: `startedAt` on the system's monotonic clock; `downloads`, each with the seconds since then at
which it began and ended, the bytes that it received, and the error or null; and `bytesPerSecond`, what all of them
received in each second. A download that fails starts again on a new connection.
"""

import json
import sys
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from typing import Any

HANG = "hang"
"""The error of a connection from which nothing arrives for HANG_SECONDS."""
HANG_SECONDS = 4.0
_CHUNK = 64 * 1024


class Transfer:
    """Downloads of one object that run side by side until an end, in seconds since the start."""

    def __init__(self, host: str, port: int, target: str, end: float) -> None:
        """Start the clock."""
        self._address, self._target, self._end = (host, port), target, end
        self.started_at = time.monotonic()
        self.downloads: list[dict[str, Any]] = []
        self.bytes_per_second: Counter[int] = Counter()

    def keep_downloading(self) -> None:
        """Download the object again and again."""
        while (began := self._now()) < self._end:
            connection = HTTPConnection(*self._address, timeout=HANG_SECONDS)
            received = Counter[int]()
            error = self._download(connection, received)
            connection.close()
            self.bytes_per_second.update(received)
            row = {"began": began, "ended": self._now(), "bytes": received.total(), "error": error}
            self.downloads.append(row)

    def _download(self, connection: HTTPConnection, received: Counter[int]) -> str | None:
        """Download the object once, count its bytes by second, and return the error, if any."""
        try:
            connection.request("GET", self._target)
            answer = connection.getresponse()
            while self._now() < self._end and (chunk := answer.read1(_CHUNK)):
                received[int(self._now())] += len(chunk)
        except TimeoutError:
            return HANG
        except (OSError, HTTPException) as error:
            return type(error).__name__
        return None if answer.status == 200 else f"HTTP {answer.status}"  # noqa: PLR2004  # OK

    def _now(self) -> float:
        return time.monotonic() - self.started_at


def main() -> None:
    """Run the downloads that the arguments describe: host, port, request target, number of downloads, seconds."""
    host, port, target, number, seconds = sys.argv[1:]
    transfer = Transfer(host, int(port), target, float(seconds))
    threads = [threading.Thread(target=transfer.keep_downloading) for _ in range(int(number))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rates = [transfer.bytes_per_second[second] for second in range(int(float(seconds)))]
    report = {"startedAt": transfer.started_at, "downloads": transfer.downloads, "bytesPerSecond": rates}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
