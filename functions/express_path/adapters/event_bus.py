"""The entries of EventBridge's PutEvents."""

from dataclasses import dataclass
from datetime import datetime

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
