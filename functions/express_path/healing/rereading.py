"""Read again what AWS may answer late, before something is decided."""

import time
from collections.abc import Callable
from typing import TypeVar

ATTEMPTS = 5
"""How often one invocation reads what a step changed: a late answer may show the state before it.

https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
"""
SECONDS_APART = 2
"""The pause between two reads."""
AGREEING = 3
"""How many reads in a row must agree before a decision that one late answer could spoil."""

_State = TypeVar("_State")


def read_until(read: Callable[[], _State], expected: Callable[[_State], bool]) -> _State:
    """Return the state once it is as expected, else the state that the last of ATTEMPTS reads shows."""
    return read_until_two_agree(read, lambda _before, _now: False, expected, ATTEMPTS)


def read_until_two_agree(
    read: Callable[[], _State],
    agree: Callable[[_State, _State], bool],
    expected: Callable[[_State], bool],
    attempts: int,
) -> _State:
    """Return the state if it is as expected, else the state on which two reads in a row agree.

    If no two reads agree, return what the last one shows.
    """
    state = read()
    for _ in range(attempts - 1):
        if expected(state):
            break
        time.sleep(SECONDS_APART)
        before, state = state, read()
        if agree(before, state):
            break
    return state


def read_settled(read: Callable[[], _State]) -> _State:
    """Return the state on which AGREEING reads in a row agree, else what the last read shows."""
    state = read()
    agreeing = 1
    for _ in range(2 * ATTEMPTS):
        if agreeing == AGREEING:
            break
        time.sleep(SECONDS_APART)
        before, state = state, read()
        agreeing = agreeing + 1 if state == before else 1
    return state
