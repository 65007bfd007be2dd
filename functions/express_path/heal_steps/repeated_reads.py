"""Looking again for what a step changed: EC2 shows a change within seconds, not at once.

https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
"""

import time
from collections.abc import Callable
from typing import TypeVar

ATTEMPTS = 5
"""How often one invocation looks for what a step changed."""
SECONDS_APART = 2
"""How long it waits between two looks."""
AGREEING = 3
"""How many looks in a row must show the same before something is decided that one late answer could spoil."""
TURN_LOOKS = 20
"""How often one invocation looks whether the run that claimed a route table has ended."""
TURN_SECONDS = 3
"""The pause between two of these looks."""

_Seen = TypeVar("_Seen")


def look_until(look: Callable[[], _Seen], expected: Callable[[_Seen], bool]) -> _Seen:
    """What a look shows once it is as expected, else what the last of several looks shows."""
    return look_twice(look, lambda before, seen: False, expected, ATTEMPTS)  # noqa: ARG005 -- only what is expected


def look_twice(
    look: Callable[[], _Seen],
    agree: Callable[[_Seen, _Seen], bool],
    expected: Callable[[_Seen], bool],
    attempts: int,
) -> _Seen:
    """What a look shows if it is as expected, else what two looks in a row agree on, so that no stale answer decides.

    Where no two of them agree, it is what the last one shows.
    """
    seen = look()
    for _ in range(attempts - 1):
        if expected(seen):
            break
        time.sleep(SECONDS_APART)
        before, seen = seen, look()
        if agree(before, seen):
            break
    return seen


def look_settled(look: Callable[[], _Seen]) -> _Seen:
    """What AGREEING looks in a row show, so that one late answer decides nothing; else what the last of many shows."""
    seen = look()
    agreeing = 1
    for _ in range(2 * ATTEMPTS):
        if agreeing == AGREEING:
            break
        time.sleep(SECONDS_APART)
        before, seen = seen, look()
        agreeing = agreeing + 1 if seen == before else 1
    return seen
