"""Put events on an event bus of EventBridge: batches, sizes, and entries that EventBridge rejects."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.adapters.config_rule.event_checks import checked_json
from express_path.errors import ApiError, EventError

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

MAX_BYTES = 240_000
"""The most bytes of one request, all entries together. AWS documents two limits, 256 KB
(https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html) and, since 2026, 1 MB
(https://aws.amazon.com/blogs/compute/more-room-to-build-serverless-services-now-support-payloads-up-to-1-mb). This
is below both, with room for what EventBridge adds to an event."""
MAX_ENTRIES = 10
"""The most entries of one request (botocore model: events PutEventsRequestEntryList), and messages of SQS."""
ATTEMPTS = 3
"""How often an entry is put that EventBridge rejects. The SDK retries requests that fail as a whole."""
_TIME_BYTES = 14


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to put on a bus. detail is JSON text in ASCII; time has a precision of seconds in EventBridge."""

    source: str
    detail_type: str
    resources: tuple[str, ...]
    time: datetime
    detail: str

    @property
    def size(self) -> int:
        """How many bytes EventBridge counts.

        Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
        """
        texts = (self.source, self.detail_type, self.detail, *self.resources)
        return _TIME_BYTES + sum(len(text.encode()) for text in texts)

    def as_message(self) -> str:
        """Return the complete entry as the text of a message. The detail stays an object, so it does not grow."""
        envelope = json.dumps(
            {
                "source": self.source,
                "detail-type": self.detail_type,
                "resources": self.resources,
                "time": self.time.isoformat(),
            }
        )
        return f'{envelope[:-1]}, "detail": {self.detail}}}'


def entry_of(message: object) -> Entry:
    """Read the text of a message that `Entry.as_message` wrote. Raise EventError that names the invalid field."""
    found = checked_json(message, "body")
    for field in ("source", "detail-type", "time"):
        if not isinstance(found.get(field), str):
            raise EventError(f"body.{field}", found.get(field), "a string")
    resources, detail = found.get("resources"), found.get("detail")
    if not isinstance(resources, list) or not all(isinstance(resource, str) for resource in resources):
        raise EventError("body.resources", resources, "a list of strings")
    if not isinstance(detail, dict):
        raise EventError("body.detail", detail, "an object")
    try:
        time = datetime.fromisoformat(found["time"])
    except ValueError as error:
        raise EventError("body.time", found["time"], "a time such as 2026-01-31T12:00:00.000Z") from error
    text = json.dumps(detail, separators=(",", ":"))
    return Entry(found["source"], found["detail-type"], tuple(resources), time, text)


@dataclass(frozen=True, slots=True)
class RejectedEntry:
    """An entry that was not put, with the error code and message of EventBridge or of the request."""

    entry: Entry
    code: str
    message: str


def batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield the entries in order, in batches of at most MAX_ENTRIES and MAX_BYTES. A larger entry is alone."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == MAX_ENTRIES or size + entry.size > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def put_entries(events: "EventBridgeClient", bus_name: str, entries: Iterable[Entry]) -> list[RejectedEntry]:
    """Put entries on a bus; return those that EventBridge still rejects after all attempts.

    If a request fails as a whole, the SDK has already retried it, so the entries after it are rejected without a call.
    """
    rejected: list[RejectedEntry] = []
    outage: ApiError | None = None
    for batch in batches(entries):
        if outage is None:
            try:
                rejected += _put_batch(events, bus_name, batch)
                continue
            except ApiError as error:
                outage = error
        rejected += [RejectedEntry(entry, outage.code, outage.message) for entry in batch]
    return rejected


def _put_batch(events: "EventBridgeClient", bus_name: str, batch: Sequence[Entry]) -> list[RejectedEntry]:
    """Put one batch, and again what was rejected. A request may succeed although entries fail.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
    """
    rejected = [RejectedEntry(entry, "", "") for entry in batch]
    for _ in range(ATTEMPTS):
        with calling("events:PutEvents"):
            answer = events.put_events(Entries=[_request(bus_name, failure.entry) for failure in rejected])
        rejected = [
            RejectedEntry(failure.entry, row["ErrorCode"], row.get("ErrorMessage", ""))
            for failure, row in zip(rejected, answer["Entries"], strict=True)
            if row.get("ErrorCode")
        ]
        if not rejected:
            break
    return rejected


def _request(bus_name: str, entry: Entry) -> "PutEventsRequestEntryTypeDef":
    return {
        "Source": entry.source,
        "DetailType": entry.detail_type,
        "Resources": entry.resources,
        "Time": entry.time,
        "Detail": entry.detail,
        "EventBusName": bus_name,
    }
