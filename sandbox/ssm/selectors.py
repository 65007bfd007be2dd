"""JSONPath, as far as AWS documents it for runbooks: children, deep scans and list indexes.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

import re
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(r"(?P<deep>\.\.)(?P<scanned>[A-Za-z_][\w-]*)|\.(?P<child>[A-Za-z_][\w-]*)|\[(?P<index>\d+)\]")


class _Absent:
    """What a selector finds where there is nothing; as text, nothing."""

    def __str__(self) -> str:
        return ""


ABSENT = _Absent()
"""The one value of its kind."""


@dataclass(frozen=True)
class Child:
    """`.name`: the value of one key of an object."""

    name: str


@dataclass(frozen=True)
class Deep:
    """`..name`: the values of a key anywhere below, always as a list."""

    name: str


@dataclass(frozen=True)
class Index:
    """`[n]`: one item of a list, counted from 0."""

    number: int


Part = Child | Deep | Index


@dataclass(frozen=True)
class Selector:
    """A JSONPath expression that was read: `$` and its parts."""

    text: str
    parts: tuple[Part, ...]

    @property
    def scans(self) -> bool:
        """True if there is a deep scan in it, so that it always selects a list."""
        return any(isinstance(part, Deep) for part in self.parts)

    def select(self, response: Any) -> Any:  # noqa: ANN401 - any JSON value in, any out
        """Return what the expression selects of a response, ABSENT if a child or an item is not there."""
        found = [response]
        for part in self.parts:
            found = [value for each in found for value in _step(each, part)]
        if self.scans:
            return found
        return found[0] if found else ABSENT


def parse(text: str) -> Selector:
    """Read a JSONPath expression. ValueError if it is none, or uses operators that AWS does not document."""
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
    if token["deep"]:
        return Deep(token["scanned"])
    return Child(token["child"]) if token["child"] else Index(int(token["index"]))


def _step(value: Any, part: Part) -> list[Any]:  # noqa: ANN401 - any JSON value
    match part, value:
        case Child(name), dict():
            return [value[name]] if name in value else []
        case Index(number), list():
            return value[number : number + 1]
        case Deep(name), dict() | list():
            return list(_scan(value, name))
    return []


def _scan(value: Any, name: str) -> list[Any]:  # noqa: ANN401 - any JSON value
    """Return the values of a key in `value` and everything below it."""
    here = [value[name]] if isinstance(value, dict) and name in value else []
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return here + [found for each in below for found in _scan(each, name)]
