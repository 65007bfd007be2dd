"""Read what comes from outside strictly: AWS's descriptions, events, requests, items, and files.

Every reader takes an object, the name of one of its fields, and the resource or the place in an event that the object
is. A missing or invalid field raises RecordError, which names all three. Ids must have the form of their field.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeGuard, TypeVar

from express_path.domain.network.addresses import Cidr, parse_cidr
from express_path.domain.network.ids import wrong_form
from express_path.errors import RecordError

MAX_DEPTH = 100
"""How deep JSON may be nested. Configuration items are less than ten levels deep; Python stops at about 1,000."""
EPOCH_YEAR = 1970
"""No time is older, because AWS Config takes times as seconds since 1970."""
Description = Mapping[str, Any]


class Identified(Protocol):
    """A record with an id."""

    @property
    def id(self) -> str:
        """The id that AWS gave the resource."""


Record = TypeVar("Record", bound=Identified)
_Word = TypeVar("_Word", bound=StrEnum)


def identifier(description: Description, field: str, resource: str) -> str:
    """Return a field that must be an id of the field's form, or an AWS keyword: a string without control characters."""
    return _checked(free_text(description, field, resource), field, resource)


def free_text(description: Description, field: str, resource: str) -> str:
    """Return a field that must be a non-empty string with any content, such as a name that a person chose."""
    value = description.get(field)
    if not isinstance(value, str) or not value:
        raise RecordError(resource, field, value, "a non-empty string")
    return value


def optional_identifier(description: Description, field: str, resource: str) -> str:
    """Return a field that must be an id or an AWS keyword, empty if it is absent or null."""
    text = optional_free_text(description, field, resource)
    return _checked(text, field, resource) if text else ""


def optional_free_text(description: Description, field: str, resource: str) -> str:
    """Return a field that must be a string with any content, empty if it is absent or null."""
    value = description.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(resource, field, value, "a string")
    return value


def shown(description: Description, field: str, resource: str) -> str:
    """Return a field that AWS may fill with an id or a word of any form, empty if it is absent or null.

    A form that is not known yet is no error: a new kind of target or state must not hide everything else.
    """
    return _checked(optional_free_text(description, field, resource), "", resource, field)


def word(description: Description, field: str, resource: str, allowed: Collection[str]) -> str:
    """Return a field that must be one of these words."""
    value = description.get(field)
    if not isinstance(value, str) or value not in allowed:
        raise RecordError(resource, field, value, _one_of(allowed))
    return value


def member(description: Description, field: str, resource: str, words: type[_Word]) -> _Word:
    """Return a field that must be a member of an enumeration."""
    value: Any = description.get(field)
    try:
        return words(value)
    except ValueError:
        raise RecordError(resource, field, value, _one_of(words)) from None


def required_flag(description: Description, field: str, resource: str) -> bool:
    """Return a field that must be true or false."""
    value = description.get(field)
    if not isinstance(value, bool):
        raise RecordError(resource, field, value, "true or false")
    return value


def flag(description: Description, field: str, resource: str) -> bool:
    """Return a field that must be true or false; absent or null means false."""
    return description.get(field) is not None and required_flag(description, field, resource)


def count(description: Description, field: str, resource: str, least: int = 0) -> int:
    """Return a field that must be a whole number of at least `least`."""
    value = description.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RecordError(resource, field, value, f"a whole number of at least {least}")
    return value


def number(description: Description, field: str, resource: str) -> int | None:
    """Return a field that must be a whole number, None if it is absent or null."""
    value = description.get(field)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RecordError(resource, field, value, "a whole number")


def time(description: Description, field: str, resource: str) -> datetime:
    """Return a field that must be a time with a time zone, since EPOCH_YEAR, in UTC."""
    value, allowed = description.get(field), "a time such as 2026-01-31T12:00:00.000Z"
    try:
        given = datetime.fromisoformat(value) if isinstance(value, str) else None
        utc = given.astimezone(UTC) if given and given.tzinfo else None
    except (ValueError, OverflowError) as error:
        raise RecordError(resource, field, value, allowed) from error
    if utc is None or utc.year < EPOCH_YEAR:
        raise RecordError(resource, field, value, allowed)
    return utc


