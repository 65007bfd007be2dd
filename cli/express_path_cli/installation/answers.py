"""The answers to the questions of a check-up, with a fix for each problem."""

from dataclasses import dataclass
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
