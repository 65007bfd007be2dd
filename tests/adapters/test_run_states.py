"""Which steps of a run failed, also if the execution does not contain all of them."""

from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.stub import Stubber

from express_path.adapters.heal_reader import failed_steps
from express_path.domain.heal.failures import FailedStep

RUN = "00000000-0000-0000-0000-000000000001"


def ended(name: str, second: int, status: str = "Failed") -> dict[str, Any]:
    """Return a step that ended."""
    time = datetime(2026, 11, 22, 12, 0, second, tzinfo=UTC)
    return {"StepName": name, "StepStatus": status, "ExecutionEndTime": time, "FailureMessage": f"{name} failed"}


def test_steps_after_a_long_loop_are_read_too() -> None:
    """An execution contains only the first steps of a run that waited in vain."""
    ssm: Any = boto3.client("ssm", region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")
    first = {"StepExecutions": [ended("seeTurn", 1, "Success")], "StepExecutionsTruncated": True}
    failed = {"Key": "StepExecutionStatus", "Values": ["Failed", "TimedOut"]}
    asked = {"AutomationExecutionId": RUN, "Filters": [failed]}
    with Stubber(ssm) as stub:
        stub.add_response("get_automation_execution", {"AutomationExecution": first}, {"AutomationExecutionId": RUN})
        later = {"StepExecutions": [ended("recordFailed", 3)], "NextToken": "2"}
        stub.add_response("describe_automation_step_executions", later, asked)
        last = {"StepExecutions": [ended("confirmPlan", 2, "TimedOut")]}
        stub.add_response("describe_automation_step_executions", last, {**asked, "NextToken": "2"})
        found = failed_steps(ssm, RUN)
    names = [FailedStep(name, f"{name} failed") for name in ("confirmPlan", "recordFailed")]
    assert found == names
