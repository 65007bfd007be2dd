"""What an engine sends, and what it measures. Little is imported: worker processes start with it."""

import copyreg
import hmac
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import pairwise
from math import ceil
from typing import Any

from hdrh.histogram import HdrHistogram

from express_path_instrument.bench.processor import ProcessorUse

_LONGEST = 3_600_000_000
"""The longest latency that a histogram records, in µs: one hour."""
_DIGITS = 3
"""How many digits of a latency a histogram keeps (https://github.com/HdrHistogram/HdrHistogram_py)."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where every request of a load goes: the host name of the URLs, and the checked addresses that are connected to.

    ca_file: certificates to trust instead of the system's, as in AWS_CA_BUNDLE.
    """

    host: str
    port: int
    addresses: tuple[str, ...]
    tls: bool
    ca_file: str | None = None

    @property
    def authority(self) -> str:
        """The value of the header `host`: the port is part of it unless it is the default one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"


@dataclass(frozen=True, slots=True)
class Target:
    """One request, signed: the path with the query. body_bytes is what it sends."""

    method: str
    path: str
    body_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Keys(Sequence[str]):
    """The keys of the objects of a run: random names that end with its id, in its folders in turn.

    number: how many there are. series: the keys of two series differ. Each is made when it is read.
    """

    folders: tuple[str, ...]
    run_id: str
    number: int
    series: str = ""

    def __len__(self) -> int:
        """Return how many there are."""
        return self.number

    def __getitem__(self, position: Any) -> Any:  # noqa: ANN401  # without slices
        """Return one of them."""
        if position >= self.number:
            raise IndexError(position)
        name = sha256(f"{self.run_id} {self.series} {position}".encode()).hexdigest()[:16]
        return f"{self.folders[position % len(self.folders)]}{name}-{self.run_id}"


@dataclass(frozen=True, slots=True)
class Presigned(Sequence[Target]):
    """A request for each key, which is signed when it is read: botocore needs minutes to sign a million.

    path: what precedes the key. query: all parameters but the signature, in order. to_sign: the first lines of what is
    signed. signing_key: as hexadecimal digits. keys are made of characters that a URL contains as they are.
    https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
    """

    method: str
    keys: Sequence[str]
    body_bytes: int
    path: str
    host: str
    query: str
    to_sign: str
    signing_key: str

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.keys)

    def __getitem__(self, position: Any) -> Any:  # noqa: ANN401  # without slices
        """Return one of them, signed."""
        path = f"{self.path}{self.keys[position]}"
        canonical = f"{self.method}\n{path}\n{self.query}\nhost:{self.host}\n\nhost\nUNSIGNED-PAYLOAD"
        to_sign = f"{self.to_sign}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(bytes.fromhex(self.signing_key), to_sign.encode(), "sha256").hex()
        return Target(self.method, f"{path}?{self.query}&X-Amz-Signature={signature}", self.body_bytes)


@dataclass(frozen=True, slots=True)
class Load:
    """How many requests to send, when, and to what.

    targets are used in turn. object_bytes is what a request transfers. warm_up: seconds before the measurement starts.
    Either seconds or count ends it, which lasts at most count_limit seconds. rate: how many requests start in each second;
    without it, each connection sends its next request when the previous one has ended. timeout: the seconds without data
    after which a request fails. first, whole: of a part of a divided load, which of its connections is the first one, and how
    many the whole load has. seconds, count, and rate are always those of the whole load.
    """

    server: Server
    targets: Sequence[Target]
    object_bytes: int
    connections: int
    warm_up: float = 0
    seconds: float | None = None
    count: int | None = None
    rate: float | None = None
    timeout: float = 60
    count_limit: float = 3600
    first: int = 0
    whole: int = 0

    @property
    def length(self) -> float:
        """The seconds from its start to the end of what is measured. Then it waits for answers."""
        return self.count_limit if self.seconds is None else self.warm_up + self.seconds

    def position(self, number: int) -> int:
        """Return the position in the whole load of a request of this part: its connections send in turn."""
        turn, connection = divmod(number, self.connections)
        return turn * (self.whole or self.connections) + self.first + connection

    def before(self, position: float) -> int:
        """Return how many requests of this part are before a position in the whole load."""
        turns, rest = divmod(ceil(round(position, 6)), self.whole or self.connections)
        return turns * self.connections + min(max(rest - self.first, 0), self.connections)

    def divided(self, parts: int) -> "list[Load]":
        """Return the loads of several processes, which together are this one: each has some of the connections."""
        ends = [self.connections * part // parts for part in range(parts + 1)]
        return [
            replace(self, connections=end - first, first=first, whole=self.connections)
            for first, end in pairwise(ends)
            if end > first
        ]


def _histogram() -> HdrHistogram:
    return HdrHistogram(1, _LONGEST, _DIGITS)


def _reduced(histogram: HdrHistogram) -> tuple[Callable[[bytes], HdrHistogram], tuple[bytes]]:
    """Return how pickle restores a histogram, which has arrays of C that pickle does not know."""
    return HdrHistogram.decode, (histogram.encode(),)


copyreg.pickle(HdrHistogram, _reduced)
_SUMS = ("requests", "transferred", "errors", "statuses", "unfinished", "hanging", "unsent", "cpu")


@dataclass(slots=True)
class Tally:
    """What was measured, by one process, or by several after `add`.

    requests, transferred: how many succeeded, and the bytes of their objects. latencies: of requests that succeeded. lags, served (constant rate): how late requests were sent, and the latency
    from then on, which is the server's. waits: of requests that got no answer, which waited at least as long, and of
    those that a closed loop was answered after its end. unfinished: how many were still open at the end, hanging: how
    many of these had no data for the timeout. unsent: how many were never sent (constant rate). oldest: how long
    the oldest open one had waited, in seconds. errors: failed requests by HTTP status or by the name of the error. statuses: answers
    by second of the measurement and status. started, ended: when the measurement started and its last request ended, as
    time.monotonic() tells it. failure: the first error in words. cpu: processor time of the processes that sent. busiest: how much of one processor the busiest of them
    used, 0 to 1. peak: how busy the machine was in its busiest second, in percent. use: of the processors, in the whole load with its warm-up.
    """

    requests: int = 0
    transferred: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    statuses: Counter[tuple[int, str]] = field(default_factory=Counter)
    started: float = 0
    ended: float = 0
    failure: str = ""
    unfinished: int = 0
    hanging: int = 0
    unsent: int = 0
    oldest: float = 0
    cpu: float = 0
    busiest: float = 0
    peak: float = 0
    use: ProcessorUse = field(default_factory=ProcessorUse)
    latencies: HdrHistogram = field(default_factory=_histogram)
    waits: HdrHistogram = field(default_factory=_histogram)
    lags: HdrHistogram = field(default_factory=_histogram)
    served: HdrHistogram = field(default_factory=_histogram)

    def succeeded(self, seconds: float, object_bytes: int) -> None:
        """Count a request that succeeded after this latency."""
        self.requests += 1
        self.transferred += object_bytes
        self.latencies.record_value(_recorded(seconds))

    def waited(self, seconds: float, number: int = 1) -> None:
        """Count requests that got no answer for this long, so that the slowest ones are not missing in the latency."""
        self.waits.record_value(_recorded(seconds), number)

    def started_late(self, seconds: float, number: int = 1) -> None:
        """Count how late requests of a constant rate were sent, because the client or its connections were busy."""
        self.lags.record_value(_recorded(seconds), number)

    def answered(self, seconds: float) -> None:
        """Count how long the server took for a request of a constant rate."""
        self.served.record_value(_recorded(seconds))

    def failed(self, name: str, words: str) -> None:
        """Count a request that failed, by its HTTP status or the name of its error."""
        self.errors[name] += 1
        self.failure = self.failure or words

    def add(self, other: "Tally") -> None:
        """Add what another process measured at the same time."""
        self.started = min(filter(None, (self.started, other.started)), default=0)
        self.failure = self.failure or other.failure
        for name in ("ended", "oldest", "busiest", "peak"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("latencies", "waits", "lags", "served"):
            getattr(self, name).add(getattr(other, name))

    def histogram(self) -> HdrHistogram:
        """Return the latencies in µs.

        Requests without an answer count with the time that they waited, which is less than their latency would be.
        """
        both = _histogram()
        both.add(self.latencies)
        both.add(self.waits)
        return both


def p99_ms(histogram: HdrHistogram) -> float | None:
    """Return the 99th percentile in ms, or None if nothing was recorded."""
    return histogram.get_value_at_percentile(99) / 1e3 if histogram.get_total_count() else None


def _recorded(seconds: float) -> int:
    return min(max(round(seconds * 1e6), 1), _LONGEST)


def total_of(tallies: Iterable[Tally]) -> Tally:
    """Return one tally for all of these."""
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total
