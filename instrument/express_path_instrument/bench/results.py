"""The results of a measurement, and their JSON document.

`results_reader.py` reads the document.
"""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from statistics import quantiles
from typing import Any

from hdrh.histogram import HdrHistogram
from msgspec import Struct
from msgspec.structs import asdict

from express_path_cli.terminal.documents import Amount, Count, Time

SCHEMA_VERSION = 1
"""The version of the document's schema. A new key does not change it."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How the document spells a time, which is in UTC."""


def key_of(field: str) -> str:
    """Return the key of a field in the document."""
    first, *others = {"latency": "latency_ms", "statuses": "status_over_time"}.get(field, field).split("_")
    return "".join([first, *map(str.capitalize, others)])


class Kind(StrEnum):
    """What was measured: the subcommand's name."""

    GET = "get"
    PUT = "put"
    OPEN = "open"


class MeasuredPath(Struct, frozen=True, rename=key_of):
    """The path of the client's subnet: the verdict's compliance and reason, and its hops as text, in order."""

    verdict: str
    reason: str
    hops: tuple[str, ...] = ()


class Client(Struct, frozen=True, rename=key_of):
    """The machine that sent the requests. instance_type is empty outside EC2. cpus: how many the command can use.

    machines: how many of them sent requests at the same time.
    """

    instance_type: str
    cpus: Count
    engine: str
    engine_version: str
    machines: Count = 1


class Target(Struct, frozen=True, rename=key_of):
    """Where the requests went. endpoint is the URL. zone_id is empty for a bucket that is in no single zone."""

    bucket: str
    endpoint: str
    zone_id: str = ""


class Latency(Struct, frozen=True, rename=key_of):
    """Percentiles of the latency, and the maximum, in ms. None: not known.

    Requests without an answer count with the time that they waited. Failed requests do not count.
    """

    p50: Amount | None = None
    p90: Amount | None = None
    p99: Amount | None = None
    p999: Amount | None = None
    max: Amount | None = None


def latency_of(histogram: HdrHistogram) -> Latency:
    """Return the percentiles of latencies in µs; each is None if nothing was sent."""
    if not histogram.get_total_count():
        return Latency()
    p50, p90, p99, p999, most = (histogram.get_value_at_percentile(wanted) / 1e3 for wanted in (50, 90, 99, 99.9, 100))
    return Latency(p50, p90, p99, p999, most)


class Step(Struct, frozen=True, rename=key_of):
    """One step of a measurement, in one of its repeats.

    connections: how many requests were in flight (get, put). rate_per_second: how many were to be started in each
    second (open). started_at, seconds: when it was measured, and how long. requests, bytes: how many succeeded, and the bytes of their objects. gbps: 10^9
    bits per second. cpu_percent: the mean of what the client itself used of the processors that it may use, or its busiest
    process of one processor, 0 to 100; None if it was not measured. other_cpu_percent: what other work used of all
    processors. peak_cpu_percent: how busy all processors of the machine were in the busiest second, whoever used them.
    errors: failed requests by HTTP status or by the name of the error. statuses: answers by the same names, in each
    `second`. unfinished: requests that had no answer at the end, when all that was left had no data for the timeout;
    oldest_unfinished_ms: how long the oldest of them had waited. hangs: one of them had no data for the timeout, so the
    step is invalid. unsent (open): requests that could not be sent until the end. lag_p99_ms, server_p99_ms (open): how
    late requests were sent, and how long the server took from then on. The latency has both. latency_histogram: all
    latencies in µs, encoded by HdrHistogram.
    """

    repeat: Count
    seconds: Amount
    requests: Count
    bytes: Count
    gbps: Amount
    requests_per_second: Amount
    latency: Latency = Latency()
    latency_histogram: str = ""
    started_at: Time | None = None
    connections: Count | None = None
    rate_per_second: Amount | None = None
    cpu_percent: Amount | None = None
    other_cpu_percent: Amount | None = None
    peak_cpu_percent: Amount | None = None
    errors: dict[str, Count] = {}
    statuses: tuple[dict[str, Count], ...] = ()
    unfinished: Count = 0
    oldest_unfinished_ms: Amount | None = None
    unsent: Count = 0
    hangs: bool = False
    lag_p99_ms: Amount | None = None
    server_p99_ms: Amount | None = None

    @property
    def failed(self) -> int:
        """How many requests failed."""
        return sum(self.errors.values())

    @property
    def answers(self) -> dict[int, Counter[str]]:
        """How many answers there were by status, in each second that has any."""
        return {
            row["second"]: Counter({status: number for status, number in row.items() if status != "second"})
            for row in self.statuses
        }


class BenchResult(Struct, frozen=True, rename=key_of):
    """One measurement. path is None if it could not be determined. invalid_reason is empty if it is valid.

    object_bytes: the size of each object. repeats: how often the steps were measured.
    """

    kind: Kind
    made_at: Time
    path: MeasuredPath | None
    client: Client
    target: Target
    object_bytes: Count
    repeats: Count
    steps: tuple[Step, ...]
    invalid_reason: str = ""

    @property
    def valid(self) -> bool:
        """Return whether the measurement can be compared with others."""
        return not self.invalid_reason


def as_bench_json(result: BenchResult) -> str:
    """Return the document of a result. It lacks what is not known."""
    document = {"schemaVersion": SCHEMA_VERSION, **_document(result), "valid": result.valid}
    return json.dumps(document, indent=2) + "\n"


def _document(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return a value as JSON types."""
    if isinstance(value, Struct):
        return {key_of(name): _document(found) for name, found in asdict(value).items() if found is not None}
    if isinstance(value, tuple):
        return [_document(row) for row in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime(_TIME)
    return round(value, 6) if isinstance(value, float) else value


def tp80(values: Sequence[float]) -> float:
    """Return the TP80 of values: what 80 % of them reach, interpolated between the two nearest. It is below the median."""
    return values[0] if len(values) == 1 else quantiles(values, n=5, method="inclusive")[0]
