"""Running an execution: one step after the other, with retries, jumps, time-outs, and an end for every case.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html,
https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-handling-timeouts.html
"""

from collections.abc import Callable
from dataclasses import dataclass

from config_rule_sandbox.answers import LoopFailure, UnapprovedStep
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ssm.actions.branch import holds
from config_rule_sandbox.ssm.attempt import Attempt
from config_rule_sandbox.ssm.document import ABORT, CONTINUE, Step
from config_rule_sandbox.ssm.execution import (
    CANCELLED,
    FAILED,
    IN_PROGRESS,
    SUCCESS,
    TIMED_OUT,
    Execution,
    StepRun,
)
from config_rule_sandbox.ssm.faults import (
    ApprovalRejectedError,
    InterruptedStepError,
    StepFailedError,
    StepTimedOutError,
)
from config_rule_sandbox.ssm.knobs import Knobs, Trouble
from config_rule_sandbox.ssm.order import after_success
from config_rule_sandbox.ssm.references import resolve

APPROVE = "aws:approve"
KILLED = "The executor was killed"

MakeClient = Callable[[str], Client]


class _KilledError(Exception):
    """The executor died, as a knob wanted; `status` is what the API shows of the execution afterward."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class _UnapprovedError(Exception):
    """A step that asks ended the execution, because it was rejected or expired; `status` and `failure` are its own."""

    def __init__(self, status: str, failure: str) -> None:
        super().__init__(failure)
        self.status = status
        self.failure = failure


def _names_step(step: Step) -> bool:
    """Return whether a failure of a step leads to a step that it names."""
    return step.on_failure not in (ABORT, CONTINUE)


@dataclass
class Engine:
    """Runs one execution to its end. `client` makes boto3 clients with the permissions of the execution."""

    execution: Execution
    knobs: Knobs
    client: MakeClient

    def run(self) -> None:
        """Run every step there is to run. What the executor itself does wrong ends the execution, and is raised."""
        execution = self.execution
        execution.status = IN_PROGRESS
        try:
            self._steps(next(iter(execution.document.steps)))
            execution.finish(*self._result())
        except InterruptedStepError:
            execution.finish(CANCELLED)
        except _UnapprovedError as end:
            execution.finish(end.status, end.failure)
        except _KilledError as death:
            self._die(death.status)
        except BaseException as error:
            execution.finish(FAILED, f"Internal error of the executor: {error!r}")
            raise

    def _steps(self, first: str) -> None:
        name: str | None = first
        while name is not None:
            self._meet_knobs(name)
            if self.execution.cancelled.is_set():
                raise InterruptedStepError
            name = self._step(self.execution.steps[name])

    def _step(self, run: StepRun) -> str | None:
        """Run one step, and return the name of the next one, None at the end."""
        try:
            jump = self._perform(run)
        except StepFailedError as error:
            return self._after_failure(run.step, error)
        return jump or after_success(self.execution.document, run.step)

    def _perform(self, run: StepRun) -> str | None:
        """Run one step, again as often as it may, record how it ends, and return where a branch jumps to."""
        self.execution.current = run.step.name
        run.begin()
        try:
            jump = self._attempts(run)
        except InterruptedStepError:
            run.end(CANCELLED)
            raise
        except StepFailedError as error:
            run.outputs = error.outputs
            run.end(TIMED_OUT if isinstance(error, StepTimedOutError) else FAILED, error.message())
            raise
        run.end(SUCCESS)
        return jump

    def _iterate(self, run: StepRun) -> None:
        """Run the steps of a loop while its condition holds. A failure of one of them fails the loop, unless it is ignored."""
        for iteration in range(1, run.step.inputs["MaxIterations"] + 1):
            for step in run.step.inner:
                self._meet_knobs(step.name)
                if self.execution.cancelled.is_set():
                    raise InterruptedStepError
                self.execution.steps[step.name] = StepRun(step, run, iteration)
                try:
                    self._perform(self.execution.steps[step.name])
                except StepFailedError:
                    if not _names_step(step) or self.execution.answers.loop_failure is not LoopFailure.GOES_ON:
                        raise
            if not holds(resolve(run.step.inputs["LoopCondition"], self.execution.lookup)):
                return

    def _attempts(self, run: StepRun) -> str | None:
        """Try a step up to maxAttempts times and return where a branch jumps to."""
        while True:
            run.attempts += 1
            try:
                jump = self._attempt(run)
            except StepFailedError:
                self._meet_killing(run)
                if run.attempts >= run.step.max_attempts:
                    raise
            else:
                self._meet_killing(run)
                return jump

    def _attempt(self, run: StepRun) -> str | None:
        """Make one attempt, with the trouble that a knob wants at this step."""
        trouble = self._trouble(run)
        if trouble is Trouble.FAILS:
            raise StepFailedError("The test lets this step fail")
        jump = self._act(run)
        if trouble is Trouble.TWICE:
            jump = self._act(run)
        if trouble is Trouble.KILLED:
            run.outputs = {}
            run.end(CANCELLED)
            raise _KilledError(CANCELLED)
        if trouble is Trouble.NO_ANSWER:
            raise StepFailedError("The answer was lost")
        return jump

    def _act(self, run: StepRun) -> str | None:
        if run.step.inner:
            self._iterate(run)
            return None
        return Attempt(self.execution, run, self.knobs, self.client).make()

    def _trouble(self, run: StepRun) -> Trouble | None:
        disturbance = self.knobs.disturbance
        if disturbance is None or (disturbance.document, disturbance.step) != (
            self.execution.document_name,
            run.step.name,
        ):
            return None
        disturbance.met = True
        return disturbance.trouble

    def _after_failure(self, step: Step, error: StepFailedError) -> str | None:
        """Return the name of the next step after one that failed; None at the end."""
        if step.on_failure == CONTINUE:
            return after_success(self.execution.document, step)
        if step.on_failure == ABORT:
            return None
        answers = self.execution.answers
        if step.inner and answers.loop_failure is LoopFailure.GOES_TO_NEXT_STEP:
            return after_success(self.execution.document, step)
        if step.inner and answers.loop_failure is LoopFailure.ENDS:
            return None
        is_unapproved = step.action == APPROVE and isinstance(error, (ApprovalRejectedError, StepTimedOutError))
        if is_unapproved and answers.unapproved_step is UnapprovedStep.ENDS:
            raise _UnapprovedError(self.execution.steps[step.name].status, error.message())
        return step.on_failure

    def _result(self) -> tuple[str, str | None]:
        """Return the status of the whole and its failure message: that of the first critical step that failed."""
        for run in sorted(self.execution.steps.values(), key=lambda run: run.started or self.execution.started):
            if run.step.is_critical and run.status in (FAILED, TIMED_OUT):
                return run.status, run.failure
        return SUCCESS, None

    def _meet_knobs(self, following: str) -> None:
        if self.knobs.before_step:
            self.knobs.before_step(self.execution.document_name, following)
        killing = self.knobs.killing
        if killing and killing.before == following:
            self.execution.current = following
            raise _KilledError(killing.status)

    def _meet_killing(self, run: StepRun) -> None:
        """Die where the step's action is done and nothing is recorded of it."""
        killing = self.knobs.killing
        if killing and killing.during == run.step.name:
            run.outputs = {}
            if killing.status != IN_PROGRESS:
                run.end(killing.status)
            raise _KilledError(killing.status)

    def _die(self, status: str) -> None:
        """End without another step. An execution that stays InProgress ends only for `Automation.wait`."""
        if status == IN_PROGRESS:
            self.execution.ended.set()
        else:
            self.execution.finish(status, KILLED)
