"""Values in a runbook: their types, the selectors that find them, and the references that name them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# --- values --------------------------------------------------------------------------------------------------------
#
# The six types of values in a runbook, and how the API shows them.


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


# --- selectors -----------------------------------------------------------------------------------------------------
#
# JSONPath of runbooks: children of objects. AWS also has list indexes and deep scans.
#
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html


SELECTOR = re.compile(r"\$(\.[A-Za-z_][\w-]*)+")

NO_OUTPUT = "No output available yet because the step is not successfully executed"
"""The value of an output whose step did not succeed, or whose selector found nothing. Later steps see this text.

The AWS CLI's examples of describe-automation-executions show it, and the README of Automated Security Response on AWS.
"""


@dataclass(frozen=True, slots=True)
class Selector:
    """A JSONPath expression that was read: `$` and the names of children below each other."""

    text: str
    names: tuple[str, ...]

    def select(self, response: Any) -> Any:  # noqa: ANN401  # any JSON value in, any out
        """Return what the expression selects of a response, None if a child is missing."""
        found = response
        for name in self.names:
            found = found.get(name) if isinstance(found, dict) else None
        return found


def parse_selector(text: str) -> Selector:
    """Read a JSONPath expression. ValueError if it is not one, or has operators that are not supported here."""
    if not SELECTOR.fullmatch(text):
        raise ValueError(f"the JSONPath expression {text!r} is not understood: only children can be selected")
    return Selector(text, tuple(text.split(".")[1:]))


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
