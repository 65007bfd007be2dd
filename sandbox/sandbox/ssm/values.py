"""Values in a runbook: their types, the selectors that find them, and the references that name them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# --- values --------------------------------------------------------------------------------------------------------
#
# The six types of values in a runbook, how one becomes another, and how the API shows them.


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


# --- selectors -----------------------------------------------------------------------------------------------------
#
# JSONPath of runbooks: children and list indexes. AWS also has deep scans.
#
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html


TOKEN = re.compile(r"\.(?P<child>[A-Za-z_][\w-]*)|\[(?P<index>\d+)\]")


NO_OUTPUT = "No output available yet because the step is not successfully executed"
"""The value of an output whose step did not succeed, or whose selector found nothing. Later steps see this text.

The AWS CLI's examples of describe-automation-executions show it, and the README of Automated Security Response on AWS.
"""


@dataclass(frozen=True, slots=True)
class Child:
    """`.name`: the value of one key of an object."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`[n]`: one item of a list, counted from 0."""

    number: int


Part = Child | Index


@dataclass(frozen=True, slots=True)
class Selector:
    """A JSONPath expression that was read: `$` and its parts."""

    text: str
    parts: tuple[Part, ...]

    def select(self, response: Any) -> Any:  # noqa: ANN401  # any JSON value in, any out
        """Return what the expression selects of a response, None if a child or an item is missing."""
        found = response
        for part in self.parts:
            found = _step(found, part)
        return found


def parse_selector(text: str) -> Selector:
    """Read a JSONPath expression. ValueError if it is not one, or has operators that are not supported here."""
    if not text.startswith("$"):
        raise ValueError(f"the JSONPath expression {text!r} does not begin with $")
    parts: list[Part] = []
    position = 1
    while position < len(text):
        token = TOKEN.match(text, position)
        if token is None:
            raise ValueError(f"the JSONPath expression {text!r} is not understood from {text[position:]!r} on")
        parts.append(_part(token))
        position = token.end()
    return Selector(text, tuple(parts))


def _part(token: re.Match[str]) -> Part:
    return Child(token["child"]) if token["child"] else Index(int(token["index"]))


def _step(value: Any, part: Part) -> Any:  # noqa: ANN401  # any JSON value
    match part, value:
        case Child(name), dict():
            return value.get(name)
        case Index(number), list() if number < len(value):
            return value[number]
    return None


# --- references ----------------------------------------------------------------------------------------------------
#
# `{{ ... }}` in a runbook: what it may refer to, and what replaces it.
#
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-variables.html


REFERENCE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")

EXECUTION_ID = "automation:EXECUTION_ID"
"""The one system variable that is supported here, a string."""

Lookup = Callable[[str], Any]


def references(value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON value
    """Yield what every `{{ ... }}` in a value refers to. ValueError for braces that are no reference."""
    if isinstance(value, str):
        if "{{" in REFERENCE.sub("", value):
            raise ValueError(f"{value!r} has braces that are no reference")
        yield from (match[1] for match in REFERENCE.finditer(value))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from references(item)


def only_reference(value: Any) -> str | None:  # noqa: ANN401  # any JSON value
    """Return what a string refers to that is nothing but one `{{ ... }}`, None for anything else."""
    match = REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1] if match else None


def resolve(value: Any, lookup: Lookup) -> Any:  # noqa: ANN401  # any JSON value in, any out
    """Return a value with every reference replaced by what `lookup` returns for it.

    A string that is one reference becomes the value itself, of its own type; within a longer string its text is put
    in. The replacement is not expanded again, as in AWS.
    """
    if isinstance(value, dict):
        return {key: resolve(item, lookup) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, lookup) for item in value]
    if not isinstance(value, str):
        return value
    whole = only_reference(value)
    if whole is not None:
        return lookup(whole)
    return REFERENCE.sub(lambda match: text(lookup(match[1])), value)
