"""What a check-up says: an answer to each question, with what to do where it is not a good one."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """How a check came out, the best first."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


class Answer(NamedTuple):
    """The answer to one question: a finding in a sentence, and, where that is not OK, a fix in words or a command."""

    state: State
    finding: str
    fix: str = ""
    command: str = ""


def ok(finding: str) -> Answer:
    """All is well."""
    return Answer(State.OK, finding)


def warn(finding: str, fix: str, command: str = "") -> Answer:
    """It works, but not as well as it could, or not for long."""
    return Answer(State.WARN, finding, fix, command)


def fail(finding: str, fix: str, command: str = "") -> Answer:
    """It does not work."""
    return Answer(State.FAIL, finding, fix, command)


def unknown(finding: str, fix: str) -> Answer:
    """The state could not be determined, which is never good news."""
    return Answer(State.UNKNOWN, finding, fix)


def some(number: int, what: str) -> str:
    """A number of things, such as 1 subnet or 2 subnets."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def moment(when: datetime) -> str:
    """A moment as people read it: 2026-01-31 09:30 UTC."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def length(span: timedelta) -> str:
    """A span of time in its largest whole unit: 3 days, 5 hours, 12 minutes."""
    minutes = max(0, int(span.total_seconds() // 60))
    for unit, size in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * size:
            return some(minutes // size, unit)
    return some(minutes, "minute")
