"""DescribeAutomationExecutions and DescribeAutomationStepExecutions: filters and pages."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from moto.ssm.exceptions import (
    InvalidFilterKey,
    SSMException,
)

from config_rule_sandbox.answers import LoopSteps
from config_rule_sandbox.ssm.described import described_metadata, described_steps
from config_rule_sandbox.ssm.execution import Execution
from config_rule_sandbox.ssm.registry import registry

MAXIMUM_RESULTS = 50
Listed = TypeVar("Listed")


def _started_after(execution: Execution, times: Sequence[str]) -> bool:
    return any(execution.started > datetime.fromisoformat(time) for time in times)


FILTERS: Mapping[str, Callable[[Execution, Sequence[str]], bool]] = {
    "DocumentNamePrefix": lambda execution, names: execution.document_name.startswith(tuple(names)),
    "ExecutionStatus": lambda execution, states: execution.status in states,
    "StartTimeAfter": _started_after,
}
"""The filters that are supported here, by their key."""


def list_executions(parameters: dict[str, Any], account_id: str, region: str) -> dict[str, Any]:
    """Answer DescribeAutomationExecutions: the executions that match every filter, newest first."""
    found = list(reversed(registry(account_id, region).executions.values()))
    for condition in parameters.get("Filters") or []:
        if condition["Key"] not in FILTERS:
            raise InvalidFilterKey(f"The sandbox does not support the filter {condition['Key']}.")
        matches = FILTERS[condition["Key"]]
        found = [execution for execution in found if matches(execution, condition["Values"])]
    page, token = _page(found, parameters)
    return {"AutomationExecutionMetadataList": [described_metadata(execution) for execution in page], **token}


def list_steps(execution: Execution, parameters: dict[str, Any]) -> dict[str, Any]:
    """Answer DescribeAutomationStepExecutions: the steps that match every filter, in the order of the document.

    Of a step in a loop, only the last iteration is kept.
    """
    unlisted = execution.answers.loop_steps is LoopSteps.UNLISTED
    found = [step for step in execution.steps.values() if step.parent is None or not unlisted]
    for condition in parameters.get("Filters") or []:
        if condition["Key"] != "StepExecutionStatus":
            raise InvalidFilterKey(f"The sandbox does not support the filter {condition['Key']}.")
        found = [step for step in found if step.status in condition["Values"]]
    page, token = _page(found, parameters)
    return {"StepExecutions": described_steps(execution, page), **token}


def _page(found: Sequence[Listed], parameters: dict[str, Any]) -> tuple[Sequence[Listed], dict[str, str]]:
    token = parameters.get("NextToken") or "0"
    if not token.isdigit() or int(token) > len(found):
        raise SSMException("InvalidNextToken", "The specified token isn't valid.")
    start = int(token)
    end = start + int(parameters.get("MaxResults") or MAXIMUM_RESULTS)
    return found[start:end], {"NextToken": str(end)} if end < len(found) else {}
