"""The words that select the rows to show, and those that make a scan fail."""

from collections.abc import Sequence

from express_path.domain.path.reasons import Compliance, Reason
from express_path_cli.terminal.errors import OptionError, did_you_mean

NEVER = "never"
NEW = "new"
ALL = "all"
WORDS = (*Compliance, *Reason)
"""The words that select rows: each compliance and each reason."""


def parse_words(option: str, given: Sequence[str], *more: str) -> frozenset[str]:
    """Return compliances and reasons, which may be in any case. Raise OptionError for another word."""
    allowed = (*WORDS, *more)
    for word in given:
        if word.upper() not in allowed and word.lower() not in more:
            hint = did_you_mean(word, allowed) or f"must be one of {', '.join(allowed)}"
            raise OptionError(f"{option} {word}: unknown compliance or reason", hint)
    return frozenset(word.lower() if word.lower() in more else word.upper() for word in given)
