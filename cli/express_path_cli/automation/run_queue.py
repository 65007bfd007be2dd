"""Start many runs of runbooks, a few at a time, and watch them until they end."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from express_path.adapters.aws import Aws
from express_path_cli.automation import run_watcher
from express_path_cli.automation.automation_runs import Run, read_run, start_run

PARALLEL_RUNS = 5
"""How many runs are in progress at once.

Automation runs 100 at once in an account and Region, and AWS Config's remediations and other teams need them too
(https://docs.aws.amazon.com/general/latest/gr/ssm.html). If a run fails, only four others have started a change. Runs
for the same VPC wait for one of them to create the endpoint, so more of them would not finish sooner.
"""
START_SECONDS = 1.0
"""The time between two starts: StartAutomationExecution is limited to one call per second
(https://docs.aws.amazon.com/general/latest/gr/ssm.html)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run to start. `name` is what it is about, such as a route table."""

    name: str
    document: str
    parameters: Mapping[str, str]


class RunQueue:
    """Runs that wait and runs in progress. `waiting` and `running` are correct after any exception, also Ctrl-C."""

    def __init__(self, aws: Aws, jobs: Iterable[Job], parallel: int | None = None) -> None:
        """Start nothing yet. parallel: how many runs are in progress at once, PARALLEL_RUNS if None."""
        self._aws = aws
        self._parallel = parallel or PARALLEL_RUNS
        self.waiting = deque(jobs)
        self.running: dict[str, Job] = {}
        self.is_stopped = False

    def stop(self) -> None:
        """Start no more runs. Runs in progress continue."""
        self.is_stopped = True

    def run(self, started: Callable[[Job, str], None]) -> Iterator[tuple[Job, Run]]:
        """Start the runs and yield each one when it has ended. `started` gets each new run's ID. Raise ApiError."""
        while self._can_start() or self.running:
            while self._can_start() and len(self.running) < self._parallel:
                self._start(started)
            ended = [run for run in [read_run(self._aws, run_id) for run_id in self.running] if run.has_ended]
            for run in ended:
                yield self.running.pop(run.id), run
            if self.running and not ended:
                time.sleep(run_watcher.POLL_SECONDS)

    def _can_start(self) -> bool:
        return bool(self.waiting) and not self.is_stopped

    def _start(self, started: Callable[[Job, str], None]) -> None:
        job = self.waiting[0]
        run_id = start_run(self._aws, job.document, job.parameters)
        self.running[run_id] = self.waiting.popleft()
        started(job, run_id)
        time.sleep(START_SECONDS)
