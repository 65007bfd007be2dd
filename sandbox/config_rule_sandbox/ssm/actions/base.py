"""The parts of an action: a check of a step before anything runs, and the function that runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from config_rule_sandbox.answers import Answers
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.knobs import Knobs
from config_rule_sandbox.ssm.shapes import Types


class Running(Protocol):
    """The part of an execution that an action may use."""

    @property
    def step(self) -> Step:
        """The step that is being run."""

    @property
    def knobs(self) -> Knobs:
        """The settings of the executor."""

    @property
    def answers(self) -> Answers:
        """What AWS does where its documentation leaves that open."""

    @property
    def signals(self) -> "Signals":
        """The approvals and rejections that were sent to this step."""

    def client(self, service: str) -> Client:
        """Return a boto3 client that acts with the permissions of the runbook's role."""

    def pause(self, seconds: float) -> None:
        """Wait some seconds of AWS's clock; raises InterruptedStepError if the execution is stopped meanwhile."""

    def waiting(self) -> None:
        """Mark the step as waiting for a person."""


class Signals(Protocol):
    """What approvers have decided."""

    def decisions(self) -> list[tuple[str, str]]:
        """Return pairs of the approver's ARN and `Approve` or `Reject`, in order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step: the response that its outputs are selected from, and where a branch jumps to.

    `predefined` has values of predefined outputs that are not simply what the response has under their names.
    """

    response: Mapping[str, Any] = field(default_factory=dict)
    next_step: str | None = None
    predefined: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Action:
    """One action of Automation.

    `predefined_outputs` are types by name. `seconds` is how long a step may take if it says nothing, on AWS's clock if
    the action waits by `pause`, else in real seconds.
    """

    check: Callable[[Step, Types], None]
    run: Callable[[Mapping[str, Any], Running], Outcome]
    predefined_outputs: Mapping[str, str] = field(default_factory=dict)
    defines_outputs: bool = False
    seconds: float | None = None
    waits: bool = False


def place(step: Step) -> str:
    """Return the name of a step's inputs, for a fault."""
    return f"mainSteps.{step.name}.inputs"


def check_keys(step: Step, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Raise FaultyDocumentError for an input that the action does not have, or one that is missing."""
    for key in step.inputs:
        if key not in required + optional:
            raise FaultyDocumentError(place(step), f"unknown input {key}")
    for key in required:
        if key not in step.inputs:
            raise FaultyDocumentError(place(step), f"the input {key} is missing")
