"""The six types of values in a runbook, and how the API shows them."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

TYPES = ("String", "StringList", "Integer", "Boolean", "StringMap", "MapList")
"""https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html."""


def fits(value: Any, type_name: str) -> bool:  # noqa: ANN401  # any JSON value
    """Return True if a value is of a type already."""
    return CHECKS[type_name](value)


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
