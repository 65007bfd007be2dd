"""Parameters of a runbook: their definitions, and the values that an execution is started with.

https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.ssm.document import Parameter
from config_rule_sandbox.ssm.faults import FaultyDocumentError, InvalidParametersError
from config_rule_sandbox.ssm.values import fits, text

PROPERTIES = {
    "type": "String",
    "description": "String",
    "default": None,
    "allowedValues": None,
    "allowedPattern": "String",
}
"""Properties of a parameter and their types, None where that depends on the parameter's own."""

TYPES = ("String", "StringList")
"""The types of parameters that are supported here. AWS has four more."""

NOT_RE2 = re.compile(r"\(\?<?[=!]|\\[1-9]|\(\?P=")
"""Lookaround and references back, which the RE2 syntax of allowedPattern lacks."""


def read(name: str, definition: Any) -> Parameter:  # noqa: ANN401  # whatever the document has there
    """Return a parameter as defined in a runbook. FaultyDocumentError where the definition is not in order.

    A default has to fit its own pattern and values; whether AWS checks that is not documented.
    """
    where = f"parameters.{name}"
    _check_properties(where, definition)
    parameter = Parameter(
        name,
        definition["type"],
        default=definition.get("default"),
        allowed_values=definition.get("allowedValues", ()),
        allowed_pattern=definition.get("allowedPattern"),
    )
    if parameter.default is not None:
        fault = fault_of(parameter, parameter.default)
        if fault:
            raise FaultyDocumentError(f"{where}.default", fault)
    return parameter


def supplied(parameters: Mapping[str, Parameter], given: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the value of every parameter, out of those of StartAutomationExecution and the defaults.

    The API has every value as a list of strings. InvalidParametersError if one is unknown, missing, or not allowed.
    """
    unknown = sorted(set(given) - set(parameters))
    if unknown:
        raise InvalidParametersError(f"Unknown parameters: [{', '.join(unknown)}].")
    missing = sorted(name for name, parameter in parameters.items() if name not in given and parameter.default is None)
    if missing:
        raise InvalidParametersError(f"Missing required parameters: [{', '.join(missing)}].")
    return {
        name: _value(parameter, given[name]) if name in given else parameter.default
        for name, parameter in parameters.items()
    }


def fault_of(parameter: Parameter, value: Any) -> str | None:  # noqa: ANN401  # any JSON value
    """Return why a value is not allowed for a parameter, or None if it is."""
    if not fits(value, parameter.type):
        return f"{json.dumps(value)} is not a {parameter.type}"
    for item in value if isinstance(value, list) else [value]:
        if parameter.allowed_values and item not in parameter.allowed_values:
            return f"value {text(item)!r} not found in [{', '.join(map(text, parameter.allowed_values))}]"
        if parameter.allowed_pattern and not re.fullmatch(parameter.allowed_pattern, text(item)):
            return f"value {text(item)!r} does not match {parameter.allowed_pattern}"
    return None


def _value(parameter: Parameter, given: list[str]) -> Any:  # noqa: ANN401  # the value of a parameter has its type
    try:
        value = _read_values(parameter.type, given)
    except ValueError as error:
        raise InvalidParametersError(f'Parameter "{parameter.name}" is not a {parameter.type}: {error}.') from error
    fault = fault_of(parameter, value)
    if fault:
        raise InvalidParametersError(f'Parameter "{parameter.name}" has {fault}.')
    return value


def _read_values(type_name: str, given: list[str]) -> Any:  # noqa: ANN401  # the value of a parameter has its type
    if type_name == "StringList":
        return list(given)
    if len(given) != 1:
        raise ValueError(f"{len(given)} values were given, one is expected")
    return given[0]


def _check_properties(where: str, definition: Any) -> None:  # noqa: ANN401  # whatever the document has there
    if not isinstance(definition, dict):
        raise FaultyDocumentError(where, "it is not a map")
    for key, value in definition.items():
        if key not in PROPERTIES:
            raise FaultyDocumentError(where, f"unknown property {key}")
        expected = PROPERTIES[key]
        if expected and not fits(value, expected):
            raise FaultyDocumentError(f"{where}.{key}", f"{value!r} is not a {expected}")
    if definition.get("type") not in TYPES:
        raise FaultyDocumentError(f"{where}.type", f"{definition.get('type')!r} is not one of {', '.join(TYPES)}")
    if not isinstance(definition.get("allowedValues", []), list):
        raise FaultyDocumentError(f"{where}.allowedValues", "it is not a list")
    _check_pattern(f"{where}.allowedPattern", definition.get("allowedPattern", ""))


def _check_pattern(where: str, pattern: str) -> None:
    """Raise FaultyDocumentError for a pattern that is malformed or outside RE2."""
    if NOT_RE2.search(pattern):
        raise FaultyDocumentError(where, f"{pattern} uses lookaround or a reference back, which RE2 lacks")
    try:
        re.compile(pattern)
    except re.error as error:
        raise FaultyDocumentError(where, f"{pattern}: {error}") from error
