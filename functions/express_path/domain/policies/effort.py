"""How much work policies may cost, so that hostile ones end with an error, and not with a timeout or without memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from express_path.errors import PolicyError

MOST_BYTES = 128 * 2**20
"""What one policy may take: about a second, and never more memory."""
MOST_BYTES_OF_PLAN = 3 * MOST_BYTES
"""What all policies of a plan may take together."""
_BYTES_OF_STEP = 200
"""What a step may keep, apart from texts. It takes about a microsecond."""
BYTES_OF_CHARACTER = 50
"""What stands for the time to read one character."""


@dataclass(slots=True)
class Effort:
    """The bytes that judging one policy still may take: they stand for memory, and for the time to fill it."""

    source: str
    left: int = MOST_BYTES

    def spend(self, steps: int = 1, size: int = 0) -> None:
        """Count steps, and bytes of texts. Raise PolicyError if there were too many."""
        self.left -= _BYTES_OF_STEP * steps + size
        if self.left < 0:
            raise PolicyError(self.source, "its conditions have too many combinations to try them all")

    def match(self, values: Sequence[str], patterns: Sequence[str]) -> None:
        """Count the match of each value with each pattern: in proportion to the product of their lengths."""
        value, pattern = sum(map(len, values)), sum(map(len, patterns))
        read = len(patterns) * value + len(values) * pattern
        self.spend(len(values) * len(patterns), BYTES_OF_CHARACTER * read + value * pattern // 32)