CLOCK_SKEW = timedelta(minutes=5)
"""How far the clocks of the sender and the reader of a time may differ. AWS signs requests with the same allowance
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html)."""


def not_in_future(found: datetime, now: datetime, field: str, resource: str) -> None:
    """Raise RecordError if a time lies in the future: it would make every later one look old."""
    if found > now + CLOCK_SKEW:
        raise RecordError(resource, field, found.isoformat(), f"a time at most {CLOCK_SKEW} ahead of the clock")


def required_rows(description: Description, field: str, resource: str) -> list[Description]:
    """Return a field that must be a list of objects. One that is null counts as one that shows nothing."""
    value = description.get(field)
    if not are_objects(value):
        raise RecordError(resource, field, value, "a list of objects")
    return [{} if row is None else row for row in value]


def rows(description: Description, field: str, resource: str) -> list[Description]:
    """Return a field that must be a list of objects; absent or null means empty."""
    value = description.get(field)
    return [] if value is None or value == [] else required_rows(description, field, resource)


def are_objects(found: object) -> TypeGuard[list[Description | None]]:
    """Return whether a value is a list of JSON objects, some of which may be null."""
    return isinstance(found, list) and all(row is None or isinstance(row, dict) for row in found)


def required_object(description: Description, field: str, resource: str) -> Description:
    """Return a field that must be an object."""
    value = description.get(field)
    if not isinstance(value, Mapping):
        raise RecordError(resource, field, value, "an object")
    return value


def nested(description: Description, field: str, resource: str) -> Description:
    """Return a field that must be an object; absent or null means empty."""
    return {} if description.get(field) is None else required_object(description, field, resource)


def ids(description: Description, field: str, resource: str) -> tuple[str, ...]:
    """Return a field that must be a list of ids or keywords, such as SubnetIds; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(value, str) and value for value in found):
        raise RecordError(resource, field, found, "a list of ids")
    for value in found:
        _checked(value, field.removesuffix("s"), resource, field)
    return tuple(found)


def block(value: object, field: str, resource: str) -> Cidr:
    """Return the value of a field that must be a CIDR block."""
    try:
        return parse_cidr(str(value))
    except ValueError as error:
        raise RecordError(resource, field, value, "a CIDR block such as 10.0.0.0/16") from error


def plain_json(value: object, resource: str, field: str = "") -> Description:
    """Return a value that must be a JSON object which can be traversed, printed, and sent to AWS.

    A lone surrogate is rejected, because UTF-8 cannot encode it, so no request to AWS could contain it
    (https://www.rfc-editor.org/rfc/rfc8259#section-8.2).
    """
    if not isinstance(value, Mapping):
        raise RecordError(resource, field, value, "a JSON object")
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        if not level:
            return value
        level = [inner for outer in level for inner in _inside(outer, resource, field)]
    raise RecordError(resource, field, value, f"a JSON object of at most {MAX_DEPTH} levels")


def json_text(description: Description, field: str, resource: str) -> Description:
    """Return the JSON object in a field that must be its text."""
    text = description.get(field)
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise RecordError(resource, field, text, "the JSON text of an object") from error
    if not isinstance(value, Mapping):
        raise RecordError(resource, field, text, "the JSON text of an object")
    return plain_json(value, resource, field)


def _one_of(words: Iterable[str]) -> str:
    """Return what is allowed: one of these words, or the only one."""
    listed = list(words)
    return listed[0] if len(listed) == 1 else "one of " + ", ".join(listed)


def _checked(found: str, field: str, resource: str, named: str = "") -> str:
    if allowed := wrong_form(found, field):
        raise RecordError(resource, named or field, found, allowed)
    return found


def _inside(value: object, resource: str, field: str) -> Iterator[object]:
    """Yield the keys and values directly inside a value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise RecordError(resource, field, key, "an object whose names are strings")
            yield key
            yield inner
    elif isinstance(value, list):
        yield from value
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise RecordError(resource, field, value, "text without lone surrogates") from error
    elif value is not None and not isinstance(value, bool | int | float):
        raise RecordError(resource, field, value, "plain JSON")
