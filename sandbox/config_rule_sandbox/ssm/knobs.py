"""What a test can set for Automation: how fast time passes, when the executor dies, which calendars are open."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Killing:
    """A death of the executor before a step, or during it: its call took effect and no outcome was recorded.

    `status` is what the API shows from then on: Cancelled, TimedOut, or InProgress without end.
    """

    before: str | None = None
    during: str | None = None
    status: str = "Cancelled"


class Trouble(StrEnum):
    """What can go wrong with a step."""

    FAILS = "fails"
    """The action is not performed, and the step fails."""
    NO_ANSWER = "no answer"
    """The action takes effect, and the step fails, because the answer is lost."""
    TWICE = "twice"
    """The action is performed twice; the second outcome is that of the step."""
    KILLED = "killed"
    """The action takes effect, and the execution ends as Cancelled."""


@dataclass(slots=True)
class Disturbance:
    """A trouble of one step in every execution of one runbook; `met` says whether an execution took the step."""

    document: str
    step: str
    trouble: Trouble
    met: bool = False


@dataclass
class Knobs:
    """Settings of the executor, read while it runs; `reset()` turns them back to these defaults."""

    time_scale: float = 0.01
    """Real seconds that one second of AWS's waiting takes here: for aws:sleep, approvals, and secondary runbooks."""

    limit_scale: float = 10
    """Real seconds that one second of a step's time limit takes here: this machine may be busy, or slower than AWS."""

    killing: Killing | None = None
    """At which step the executor dies: set by `Automation.killing`."""

    disturbance: Disturbance | None = None
    """What goes wrong, and at which step: set by `Automation.disturbing`."""

    before_step: Callable[[str, str], None] | None = None
    """Called with the name of the runbook and of the step before an execution takes a step."""

    lambda_selectors: bool = True
    """If true, outputs with selectors such as `$.Payload.name` work on aws:invokeLambdaFunction; not documented."""

    closed_calendars: set[str] = field(default_factory=set)
    """Names of the change calendars that are closed now."""

    open_calendars: set[str] = field(default_factory=set)
    """Names of the change calendars that are open now. A calendar in neither set does not exist."""

    def reset(self) -> None:
        """Turn every knob back to its default."""
        default = Knobs()
        for knob in fields(self):
            setattr(self, knob.name, getattr(default, knob.name))
