"""Put events on an event bus of EventBridge: batches, sizes, and entries that EventBridge rejects."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from express_path.adapters.aws import Aws, calling
from express_path.errors import ApiError
from express_path.events.writer import MAX_BYTES, EventEntry

if TYPE_CHECKING:
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

MAX_ENTRIES = 10
"""The most entries of one request (botocore model: events PutEventsRequestEntryList)."""
ATTEMPTS = 3
"""How often an entry is put that EventBridge rejects. The SDK retries requests that fail as a whole."""


@dataclass(frozen=True, slots=True)
class RejectedEntry:
    """An entry that was not put, with the error code and message of EventBridge or of the request."""

    entry: EventEntry
    code: str
    message: str


def batches(entries: Iterable[EventEntry]) -> Iterator[list[EventEntry]]:
    """Yield the entries in order, in batches of at most MAX_ENTRIES and MAX_BYTES. A larger entry is alone."""
    batch: list[EventEntry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == MAX_ENTRIES or size + entry.size > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def put_entries(aws: Aws, bus_name: str, entries: Iterable[EventEntry]) -> list[RejectedEntry]:
    """Put entries on a bus; return those that EventBridge still rejects after all attempts.

    If a request fails as a whole, the SDK has already retried it, so the entries after it are rejected without a call.
    Without entries, no client is created, because that takes time.
    """
    rejected: list[RejectedEntry] = []
    outage: ApiError | None = None
    for batch in batches(entries):
        if outage is None:
            try:
                rejected += _put_batch(aws, bus_name, batch)
                continue
            except ApiError as error:
                outage = error
        rejected += [RejectedEntry(entry, outage.code, outage.message) for entry in batch]
    return rejected


def _put_batch(aws: Aws, bus_name: str, batch: Sequence[EventEntry]) -> list[RejectedEntry]:
    """Put one batch, and again what was rejected. A request may succeed although entries fail.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
    """
    rejected = [RejectedEntry(entry, "", "") for entry in batch]
    for _ in range(ATTEMPTS):
        with calling("events:PutEvents"):
            answer = aws.events.put_events(Entries=[_request(bus_name, failure.entry) for failure in rejected])
        rejected = [
            RejectedEntry(failure.entry, row["ErrorCode"], row.get("ErrorMessage", ""))
            for failure, row in zip(rejected, answer["Entries"], strict=True)
            if row.get("ErrorCode")
        ]
        if not rejected:
            break
    return rejected


def _request(bus_name: str, entry: EventEntry) -> "PutEventsRequestEntryTypeDef":
    return {
        "Source": entry.source,
        "DetailType": entry.detail_type,
        "Resources": entry.resources,
        "Time": entry.time,
        "Detail": entry.detail,
        "EventBusName": bus_name,
    }
