"""The constraints of a service's model, checked on the server's side: lengths, ranges, patterns, enums."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape
from moto.core.utils import get_service_model


def violations(service: str, operation: str, parameters: dict[str, Any]) -> list[str]:
    """Return what in a request breaks the botocore model of its operation, each as one sentence, or an empty list."""
    shape = get_service_model(service).operation_model(operation).input_shape
    return list(_check(parameters, shape, "")) if shape else []


def _check(value: Any, shape: Shape, where: str) -> Iterator[str]:  # noqa: ANN401  # any JSON value
    yield from _check_size(value, shape, where)
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        missing = [name for name in shape.required_members if value.get(name) is None]
        yield from (f"Value null at '{where}{name}' failed to satisfy constraint: not null" for name in missing)
    for name, member, below in _members_of(value, shape):
        yield from _check(member, below, f"{where}{name}.")


def _members_of(value: Any, shape: Shape) -> Iterator[tuple[str, Any, Shape]]:  # noqa: ANN401  # any JSON value
    """Yield everything directly in a value: what to call it, the thing itself, and its shape."""
    match shape, value:
        case StructureShape(), dict():
            known = ((name, item) for name, item in value.items() if name in shape.members and item is not None)
            yield from ((name, member, shape.members[name]) for name, member in known)
        case ListShape(), list():
            yield from ((str(index), item, shape.member) for index, item in enumerate(value, 1))
        case MapShape(), dict():
            for key, member in value.items():
                yield from ((key, key, shape.key), (key, member, shape.value))


def _check_size(value: Any, shape: Shape, where: str) -> Iterator[str]:  # noqa: ANN401  # any JSON value
    limits, place = shape.metadata, where.rstrip(".")
    size = value if isinstance(value, int | float) else len(value)
    if "min" in limits and size < limits["min"]:
        yield f"Value at '{place}' failed to satisfy constraint: Member must have length or value >= {limits['min']}"
    if "max" in limits and size > limits["max"]:
        yield f"Value at '{place}' failed to satisfy constraint: Member must have length or value <= {limits['max']}"
    if "enum" in limits and value not in limits["enum"]:
        yield f"Value at '{place}' failed to satisfy constraint: Member must satisfy enum value set: {limits['enum']}"
    pattern = _pattern(limits.get("pattern"))
    if pattern and not pattern.fullmatch(value):
        yield f"Value at '{place}' failed to satisfy constraint: Member must satisfy pattern: {pattern.pattern}"


@cache
def _pattern(text: str | None) -> re.Pattern[str] | None:
    """Return a pattern of the model, or None for one with Java's classes of characters, which Python lacks."""
    return None if text is None or r"\p{" in text else re.compile(text)
