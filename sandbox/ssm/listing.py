"""DescribeAutomationExecutions: filters and pages."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from moto.ssm.exceptions import InvalidFilterKey, SSMException

from sandbox.ssm import describe
from sandbox.ssm.execution import Execution
from sandbox.ssm.registry import registry

Item = TypeVar("Item")
Value = Callable[[Item, str], bool]

MAXIMUM_RESULTS = 50

EXECUTION_FILTERS: dict[str, Value[Execution]] = {
    "DocumentNamePrefix": lambda run, value: run.document_name.startswith(value),
    "ExecutionStatus": lambda run, value: run.status == value,
    "ExecutionId": lambda run, value: run.id == value,
    "CurrentAction": lambda run, value: run.current is not None and run.steps[run.current].step.action == value,
    "StartTimeBefore": lambda run, value: run.started <= _moment(value),
    "StartTimeAfter": lambda run, value: run.started >= _moment(value),
    "AutomationType": lambda _, value: value == "Local",
}


def executions(parameters: dict[str, Any], account_id: str, region: str) -> dict[str, Any]:
    """Answer DescribeAutomationExecutions: the executions that pass all filters, the newest first."""
    newest_first = list(reversed(registry(account_id, region).executions.values()))
    chosen = _filtered(newest_first, parameters, EXECUTION_FILTERS)
    page, token = _page(chosen, parameters)
    return {"AutomationExecutionMetadataList": [describe.metadata(each) for each in page], **token}


def _filtered(items: list[Item], parameters: dict[str, Any], filters: dict[str, Value[Item]]) -> list[Item]:
    for each in parameters.get("Filters") or []:
        if each["Key"] not in filters:
            raise InvalidFilterKey(f"The sandbox does not support the filter {each['Key']}.")
        fits = filters[each["Key"]]
        items = [item for item in items if any(fits(item, value) for value in each["Values"])]
    return items


def _page(items: Sequence[Item], parameters: dict[str, Any]) -> tuple[Sequence[Item], dict[str, str]]:
    token = parameters.get("NextToken") or "0"
    if not token.isdigit() or int(token) > len(items):
        raise SSMException("InvalidNextToken", "The specified token isn't valid.")
    start = int(token)
    end = start + int(parameters.get("MaxResults") or MAXIMUM_RESULTS)
    return items[start:end], {"NextToken": str(end)} if end < len(items) else {}


def _moment(value: str) -> datetime:
    return datetime.fromisoformat(value)
