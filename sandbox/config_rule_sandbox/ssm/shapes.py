"""Checks the inputs and selectors of a call in a runbook against botocore's model of the API, before anything runs."""

from functools import cache
from typing import Any, Protocol

from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.session import Session
from moto.core.utils import get_service_model

from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.references import only_reference
from config_rule_sandbox.ssm.selectors import Selector

TEXT_SHAPES = ("string", "char", "blob", "timestamp")
"""Types of the botocore model that a string can be given for."""

TYPE_OF_SHAPE = {
    "integer": "Integer",
    "long": "Integer",
    "boolean": "Boolean",
    "map": "StringMap",
    "structure": "StringMap",
}


class Types(Protocol):
    """Knows the types of what a runbook refers to."""

    def type_of(self, where: str, reference: str) -> str:
        """Return the type of what is referred to, or raise FaultyDocumentError."""


def operation_model(where: str, service: Any, api: Any) -> OperationModel:  # noqa: ANN401  # whatever the document has
    """Return the model of an API operation, by botocore's name of the service and the API's name of the operation."""
    if service not in _services():
        raise FaultyDocumentError(where, f"there is no service {service!r}")
    model: ServiceModel = get_service_model(service)
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
    for name in selector.names:
        found = found.members.get(name) if isinstance(found, StructureShape) else None
    if found is None:
        raise FaultyDocumentError(where, f"the response has nothing at {selector.text}")
    if type_name != _type_of(found):
        raise FaultyDocumentError(where, f"{selector.text} selects a {found.type_name}, not a {type_name}")


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


@cache
def _services() -> frozenset[str]:
    return frozenset(Session().get_available_services())
