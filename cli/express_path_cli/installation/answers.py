"""The answers to the questions of a check-up, with a fix for each problem."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum


class State(StrEnum):
    """The states of a check, best first."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question: a finding in a sentence and, unless it is OK, a fix in words or as a command."""

    state: State
    finding: str
    fix: str = ""
    command: str = ""


def ok(finding: str) -> Answer:
    """Return an answer that everything works."""
    return Answer(State.OK, finding)


def warn(finding: str, fix: str, command: str = "") -> Answer:
    """Return an answer that something works, but not fully, or not for long."""
    return Answer(State.WARN, finding, fix, command)


def fail(finding: str, fix: str, command: str = "") -> Answer:
    """Return an answer that something does not work."""
    return Answer(State.FAIL, finding, fix, command)


def unknown(finding: str, fix: str) -> Answer:
    """Return an answer that the state could not be determined."""
    return Answer(State.UNKNOWN, finding, fix)


def count_text(number: int, noun: str) -> str:
    """Return a number of things, such as 1 subnet or 2 subnets."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def time_text(when: datetime) -> str:
    """Return a time for people: 2026-01-31 09:30 UTC."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def duration_text(span: timedelta) -> str:
    """Return a duration in its largest whole unit: 3 days, 5 hours, 12 minutes."""
    minutes = max(0, int(span.total_seconds() // 60))
    for unit, size in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * size:
            return count_text(minutes // size, unit)
    return count_text(minutes, "minute")
