"""Following a run of a runbook, step by step, until it ends."""

import time
from collections.abc import Callable

import typer

from express_path.adapters.aws import Aws
from express_path.errors import ApiError
from express_path_cli.runbooks.automation_runs import Run, look_at_run

POLL_SECONDS = 2.0
"""How often a run is looked at; GetAutomationExecution is throttled by account."""

_MARKS = {
    "Success": "done",
    "Failed": "FAILED",
    "TimedOut": "TIMED OUT",
    "Cancelled": "cancelled",
    "Rejected": "REJECTED",
}
_SILENT = frozenset({"Pending", "InProgress"})


def follow(aws: Aws, run_id: str, look: str, tell: Callable[[str], None] = typer.echo) -> Run:
    """Tell of each step once, when it ends or begins to wait, and return the run when it has ended.

    Ctrl-C and a look that fails end the following, not the run, which is said: with its status when it was last seen,
    and look, the command that shows it. Raises ApiError.
    """
    told: set[tuple[str, str]] = set()
    status = "started"
    try:
        while True:
            run = look_at_run(aws, run_id)
            status = run.status
            for step in run.steps:
                if step.status not in _SILENT and (step.name, step.status) not in told:
                    told.add((step.name, step.status))
                    tell(f"  {_MARKS.get(step.status, step.status):<10} {step.name}")
            if run.has_ended:
                return run
            time.sleep(POLL_SECONDS)
    except (KeyboardInterrupt, ApiError):
        tell(f"no longer following run {run_id}, last seen {status}; the run goes on: {look}")
        raise
