"""The six types of values in a runbook, how one becomes another, and how the API shows them."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

TYPES = ("String", "StringList", "Integer", "Boolean", "StringMap", "MapList")
"""https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html."""


def fits(value: Any, type_name: str) -> bool:  # noqa: ANN401  # any JSON value
    """Return True if a value is of a type already."""
    return CHECKS[type_name](value)


def convert(value: Any, type_name: str) -> Any:  # noqa: ANN401  # any JSON value in, any out
    """Return a selected value as the type that its output declares. ValueError if Automation cannot convert it.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html lists the
    conversions: String to StringList, Integer and Boolean; Integer and Boolean to String and StringList; a list of one
    element to String, Integer or Boolean.
    """
    if fits(value, type_name):
        return value
    if isinstance(value, list) and len(value) == 1 and type_name in ("String", "Integer", "Boolean"):
        return convert(value[0], type_name)
    if isinstance(value, str | int):
        if type_name == "String":
            return text(value)
        if type_name == "StringList":
            return [text(value)]
    if isinstance(value, str) and type_name in FROM_TEXT:
        return FROM_TEXT[type_name](value)
    raise ValueError(f"{json.dumps(value)} is not a {type_name}")


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever botocore parsed
    """Return a response of botocore as JSON has it: times become ISO 8601 text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def text(value: Any) -> str:  # noqa: ANN401  # any JSON value
    """Return a value as it stands inside a longer string: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), default=str)


def shown(value: Any) -> list[str]:  # noqa: ANN401  # any JSON value
    """Return a value as the API's AutomationParameterMap has it: a list of strings (botocore model)."""
    return [text(item) for item in value] if isinstance(value, list) else [text(value)]


def _boolean(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(f"{value!r} is not a Boolean")
    return value.lower() == "true"


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kind) for item in value)


CHECKS: dict[str, Callable[[Any], bool]] = {
    "String": lambda value: isinstance(value, str),
    "Integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "Boolean": lambda value: isinstance(value, bool),
    "StringList": _is_list_of(str),
    "StringMap": lambda value: isinstance(value, dict),
    "MapList": _is_list_of(dict),
}

FROM_TEXT: dict[str, Callable[[str], Any]] = {"Integer": int, "Boolean": _boolean}
