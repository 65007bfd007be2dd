"""Patterns with * and ?, as policies have them: what they match, and values that show each way to match them."""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from express_path.domain.policies.effort import Effort

FILLER = "\ue000"
"""What a value has in place of * and ?: a character that no policy has."""
ARN = 5
"""The colons of an ARN that separate its parts. Every other colon is in the last part."""
ARN_WITHOUT_COLONS = 6
"""The same, for ARNs whose last part has no colons."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A pattern that reads a value one character at a time, so that no pattern takes long.

    A state is a set of positions in the pattern, one bit each: all those where the characters so far can lead. Each mask
    has the bits of the positions where a character moves ahead (expected, any_other) or where a * takes it (loops).
    shortest is a value that matches.
    """

    shortest: str
    expected: dict[str, int]
    any_other: int
    loops: int
    any_colon: int
    colon_loops: int
    end: int

    def step(self, state: int, character: str) -> int:
        """Return the state after one more character."""
        wild, loops = (self.any_colon, self.colon_loops) if character == ":" else (self.any_other, self.loops)
        return (state & (self.expected.get(character, 0) | wild)) << 1 | state & loops

    def normal(self, state: int) -> int:
        """Return a state without the positions before its last *, because everything is possible from there, too."""
        last = (state & self.colon_loops).bit_length()
        return state >> (last - 1) << (last - 1) if last else state

    def matches(self, value: str) -> bool:
        """Return whether a whole value matches."""
        state = 1
        for character in value:
            state = self.step(state, character)
            if not state:
                return False
        return bool(state & self.end)

    def next_characters(self, state: int) -> list[str]:
        """Return the characters that the pattern names at the positions of a state."""
        return [character for character, positions in self.expected.items() if state & positions]


@lru_cache(maxsize=64)  # a long pattern takes a megabyte
def compiled(text: str, colons_from: int = 0, *, any_case: bool = False) -> Pattern:
    """Return a pattern. Its * and ? match colons only after so many other colons: between the parts of ARNs, they do not.

    any_case: a pattern of a text without wildcards that matches the text in any case.
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html#Conditions_ARN
    """
    expected: dict[str, int] = {}
    wild, loops, any_colon, colon_loops, bit, colons = 0, 0, 0, 0, 1, 0
    for character in text:
        takes_colons = colons >= colons_from
        if character == "*" and not any_case:
            loops |= bit
            colon_loops |= bit if takes_colons else 0
            continue
        if character == "?" and not any_case:
            wild |= bit
            any_colon |= bit if takes_colons else 0
        else:
            for form in dict.fromkeys((character, character.lower(), character.upper())) if any_case else (character,):
                expected[form] = expected.get(form, 0) | bit
            colons += character == ":"
        bit <<= 1
    shortest = text if any_case else text.replace("*", "").replace("?", FILLER)
    return Pattern(shortest, expected, wild, loops, any_colon, colon_loops, bit)


def is_like(value: str, pattern: str, colons_from: int = 0) -> bool:
    """Return whether a value matches a pattern. Unlike in a shell, brackets have no meaning."""
    beginning = _WILD.split(pattern, 1)[0]
    return value.startswith(beginning) and compiled(pattern, colons_from).matches(value)


def is_like_arn(value: str, pattern: str) -> bool:
    """Return whether an ARN matches a pattern part by part."""
    return is_like(value, pattern, ARN)


def examples(
    patterns: Sequence[Pattern], literals: Iterable[str], effort: Effort, frames: Sequence[Pattern] = ()
) -> list[str]:
    """Return the literals, and a value for each set of patterns that a value other than these can match together.

    If there are frames, only values that match one of them count, and none matches two. The search goes through all values,
    the shortest first, and leaves out those that are in the same states as a shorter one. It ends once each set has a value.
    Raise PolicyError if there are too many.
    """
    machines = [*frames, *patterns]
    size = sum(machine.end.bit_length() // 8 for machine in machines)
    listed = sum(len(machine.expected) for machine in machines) // 16
    known = dict.fromkeys(text for text in literals if not frames or any(frame.matches(text) for frame in frames))
    in_order = sorted(known)
    by_ends: dict[tuple[bool, ...], str] = {}

    def note(value: str, ends: tuple[bool, ...]) -> None:
        if value and value not in known and (not frames or any(ends[: len(frames)])):
            by_ends.setdefault(ends, value)

    for value in (FILLER, *(machine.shortest for machine in machines)):
        effort.spend(len(value) * len(machines), len(value) * size // 4)
        note(value, tuple(machine.matches(value) for machine in machines))
    sets = max(len(frames), 1) * 2 ** len(patterns)
    seen: set[tuple[tuple[int, ...], str]] = set()
    waiting = deque([((1,) * len(machines), "")])
    while waiting and len(by_ends) < sets:
        states, value = waiting.popleft()
        effort.spend(listed, listed * size)
        note(value, tuple(bool(state & machine.end) for state, machine in zip(states, machines, strict=True)))
        characters = dict.fromkeys((FILLER, ":"))
        for state, machine in zip(states, machines, strict=True):
            characters.update(dict.fromkeys(machine.next_characters(state)))
        for character in characters:
            longer = value + character
            effort.spend(1 + len(machines), size + 2 * len(longer))
            after = tuple(m.normal(m.step(state, character)) for state, m in zip(states, machines, strict=True))
            place = bisect_left(in_order, longer)
            begins_literal = any(text.startswith(longer) for text in in_order[place : place + 1])
            key = (after, longer if begins_literal else "")
            if key not in seen and (not frames or any(after[: len(frames)])):
                seen.add(key)
                waiting.append((after, longer))
    return [*known, *by_ends.values()]


_WILD = re.compile(r"[*?]")


def is_wild(text: str) -> bool:
    """Return whether a text is a pattern that more than one value matches."""
    return _WILD.search(text) is not None
