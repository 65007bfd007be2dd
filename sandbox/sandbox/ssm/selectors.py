"""JSONPath of runbooks: children and list indexes. AWS also has deep scans.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

import re
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(r"\.(?P<child>[A-Za-z_][\w-]*)|\[(?P<index>\d+)\]")


class _Absent:
    """What a selector finds where there is nothing; as text, nothing."""

    def __str__(self) -> str:
        return ""


ABSENT = _Absent()
"""The one value of its kind."""


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
        """Return what the expression selects of a response, ABSENT if a child or an item is missing."""
        found = response
        for part in self.parts:
            found = _step(found, part)
        return found


def parse(text: str) -> Selector:
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


def _step(value: Any, part: Part) -> Any:  # noqa: ANN401  # any JSON value, or ABSENT
    match part, value:
        case Child(name), dict():
            return value.get(name, ABSENT)
        case Index(number), list() if number < len(value):
            return value[number]
    return ABSENT
