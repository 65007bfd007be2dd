"""One attempt at a step: its inputs, the action, its time limit, its outputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from config_rule_sandbox.answers import Answers
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ssm.actions import ACTIONS
from config_rule_sandbox.ssm.actions.base import Outcome
from config_rule_sandbox.ssm.document import Output, Step
from config_rule_sandbox.ssm.execution import (
    IN_PROGRESS,
    WAITING,
    Execution,
    StepRun,
)
from config_rule_sandbox.ssm.faults import InterruptedStepError, StepFailedError, StepTimedOutError
from config_rule_sandbox.ssm.knobs import Knobs
from config_rule_sandbox.ssm.references import resolve
from config_rule_sandbox.ssm.values import fits, text


@dataclass
class Attempt:
    """The part of an execution that an action sees; `make` runs the action."""

    execution: Execution
    run: StepRun
    knobs: Knobs
    client: Callable[[str], Client]
    _waited: float = 0.0
    _raised: list[BaseException] = field(default_factory=list)
    _outcome: Outcome = field(default_factory=Outcome)

    @property
    def step(self) -> Step:
        """The step that is being run."""
        return self.run.step

    @property
    def answers(self) -> Answers:
        """What AWS does where its documentation leaves that open."""
        return self.execution.answers

    @property
    def signals(self) -> Execution:
        """The approvals and rejections that were sent."""
        return self.execution

    def pause(self, seconds: float) -> None:
        """Wait seconds of AWS's clock. StepTimedOutError after the step's time, InterruptedStepError if cancelled."""
        limit = self._limit()
        over = limit is not None and self._waited + seconds > limit
        real = (limit - self._waited if over and limit else seconds) * self.knobs.time_scale
        if self.execution.cancelled.wait(real):
            raise InterruptedStepError
        self._waited += seconds
        if over:
            raise StepTimedOutError(f"Step timed out after {limit} seconds")

    def waiting(self) -> None:
        """Mark the step and the execution as waiting for a person."""
        self.run.status = self.execution.status = WAITING

    def make(self) -> str | None:
        """Run the action once and keep its outputs; return where a branch jumps to. StepFailedError if it fails."""
        self.run.inputs = resolve(self.step.inputs, self.execution.lookup)
        if ACTIONS[self.step.action].waits:
            self._act()
        else:
            self._act_in_time()
        self._raise()
        self.execution.status = self.run.status = IN_PROGRESS
        self.run.outputs = {**self._outputs(self._outcome.response), **self._outcome.predefined}
        return self._outcome.next_step

    def _act(self) -> None:
        try:
            self._outcome = ACTIONS[self.step.action].run(self.run.inputs, self)
        except BaseException as error:  # noqa: BLE001  # it is raised again where the step is run
            self._raised.append(error)

    def _act_in_time(self) -> None:
        """Run the action in another thread, so that it can be abandoned when its time is over."""
        limit = self._limit()
        worker = Thread(target=self._act, name=f"{self.execution.id}/{self.step.name}", daemon=True)
        worker.start()
        worker.join(limit and limit * self.knobs.limit_scale)
        if worker.is_alive():
            raise StepTimedOutError(f"Step timed out after {limit} seconds")

    def _raise(self) -> None:
        if self._raised:
            raise self._raised[0]

    def _limit(self) -> float | None:
        """Return how long the step may take, in seconds: what it says, up to what its action allows."""
        return self.step.timeout_seconds or ACTIONS[self.step.action].seconds

    def _outputs(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs by name: those of the action, then those that the runbook defines."""
        found = {
            name: text(response[name]) if kind == "String" else response[name]
            for name, kind in ACTIONS[self.step.action].predefined_outputs.items()
            if name in response
        }
        selected = {output.name: _select(output, response) for output in self.step.outputs}
        return {**found, **{name: value for name, value in selected.items() if value is not None}}


def _select(output: Output, response: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a value of any of the types
    """Return an output, None if it is not there. AWS converts some values to the declared type; the sandbox does not."""
    value = output.selector.select(response)
    if value is not None and not fits(value, output.type):
        raise StepFailedError(f"Output {output.name}: {text(value)} is not a {output.type}")
    return value
