"""Runs of the runbooks: start them, and follow several at the same time."""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from express_path.adapters.aws import Aws, calling
from express_path.adapters.heal_reader import ENDED

RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STOPPED = "stopped"
"""The last step of a heal that ends because somebody stopped all heals."""
_CHANGING = frozenset({"create", "associate"})
"""The steps of a heal that change the network."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of a run: its name, its status, why it failed, if it did, and whether it has begun.

    Whether AWS lists a step that has not begun is not documented.
    """

    name: str
    status: str
    failure: str
    has_begun: bool

    @property
    def has_ended(self) -> bool:
        """Return whether the step has ended."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class Run:
    """The current state of a run. `outputs` are texts by step and name, such as plan.Details; answers.py reads them.

    has_all_steps: AWS leaves steps out of the answer about a run with many.
    """

    id: str
    status: str
    steps: tuple[StepRun, ...]
    outputs: Mapping[str, str]
    failure: str
    has_all_steps: bool = True

    @property
    def has_ended(self) -> bool:
        """Return whether the run has ended."""
        return self.status in ENDED

    @property
    def was_stopped(self) -> bool:
        """Return whether the heal ended without a further change because somebody stopped all heals."""
        return any(step.name == _STOPPED and step.status == "Success" for step in self.steps)

    @property
    def was_cancelled(self) -> bool:
        """Return whether somebody ended the run in Systems Manager."""
        return self.status == "Cancelled"

    @property
    def may_have_changed(self) -> bool:
        """Return whether a heal may have changed the network: a step that changes it has begun, or may have."""
        return not self.has_all_steps or any(step.name in _CHANGING and step.has_begun for step in self.steps)


@dataclass(frozen=True, slots=True)
class Job:
    """A run to start. `name` is what it is about, such as a route table. version: that of the document."""

    name: str
    document: str
    parameters: Mapping[str, str]
    version: str


def start_run(aws: Aws, job: Job) -> str:
    """Start a version of a runbook, and return the run's ID. Raise ApiError."""
    with calling("ssm:StartAutomationExecution"):
        answer = aws.ssm.start_automation_execution(
            DocumentName=job.document,
            DocumentVersion=job.version,
            Parameters={name: [value] for name, value in job.parameters.items()},
            ClientToken=str(uuid4()),  # a retry after a lost answer must not start a second run
        )
    return answer["AutomationExecutionId"]


def read_run(aws: Aws, run_id: str) -> Run:
    """Read the current state of a run. Raise ApiError, also if there is no such run."""
    with calling("ssm:GetAutomationExecution"):
        found: Mapping[str, Any] = aws.ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    outputs = {name: ", ".join(values) for name, values in found.get("Outputs", {}).items()}
    return Run(
        run_id,
        found["AutomationExecutionStatus"],
        tuple(
            StepRun(
                step["StepName"],
                step["StepStatus"],
                step.get("FailureMessage", ""),
                has_begun=step.get("ExecutionStartTime") is not None,
            )
            for step in found.get("StepExecutions", [])
        ),
        outputs,
        str(found.get("FailureMessage") or ""),
        has_all_steps=not found.get("StepExecutionsTruncated"),
    )


def has_succeeded(run: Run) -> bool:
    """Return whether a run that has ended succeeded, and did not end because somebody stopped all heals."""
    return run.status in ("Success", "CompletedWithSuccess") and not run.was_stopped


POLL_SECONDS = 2.0
"""The time between two reads of a run; AWS throttles GetAutomationExecution per account."""

PARALLEL_RUNS = 5
"""How many runs are in progress at once.

Automation runs 100 at once in an account and Region, and AWS Config's remediations and other teams need them too
(https://docs.aws.amazon.com/general/latest/gr/ssm.html). If a run fails, only four others have started a change. Runs
for the same VPC wait for one of them to create the endpoint, so more of them would not finish sooner.
"""
START_SECONDS = 1.0
"""The time between two starts: StartAutomationExecution is limited to one call per second
(https://docs.aws.amazon.com/general/latest/gr/ssm.html)."""


class RunQueue:
    """Runs that wait and runs in progress. `waiting` and `running` are correct after any exception, also Ctrl-C.

    is_stopped: set it to start no more runs. Runs in progress continue.
    """

    def __init__(self, aws: Aws, jobs: Iterable[Job]) -> None:
        """Start nothing yet."""
        self._aws = aws
        self.waiting = deque(jobs)
        self.running: dict[str, Job] = {}
        self.is_stopped = False

    def run(
        self, started: Callable[[Job, str], None], seen: Callable[[Job, Run], None] = lambda _job, _run: None
    ) -> Iterator[tuple[Job, Run]]:
        """Start the runs and yield each one when it has ended. `started` gets each new run's ID, and `seen` each read of a run. Raise ApiError."""
        while self._can_start() or self.running:
            while self._can_start() and len(self.running) < PARALLEL_RUNS:
                job = self.waiting[0]
                run_id = start_run(self._aws, job)
                self.running[run_id] = self.waiting.popleft()
                started(job, run_id)
                time.sleep(START_SECONDS)
            read = [read_run(self._aws, run_id) for run_id in self.running]
            for run in read:
                seen(self.running[run.id], run)
            ended = [run for run in read if run.has_ended]
            for run in ended:
                yield self.running.pop(run.id), run
            if self.running and not ended:
                time.sleep(POLL_SECONDS)

    def _can_start(self) -> bool:
        return bool(self.waiting) and not self.is_stopped
