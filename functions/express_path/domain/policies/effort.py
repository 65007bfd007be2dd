"""How much work a policy may cost, so that a hostile one ends with an error and not with a timeout."""

from dataclasses import dataclass

from express_path.errors import PolicyError

MOST_STEPS = 600_000
"""What takes about a second. Policies of the size that AWS accepts take a hundredth of that."""


@dataclass(slots=True)
class Effort:
    """The steps that judging one policy still may take."""

    source: str
    steps: int = MOST_STEPS

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raise PolicyError if there were too many."""
        self.steps -= steps
        if self.steps < 0:
            raise PolicyError(self.source, "its conditions have too many combinations to try them all")
