"""Reading fields of AWS's descriptions strictly: what is missing or of another type is named, never guessed."""

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from express_path.domain.network.addresses import Cidr, parse_cidr
from express_path.errors import RecordError

Description = Mapping[str, Any]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What no id holds, and what a terminal would obey if a dump brought it along."""


class Identified(Protocol):
    """A record with an id, under which it is kept."""

    @property
    def id(self) -> str:
        """The id that AWS gave the resource."""


Record = TypeVar("Record", bound=Identified)


def identifier(description: Description, field: str, resource: str) -> str:
    """A field that must be an id or a word of AWS's own: a string with something in it, no control character."""
    return _without_control(free_text(description, field, resource), field, resource)


def free_text(description: Description, field: str, resource: str) -> str:
    """A field that must be a string with something in it, whatever that is: people choose it."""
    found = description.get(field)
    if not isinstance(found, str) or not found:
        raise RecordError(resource, field, found, "a non-empty string")
    return found


def optional_identifier(description: Description, field: str, resource: str) -> str:
    """A field that must be an id or a word of AWS's own; empty where it is absent or null."""
    return _without_control(optional_free_text(description, field, resource), field, resource)


def optional_free_text(description: Description, field: str, resource: str) -> str:
    """A field that must be a string, whatever that is: people choose it; empty where it is absent or null."""
    found = description.get(field)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise RecordError(resource, field, found, "a string")
    return found


def flag(description: Description, field: str, resource: str) -> bool:
    """A field that must be true or false; absent or null means false."""
    found = description.get(field)
    if found is None or isinstance(found, bool):
        return bool(found)
    raise RecordError(resource, field, found, "true or false")


def number(description: Description, field: str, resource: str) -> int | None:
    """A field that must be a whole number; None where it is absent or null."""
    found = description.get(field)
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    raise RecordError(resource, field, found, "a whole number")


def rows(description: Description, field: str, resource: str) -> list[Description]:
    """A field that must be a list of objects; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise RecordError(resource, field, found, "a list of objects")
    return found


def nested(description: Description, field: str, resource: str) -> Description:
    """A field that must be an object; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise RecordError(resource, field, found, "an object")
    return found


def ids(description: Description, field: str, resource: str) -> tuple[str, ...]:
    """A field that must be a list of ids; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(each, str) and not _has_control(each) for each in found):
        raise RecordError(resource, field, found, "a list of ids, without control characters")
    return tuple(found)


def block(value: object, field: str, resource: str) -> Cidr:
    """A field that must be a CIDR block."""
    try:
        return parse_cidr(str(value))
    except ValueError as error:
        raise RecordError(resource, field, value, "a CIDR block such as 10.0.0.0/16") from error


def _without_control(found: str, field: str, resource: str) -> str:
    if _has_control(found):
        raise RecordError(resource, field, found, "a string without control characters")
    return found


def _has_control(found: str) -> bool:
    return not found.isprintable() and _CONTROL.search(found) is not None
