"""JSONPath of runbooks: children of objects. AWS also has list indexes and deep scans.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

import re
from dataclasses import dataclass
from typing import Any

SELECTOR = re.compile(r"\$(\.[A-Za-z_][\w-]*)+")

NO_OUTPUT = "No output available yet because the step is not successfully executed"
"""The value of an output whose step did not succeed, or whose selector found nothing. Later steps see this text.

The AWS CLI's examples of describe-automation-executions show it, and the README of Automated Security Response on AWS.
"""


@dataclass(frozen=True, slots=True)
class Selector:
    """A JSONPath expression that was read: `$` and the names of children below each other."""

    text: str
    names: tuple[str, ...]

    def select(self, response: Any) -> Any:  # noqa: ANN401  # any JSON value in, any out
        """Return what the expression selects of a response, None if a child is missing."""
        found = response
        for name in self.names:
            found = found.get(name) if isinstance(found, dict) else None
        return found


def parse_selector(text: str) -> Selector:
    """Read a JSONPath expression. ValueError if it is not one, or has operators that are not supported here."""
    if not SELECTOR.fullmatch(text):
        raise ValueError(f"the JSONPath expression {text!r} is not understood: only children can be selected")
    return Selector(text, tuple(text.split(".")[1:]))
