"""Whether an automation execution goes on, as Systems Manager reports it."""

from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
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
"""The statuses of an execution that does nothing more (botocore model: ssm AutomationExecutionStatus)."""


def has_ended(ssm: "SSMClient", run_id: str) -> bool:
    """Whether a run does nothing more, or is not known any more, so that its claims are void. Raises ApiError.

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
