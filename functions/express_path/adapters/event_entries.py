"""The entries of an event bus: one event each, and the form in which a queue keeps them."""

import json
from dataclasses import dataclass
from datetime import datetime

from express_path.adapters.config_rule.event_checks import checked_json, time_of
from express_path.errors import EventError

MAX_BYTES = 240_000
"""The most bytes of one request, all entries together. AWS documents two limits, 256 KB
(https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html) and, since 2026, 1 MB
(https://aws.amazon.com/blogs/compute/more-room-to-build-serverless-services-now-support-payloads-up-to-1-mb). This
is below both, with room for what EventBridge adds to an event."""
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
    time = time_of(found["time"], "body.time")
    text = json.dumps(detail, separators=(",", ":"))
    return Entry(found["source"], found["detail-type"], tuple(resources), time, text)
