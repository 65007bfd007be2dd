"""Read fields of AWS's descriptions strictly: a missing or invalid field raises RecordError, which names it."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeGuard, TypeVar

from express_path.domain.network.addresses import Cidr, parse_cidr
from express_path.domain.network.ids import wrong_form
from express_path.errors import RecordError

Description = Mapping[str, Any]


class Identified(Protocol):
    """A record with an id."""

    @property
    def id(self) -> str:
        """The id that AWS gave the resource."""


Record = TypeVar("Record", bound=Identified)


def identifier(description: Description, field: str, resource: str) -> str:
    """Return a field that must be an id of the field's form, or an AWS keyword: a string without control characters."""
    return _checked(free_text(description, field, resource), field, resource)


def free_text(description: Description, field: str, resource: str) -> str:
    """Return a field that must be a non-empty string with any content, such as a name that a person chose."""
    found = description.get(field)
    if not isinstance(found, str) or not found:
        raise RecordError(resource, field, found, "a non-empty string")
    return found


def optional_identifier(description: Description, field: str, resource: str) -> str:
    """Return a field that must be an id or an AWS keyword, empty if it is absent or null."""
    found = optional_free_text(description, field, resource)
    return _checked(found, field, resource) if found else ""


def optional_free_text(description: Description, field: str, resource: str) -> str:
    """Return a field that must be a string with any content, empty if it is absent or null."""
    found = description.get(field)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise RecordError(resource, field, found, "a string")
    return found


def flag(description: Description, field: str, resource: str) -> bool:
    """Return a field that must be true or false; absent or null means false."""
    found = description.get(field)
    if found is None or isinstance(found, bool):
        return bool(found)
    raise RecordError(resource, field, found, "true or false")


def number(description: Description, field: str, resource: str) -> int | None:
    """Return a field that must be a whole number, None if it is absent or null."""
    found = description.get(field)
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    raise RecordError(resource, field, found, "a whole number")


def rows(description: Description, field: str, resource: str) -> list[Description]:
    """Return a field that must be a list of objects; absent or null means empty."""
    found = description.get(field)
    if found is None or found == []:
        return []
    if not are_objects(found):
        raise RecordError(resource, field, found, "a list of objects")
    return found


def are_objects(found: object) -> TypeGuard[list[Description]]:
    """Return whether a value is a list of JSON objects; JSON and boto3 have no other types for them."""
    return isinstance(found, list) and {dict}.issuperset(map(type, found))


def nested(description: Description, field: str, resource: str) -> Description:
    """Return a field that must be an object; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise RecordError(resource, field, found, "an object")
    return found


def ids(description: Description, field: str, resource: str) -> tuple[str, ...]:
    """Return a field that must be a list of ids or keywords, such as SubnetIds; absent or null means empty."""
    found = description.get(field)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(value, str) and value for value in found):
        raise RecordError(resource, field, found, "a list of ids")
    for value in found:
        if allowed := wrong_form(value, field.removesuffix("s")):
            raise RecordError(resource, field, value, allowed)
    return tuple(found)


def block(value: object, field: str, resource: str) -> Cidr:
    """Return a field that must be a CIDR block."""
    try:
        return parse_cidr(str(value))
    except ValueError as error:
        raise RecordError(resource, field, value, "a CIDR block such as 10.0.0.0/16") from error


def _checked(found: str, field: str, resource: str) -> str:
    if allowed := wrong_form(found, field):
        raise RecordError(resource, field, found, allowed)
    return found


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector; also a decorator.

    Reading a whole account or a dump makes many records and drops few, so collecting garbage in the meantime takes a
    fifth of the time (`python -m benchmarks sweep`) and frees almost nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
