"""A runbook as data: an Automation document that was read and checked.

https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from config_rule_sandbox.ssm.selectors import Selector

ABORT = "Abort"
CONTINUE = "Continue"
DEFAULT_MAX_ATTEMPTS = 1


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a runbook. `default` is None where a value must be given; no type has a null value."""

    name: str
    type: str
    default: Any = None
    allowed_values: Sequence[Any] = ()
    allowed_pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """An output that the author of a runbook defines: a name, where in the response it is, and its type."""

    name: str
    selector: Selector
    type: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `on_failure` is Abort, Continue or the name of a step. `inner` are the steps of a loop."""

    name: str
    action: str
    inputs: Mapping[str, Any]
    outputs: Sequence[Output] = ()
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    timeout_seconds: int | None = None
    on_failure: str = ABORT
    is_critical: bool = True
    is_end: bool = False
    next_step: str | None = None
    inner: Sequence["Step"] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A runbook that passed all checks."""

    steps: Mapping[str, Step]
    assume_role: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    outputs: Sequence[str] = ()

    def following(self, name: str) -> str | None:
        """Return the name of the step that is written below another one, or None below the last."""
        names = list(self.steps)
        index = names.index(name) + 1
        return names[index] if index < len(names) else None
