"""StopAutomationExecution and SendAutomationSignal: what people do to a running execution."""

from moto.ssm.exceptions import (
    AccessDeniedException,
    SSMException,
)

from config_rule_sandbox.ssm.actions.approve import may_decide
from config_rule_sandbox.ssm.execution import CANCELLED, ENDED, WAITING, Execution
from config_rule_sandbox.ssm.start import UnsupportedMemberError

DECISIONS = ("Approve", "Reject")
APPROVE = "aws:approve"
CANCEL = "Cancel"


def stop_execution(execution: Execution, stop_type: str) -> None:
    """Cancel an execution. InvalidAutomationStatusUpdateException if it has ended.

    The type Complete, which lets the current step end, is not supported.
    """
    if stop_type != CANCEL:
        raise UnsupportedMemberError(f"the type {stop_type}")
    with execution.lock:
        if execution.status in ENDED:
            raise SSMException(
                "InvalidAutomationStatusUpdateException", f"Execution {execution.id} is {execution.status} already."
            )
        execution.cancelled.set()
        if execution.ended.is_set():  # it was killed, see `Automation.killing`
            execution.finish(CANCELLED)


def send_signal(execution: Execution, signal: str, principal: str) -> None:
    """Approve or reject the step that waits for that; other signals belong to modes that do not exist here.

    InvalidAutomationSignalException if nothing waits, AccessDeniedException if the principal is not an approver.
    """
    with execution.lock:
        run = execution.steps.get(execution.current or "")
        waits = run and run.step.action == APPROVE and run.status == WAITING
        if signal not in DECISIONS or run is None or not waits:
            raise SSMException(
                "InvalidAutomationSignalException", f"{signal} is not valid for the execution {execution.id} now."
            )
        if not may_decide(principal, run.inputs["Approvers"]):
            raise AccessDeniedException(f"{principal} is not among the approvers of the step {run.step.name}.")
        execution.signals.append((principal, signal))
