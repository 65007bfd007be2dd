"""Simulated time: actions that are due at a time, carried out in order. Nothing waits."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Action = Callable[[], object]


class Timeline:
    """The actions that are due, and the simulated time in seconds."""

    def __init__(self) -> None:
        """Begin at zero with nothing due."""
        self.now = 0.0
        self._due: list[tuple[float, int, Action]] = []
        self._numbers = count()

    def after(self, seconds: float, action: Action) -> None:
        """Carry out an action after some seconds."""
        heappush(self._due, (self.now + seconds, next(self._numbers), action))

    def run(self) -> None:
        """Carry out all actions in the order of their times, with those that they add."""
        while self._due:
            self.now, _, action = heappop(self._due)
            action()
