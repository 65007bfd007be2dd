"""Patterns with * and ?, as policies have them: what they match, and examples of what they match."""

import re
from collections.abc import Iterable
from functools import cache

FILLER = "0"
"""What an example has in place of * and ?: unlikely to be in another pattern by chance."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(character) or re.escape(character) for character in pattern), re.DOTALL)


def is_like(value: str, pattern: str) -> bool:
    """Return whether a value matches a pattern. Unlike in a shell, brackets have no meaning."""
    return _compiled(pattern).fullmatch(value) is not None


def is_like_arn(value: str, pattern: str) -> bool:
    """Compare the six parts of two ARNs: a * does not match the colon between parts.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html#Conditions_ARN
    """
    parts, patterns = value.split(":", 5), pattern.split(":", 5)
    return len(parts) == len(patterns) and all(map(is_like, parts, patterns))


@cache
def example(one: str, other: str = "*") -> str | None:
    """Return a value that matches both patterns; None if there is none."""
    steps: dict[tuple[int, int], tuple[str, int, int]] = {(len(one), len(other)): ("", 0, 0)}
    """By position in both patterns: the next character of a value that matches the rest of both, and the next position."""
    for at in range(len(one), -1, -1):
        for other_at in range(len(other), -1, -1):
            for step in _steps(one[at : at + 1], other[other_at : other_at + 1]):
                if (at, other_at) not in steps and (at + step[1], other_at + step[2]) in steps:
                    steps[at, other_at] = step
    if (0, 0) not in steps:
        return None
    found, at, other_at = "", 0, 0
    while (at, other_at) != (len(one), len(other)):
        character, ahead, other_ahead = steps[at, other_at]
        found, at, other_at = found + character, at + ahead, other_at + other_ahead
    return found


def _steps(here: str, there: str) -> list[tuple[str, int, int]]:
    """Return how two patterns can go on together: the next character, and how far each of them moves."""
    if here == "*" and there == "*":
        return [(FILLER, 1, 0), (FILLER, 0, 1)]
    if here == "*":
        return [("", 1, 0), *([(_shown(there), 0, 1)] if there else [])]
    if there == "*":
        return [("", 0, 1), *([(_shown(here), 1, 0)] if here else [])]
    if here and there and (here == there or "?" in (here, there)):
        return [(_shown(there if here == "?" else here), 1, 1)]
    return []


def _shown(character: str) -> str:
    return FILLER if character == "?" else character


def examples(patterns: Iterable[str]) -> list[str]:
    """Return examples of what each pattern matches, and each two of them together."""
    known = list(dict.fromkeys(patterns))
    found = [example(one, other) for number, one in enumerate(known) for other in ("*", *known[number + 1 :])]
    return list(dict.fromkeys(value for value in found if value is not None))
