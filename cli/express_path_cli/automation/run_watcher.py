"""Watch a run of a runbook, step by step, until it ends."""

import time
from collections.abc import Callable

from express_path.adapters.aws import Aws
from express_path.errors import ApiError
from express_path_cli.automation.automation_runs import Run, read_run
from express_path_cli.terminal.console import echo

POLL_SECONDS = 2.0
"""The time between two reads of a run; AWS throttles GetAutomationExecution per account."""

_LABELS = {
    "Success": "done",
    "Failed": "FAILED",
    "TimedOut": "TIMED OUT",
    "Cancelled": "cancelled",
    "Rejected": "REJECTED",
}
_SILENT = frozenset({"Pending", "InProgress"})


def watch_run(aws: Aws, run_id: str, show_command: str, echo: Callable[[str], None] = echo) -> Run:
    """Print each step once, when it ends or starts to wait, and return the run when it has ended.

    Ctrl-C and a failed read stop only the watching: the run continues. Then its last known status and `show_command`,
    which shows the run, are printed. Raise ApiError.
    """
    printed: set[tuple[str, str]] = set()
    status = "started"
    try:
        while True:
            run = read_run(aws, run_id)
            status = run.status
            for step in run.steps:
                if step.status not in _SILENT and (step.name, step.status) not in printed:
                    printed.add((step.name, step.status))
                    echo(f"  {_LABELS.get(step.status, step.status):<10} {step.name}")
            if run.has_ended:
                return run
            time.sleep(POLL_SECONDS)
    except (KeyboardInterrupt, ApiError):
        echo(f"stopped watching run {run_id}, last status {status}; the run continues: {show_command}")
        raise
