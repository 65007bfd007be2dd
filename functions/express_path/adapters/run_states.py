"""Read the state of an automation execution: whether it has ended, and which of its steps failed."""

from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.domain.heal.failures import FailedStep
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

ENDED = frozenset(
    {
        "Success",
        "Failed",
        "TimedOut",
        "Cancelled",
        "Rejected",
        "CompletedWithSuccess",
        "CompletedWithFailure",
        "ChangeCalendarOverrideRejected",
        "Exited",
    }
)
"""The statuses of an execution that has ended (botocore model: ssm AutomationExecutionStatus)."""


def has_ended(ssm: "SSMClient", run_id: str) -> bool:
    """Return whether a run has ended or is no longer listed, so that its claims no longer count. Raise ApiError.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetAutomationExecution.html
    """
    try:
        with calling("ssm:GetAutomationExecution"):
            found = ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    except ApiError as error:
        if error.code != "AutomationExecutionNotFoundException":
            raise
        return True
    return found["AutomationExecutionStatus"] in ENDED


def failed_steps(ssm: "SSMClient", run_id: str) -> list[FailedStep]:
    """Return the steps of a run that have failed so far, in the order in which they ended. Raise ApiError."""
    with calling("ssm:GetAutomationExecution"):
        found = ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    failed = [step for step in found.get("StepExecutions", []) if step.get("StepStatus") in ("Failed", "TimedOut")]
    failed.sort(key=lambda step: step["ExecutionEndTime"])
    return [FailedStep(step["StepName"], step.get("FailureMessage", "no message")) for step in failed]
