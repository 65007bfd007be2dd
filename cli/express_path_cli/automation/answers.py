"""What the runbooks answer to programs: the JSON in the outputs of their runs."""

from typing import TypeVar

import msgspec

from express_path.domain.heal.failures import StepFailure
from express_path.domain.heal.records import Concern, PlanAction
from express_path.domain.heal.texts import failure_text, failure_texts, one_line
from express_path.domain.heal.undo_plan import UndoFact
from express_path_cli.automation.runs import Run
from express_path_cli.terminal.errors import OptionError


class PlannedVerdict(msgspec.Struct):
    """The verdict before a heal, or after it."""

    annotation: str


class PlanAnswer(msgspec.Struct, rename="camel"):
    """The plan of a heal. A heal that creates the endpoint has no endpoint_id."""

    action: PlanAction
    subnet_id: str
    route_table_id: str
    endpoint_id: str
    service_name: str
    ip_address_type: str
    verdict: PlannedVerdict
    blockers: tuple[Concern, ...]
    warnings: tuple[Concern, ...]
    judged: tuple[str, ...]
    patches: dict[str, str]

    @property
    def annotation(self) -> str:
        """The annotation of the verdict before the heal."""
        return self.verdict.annotation


class VerifyAnswer(msgspec.Struct, rename="camel"):
    """The verdict after a heal, and the run to undo in order to undo the heal, empty if there is none."""

    verdict: PlannedVerdict
    undo_run_id: str


class UndoAnswer(msgspec.Struct, rename="camel"):
    """What an undo does next, and what it says about the route table and the endpoint of the heal."""

    action: str
    route_table_id: str
    endpoint_id: str
    facts: tuple[UndoFact, ...]


class FailureAnswer(msgspec.Struct):
    """Why the steps of a run failed, in the order in which they ended; nothing if the function raised an error instead."""

    failures: tuple[StepFailure, ...] = ()


_Answer = TypeVar("_Answer", bound=msgspec.Struct)


def read_answer(run: Run, output: str, form: type[_Answer]) -> _Answer | None:
    """Return the answer in an output of a run, None if the run has not come that far. Raise OptionError."""
    text = run.outputs.get(output, "")
    # Systems Manager has a sentence in place of an output that does not exist.
    if not text.startswith(("{", '"')):
        return None
    try:
        while text.startswith('"'):
            text = msgspec.json.decode(text, type=str)
        return msgspec.json.decode(text, type=form)
    except msgspec.MsgspecError as error:
        fix = "the versions of the stack and of the command may differ: deploy the stack again"
        raise OptionError(f"run {run.id}: output {output}: {error}", fix) from error


def _failures(run: Run) -> tuple[StepFailure, ...]:
    """Return why the steps of a run failed; empty if the run did not explain that. Raise OptionError."""
    answer = read_answer(run, "explain.Payload", FailureAnswer)
    return answer.failures if answer else ()


def failed_steps(run: Run) -> list[str]:
    """Return each failed step and its cause, for people. A run can continue after a step that failed. Raise OptionError."""
    failures = _failures(run)
    if failures:
        return [f"{failure.step} failed: {failure_text(failure)}" for failure in failures]
    return [f"{step.name} failed: {step.failure}" for step in run.steps if step.failure]


def cause_of(run: Run) -> str:
    """Return why a run failed, for people: what the run explains, or else what Systems Manager says. Raise OptionError."""
    failures = _failures(run)
    if failures:
        return one_line(failure_texts(failures))
    # Without permission to invoke the function, explaining fails like the step before it.
    failed = [step for step in run.steps if step.failure and step.name != "explain"]
    return f"{failed[-1].name}: {failed[-1].failure}" if failed else run.failure
