"""Checks against botocore's models: the inputs and selectors of a runbook's calls, and the constraints of requests."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape
from botocore.session import Session

from sandbox.ssm.faults import FaultyDocumentError
from sandbox.ssm.values import Child, Index, Part, Selector, only_reference

# --- constraints ---------------------------------------------------------------------------------------------------
#
# The constraints of a service's model, checked on the server's side: lengths, ranges, patterns, enums.


def violations(service: str, operation: str, parameters: dict[str, Any]) -> list[str]:
    """Return what in a request breaks the botocore model of its operation, each as one sentence, or an empty list."""
    shape = _session().get_service_model(service).operation_model(operation).input_shape
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


@cache
def _session() -> Session:
    return Session()


# --- shapes --------------------------------------------------------------------------------------------------------
#
# Checks the inputs and selectors of a call in a runbook against botocore's model of the API, before anything runs.


TEXT_SHAPES = ("string", "char", "blob", "timestamp")
"""Types of the botocore model that a string can be given for."""

TYPE_OF_SHAPE = {
    "integer": "Integer",
    "long": "Integer",
    "boolean": "Boolean",
    "map": "StringMap",
    "structure": "StringMap",
}

CONVERTIBLE = {
    "String": ("String", "StringList", "Integer", "Boolean"),
    "Integer": ("Integer", "String", "StringList"),
    "Boolean": ("Boolean", "String", "StringList"),
    "StringList": ("StringList", "String"),
    "StringMap": ("StringMap",),
    "MapList": ("MapList",),
}
"""Types that a selected value of each type can have as an output.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""


class Types(Protocol):
    """Knows the types of what a runbook refers to."""

    def type_of(self, where: str, reference: str) -> str:
        """Return the type of what is referred to, or raise FaultyDocumentError."""


def operation_model(where: str, service: Any, api: Any) -> OperationModel:  # noqa: ANN401  # whatever the document has
    """Return the model of an API operation, by botocore's name of the service and the API's name of the operation."""
    if service not in _services():
        raise FaultyDocumentError(where, f"there is no service {service!r}")
    model = _session().get_service_model(service)
    if api not in model.operation_names:
        raise FaultyDocumentError(where, f"{service} has no operation {api!r}")
    operation = model.operation_model(api)
    if operation.has_streaming_input or operation.has_streaming_output:
        raise FaultyDocumentError(where, f"{api} streams, which aws:executeAwsApi does not support")
    return operation


def check_inputs(where: str, value: Any, shape: Shape | None, types: Types) -> None:  # noqa: ANN401  # any JSON value
    """Raise FaultyDocumentError where an input is unknown to the API, missing, or of a type that it does not take."""
    reference = only_reference(value)
    if shape is None:
        if value:
            raise FaultyDocumentError(where, f"the operation takes no inputs, not {sorted(value)}")
    elif reference is not None:
        kind = types.type_of(where, reference)
        if kind not in _accepted(shape):
            raise FaultyDocumentError(where, f"{value} is a {kind}, a {shape.type_name} is expected")
    else:
        _check_literal(where, value, shape, types)


def _check_literal(where: str, value: Any, shape: Shape, types: Types) -> None:  # noqa: ANN401  # any JSON value
    match shape, value:
        case StructureShape(), dict():
            _check_members(where, value, shape, types)
        case ListShape(), list():
            for index, item in enumerate(value):
                check_inputs(f"{where}[{index}]", item, shape.member, types)
        case MapShape(), dict():
            for key, member in value.items():
                check_inputs(f"{where}.{key}", member, shape.value, types)
        case _ if not _is_scalar(value, shape.type_name):
            raise FaultyDocumentError(where, f"{value!r} is not a {shape.type_name}")


def check_selector(where: str, selector: Selector, shape: Shape | None, type_name: str) -> None:
    """Raise FaultyDocumentError if the API's answer has nothing of the kind that a selector asks for."""
    found = shape
    for part in selector.parts:
        found = _below(found, part)
    if found is None:
        raise FaultyDocumentError(where, f"the response has nothing at {selector.text}")
    if type_name not in CONVERTIBLE[_type_of(found)]:
        raise FaultyDocumentError(where, f"{selector.text} selects a {found.type_name}, which cannot be a {type_name}")


def _check_members(where: str, value: dict[str, Any], shape: StructureShape, types: Types) -> None:
    for name, item in value.items():
        if name not in shape.members:
            raise FaultyDocumentError(where, f"unknown input {name}")
        check_inputs(f"{where}.{name}", item, shape.members[name], types)
    missing = sorted(set(shape.required_members) - set(value))
    if missing:
        raise FaultyDocumentError(where, f"the inputs {missing} are missing")


def _accepted(shape: Shape) -> tuple[str, ...]:
    """Return the types of a runbook's values that can stand for a shape."""
    if isinstance(shape, ListShape):
        return ("MapList",) if shape.member.type_name in ("structure", "map") else ("StringList",)
    return ("String",) if shape.type_name in TEXT_SHAPES else (TYPE_OF_SHAPE.get(shape.type_name, "Integer"),)


def _is_scalar(value: Any, type_name: str) -> bool:  # noqa: ANN401  # any JSON value
    if type_name in TEXT_SHAPES:
        return isinstance(value, str)
    if type_name == "boolean":
        return isinstance(value, bool)
    return isinstance(value, int) and type_name in ("integer", "long", "float", "double")


def _type_of(shape: Shape) -> str:
    if isinstance(shape, ListShape):
        return "MapList" if shape.member.type_name in ("structure", "map") else "StringList"
    return TYPE_OF_SHAPE.get(shape.type_name, "String")


def _below(shape: Shape | None, part: Part) -> Shape | None:
    match part, shape:
        case Child(name), StructureShape():
            return shape.members.get(name)
        case Child(), MapShape():
            return shape.value
        case Index(), ListShape():
            return shape.member
    return None


@cache
def _services() -> frozenset[str]:
    return frozenset(_session().get_available_services())
