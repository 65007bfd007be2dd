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

_Seen = TypeVar("_Seen")


def look_until(look: Callable[[], _Seen], expected: Callable[[_Seen], bool]) -> _Seen:
    """What a look shows once it is as expected, else what the last of several looks shows."""
    seen = look()
    for _ in range(ATTEMPTS - 1):
        if expected(seen):
            break
        time.sleep(SECONDS_APART)
        seen = look()
    return seen
