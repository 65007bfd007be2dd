"""Check that an event is plain JSON which can be traversed, printed and sent to AWS, before anything else reads it."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from express_path.errors import EventError

MAX_DEPTH = 100
"""How deep an event may be nested. Configuration items are less than ten levels deep; Python stops at about 1,000."""

EPOCH_YEAR = 1970
"""No event is older, because AWS Config takes times as seconds since 1970."""
_A_TIME = "a time such as 2026-01-31T12:00:00.000Z"


def checked(value: object, field: str) -> Mapping[str, Any]:
    """Return a value that must be a JSON object; field is its place in the event. Raise EventError otherwise.

    A lone surrogate is rejected, because UTF-8 cannot encode it, so no request to AWS could contain it
    (https://www.rfc-editor.org/rfc/rfc8259#section-8.2).
    """
    if not isinstance(value, Mapping):
        raise EventError(field, value, "a JSON object")
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        if not level:
            return value
        level = [inner for outer in level for inner in _inside(outer, field)]
    raise EventError(field, value, f"a JSON object of at most {MAX_DEPTH} levels")


def checked_json(text: object, field: str) -> Mapping[str, Any]:
    """Return the JSON object that a text contains. Raise EventError if it is not text, or contains anything else."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise EventError(field, text, "the JSON text of an object") from error
    if not isinstance(value, Mapping):
        raise EventError(field, text, "the JSON text of an object")
    return checked(value, field)


def time_of(found: object, field: str) -> datetime:
    """Return the time, in UTC, that a text contains. Raise EventError without a time zone or before EPOCH_YEAR."""
    try:
        time = datetime.fromisoformat(found) if isinstance(found, str) else None
        utc = time.astimezone(UTC) if time and time.tzinfo else None
    except (ValueError, OverflowError) as error:
        raise EventError(field, found, _A_TIME) from error
    if utc is None or utc.year < EPOCH_YEAR:
        raise EventError(field, found, _A_TIME)
    return utc


def _inside(value: object, field: str) -> Iterator[object]:
    """Yield the keys and values directly inside a value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise EventError(field, key, "an object whose names are strings")
            yield key
            yield inner
    elif isinstance(value, list):
        yield from value
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise EventError(field, value, "text without lone surrogates") from error
    elif value is not None and not isinstance(value, bool | int | float):
        raise EventError(field, value, "plain JSON")
