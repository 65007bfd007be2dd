"""One execution of a runbook and its steps, as GetAutomationExecution shows them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event, RLock
from typing import Any

from config_rule_sandbox.answers import Answers, MissingOutput
from config_rule_sandbox.ssm.document import Document, Step
from config_rule_sandbox.ssm.references import EXECUTION_ID
from config_rule_sandbox.ssm.selectors import NO_OUTPUT

PENDING = "Pending"
IN_PROGRESS = "InProgress"
WAITING = "Waiting"
SUCCESS = "Success"
FAILED = "Failed"
TIMED_OUT = "TimedOut"
CANCELLED = "Cancelled"
ENDED = (SUCCESS, FAILED, TIMED_OUT, CANCELLED)
"""Statuses: https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-statuses.html."""


def now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)


@dataclass
class StepRun:
    """A step of one execution: Pending until it begins; `outputs` lack what a selector did not find.

    `parent` is the loop that a step belongs to, and `iteration` counts its iterations from 1.
    """

    step: Step
    parent: "StepRun | None" = None
    iteration: int = 0
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = PENDING
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    failure: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    attempts: int = 0

    def begin(self) -> None:
        """Start the step."""
        self.status, self.started = IN_PROGRESS, now()

    def end(self, status: str, failure: str | None = None) -> None:
        """End the step in one of the statuses that are final."""
        self.status, self.failure, self.ended = status, failure, now()


@dataclass
class Execution:
    """One execution. `parameters` have the values of every parameter, `given` those of the request.

    `cancelled` is set when it is to stop at once.
    """

    document_name: str
    document_version: str
    document: Document
    parameters: Mapping[str, Any]
    given: Mapping[str, list[str]]
    executed_by: str
    account_id: str
    region: str
    answers: Answers
    assume_role: str = ""
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = PENDING
    failure: str | None = None
    started: datetime = field(default_factory=now)
    finished: datetime | None = None
    current: str | None = None
    steps: dict[str, StepRun] = field(default_factory=dict)
    signals: list[tuple[str, str]] = field(default_factory=list)
    cancelled: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        """Begin with every step pending. Of a step in a loop, only the last iteration is kept."""
        for name, step in self.document.steps.items():
            self.steps[name] = StepRun(step)
            self.steps |= {inner.name: StepRun(inner, self.steps[name]) for inner in step.inner}

    def decisions(self) -> list[tuple[str, str]]:
        """Return the approvals and rejections so far: the principal's ARN, and `Approve` or `Reject`."""
        with self.lock:
            return list(self.signals)

    def lookup(self, reference: str) -> Any:  # noqa: ANN401  # a value of any of the types
        """Return what a reference in the runbook stands for; what `absent` returns if there is no such value now."""
        if reference in self.parameters:
            return self.parameters[reference]
        if reference == EXECUTION_ID:
            return self.id
        name, _, output = reference.partition(".")
        step = self.steps[name]
        outputs = step.outputs if step.status == SUCCESS else {}
        return outputs[output] if output in outputs else self.absent(reference)

    def absent(self, reference: str) -> str:
        """Return what stands for an output that has no value."""
        match self.answers.missing_output:
            case MissingOutput.TEXT:
                return NO_OUTPUT
            case MissingOutput.EMPTY:
                return ""
            case MissingOutput.ABSENT:
                return f"{{{{ {reference} }}}}"

    def grow_older(self, age: timedelta) -> None:
        """Let the execution have started and ended earlier."""
        with self.lock:
            self.started -= age
            self.finished = self.finished and self.finished - age
            for step in self.steps.values():
                step.started = step.started and step.started - age
                step.ended = step.ended and step.ended - age

    def finish(self, status: str, failure: str | None = None) -> None:
        """End the execution."""
        with self.lock:
            self.status, self.failure, self.finished, self.current = status, failure, now(), None
            self.ended.set()
