"""What does not work of an installation, besides the evaluation itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not work: which component, and what is wrong with it, in a sentence."""

    component: str
    problem: str
