"""The log of every AWS API call that reaches the sandbox."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

READING_VERBS = (
    "Describe",
    "Filter",
    "Get",
    "List",
    "Search",
    "Select",
    "Lookup",
    "Head",
    "BatchGet",
    "TransactGet",
    "Query",
    "Scan",
    "AssumeRole",
)
"""First words of the operations that change nothing (AWS's own naming, seen throughout the botocore models)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the server received it; a retry is another request.

    `service` is botocore's name (`ec2`), `operation` the API's (`DescribeVpcs`), `parameters` the parsed input,
    `account_id` and `region` the account and Region it was made in, `status` the HTTP status of the answer and `error`
    its error code, None after a success.
    """

    service: str
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    account_id: str = ""
    region: str = ""
    status: int = 200
    error: str | None = None

    @property
    def mutating(self) -> bool:
        """True if the operation could have changed something: not a reading verb, and not a dry run."""
        return not self.operation.startswith(READING_VERBS) and self.parameters.get("DryRun") is not True


class CallLog:
    """Every call since the start or the last `clear()`, in the order of the answers. Safe among threads."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = Lock()
        self._calls: list[Call] = []

    def append(self, call: Call) -> None:
        """Add one call at the end."""
        with self._lock:
            self._calls.append(call)

    def clear(self) -> None:
        """Forget every call."""
        with self._lock:
            self._calls.clear()

    def __iter__(self) -> Iterator[Call]:
        """Iterate over a copy, so that calls may arrive meanwhile."""
        with self._lock:
            return iter(list(self._calls))

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self._calls)

    def of(self, service: str, operation: str | None = None) -> list[Call]:
        """Return the calls of one service, or of one of its operations."""
        return [call for call in self if call.service == service and operation in (None, call.operation)]

    def operations(self, service: str) -> list[str]:
        """Return the names of the operations of one service, in order, one for each call."""
        return [call.operation for call in self.of(service)]

    def mutating(self) -> list[Call]:
        """Return the calls that could have changed something, refused ones included."""
        return [call for call in self if call.mutating]
