"""Read the state of an automation execution: whether it has ended, and which of its steps failed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import calling, pages
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

_FAILED = ("Failed", "TimedOut")


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
    """Return the steps of a run that have failed so far, in the order in which they ended. Raise ApiError.

    After a long loop, the execution does not contain all steps, and the last ones say why the run failed.
    """
    with calling("ssm:GetAutomationExecution"):
        found = ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    steps: Sequence[Mapping[str, Any]] = found.get("StepExecutions", [])
    if found.get("StepExecutionsTruncated"):
        filters = [{"Key": "StepExecutionStatus", "Values": list(_FAILED)}]
        steps = pages(
            ssm,
            "ssm",
            "describe_automation_step_executions",
            "StepExecutions",
            AutomationExecutionId=run_id,
            Filters=filters,
        )
    failed = [step for step in steps if step.get("StepStatus") in _FAILED]
    failed.sort(key=lambda step: step["ExecutionEndTime"])
    return [FailedStep(step["StepName"], step.get("FailureMessage", "no message")) for step in failed]
