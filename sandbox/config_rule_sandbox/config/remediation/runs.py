"""StartRemediationExecution and DescribeRemediationExecutionStatus.

https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from moto.config.models import ConfigBackend

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.remediation.configurations import configuration
from config_rule_sandbox.config.remediation.memory import Remediations, Run
from config_rule_sandbox.config.results import ResourceKey, results_of
from config_rule_sandbox.ssm.execution import (
    CANCELLED,
    FAILED,
    IN_PROGRESS,
    SUCCESS,
    TIMED_OUT,
    WAITING,
    Execution,
    StepRun,
)

Begin = Callable[[str, ResourceKey], Run]
"""Starts the remediation of a rule for a resource."""

STEP_STATES = {
    SUCCESS: "SUCCEEDED",
    FAILED: "FAILED",
    TIMED_OUT: "FAILED",
    CANCELLED: "EXITED",
    IN_PROGRESS: "IN_PROGRESS",
    WAITING: "IN_PROGRESS",
}
"""States of a step by its status in Automation; a step that has not begun is PENDING (botocore model)."""

MAXIMUM_LIMIT = 100


def start_runs(
    backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any], begin: Begin
) -> dict[str, Any]:
    """Start the remediation of resources, but of those that are compliant or being remediated already."""
    rule_name = parameters["ConfigRuleName"]
    configuration(memory, rule_name)
    failed: list[dict[str, str]] = []
    reasons: list[str] = []
    for key in parameters["ResourceKeys"]:
        resource = (key["resourceType"], key["resourceId"])
        reason = _obstacle(backend, memory, rule_name, resource) or begin(rule_name, resource).refusal
        if reason:
            failed.append(key)
            reasons.append(reason)
    return {"FailureMessage": "; ".join(reasons), "FailedItems": failed} if failed else {}


def status_of_runs(_backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the state of the latest remediation of each resource of a rule, or of those that are named."""
    rule_name = parameters["ConfigRuleName"]
    configuration(memory, rule_name)
    wanted = [(key["resourceType"], key["resourceId"]) for key in parameters.get("ResourceKeys") or []]
    chosen = [run for run in memory.of_rule(rule_name) if not wanted or run.resource in wanted]
    page, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or MAXIMUM_LIMIT)
    return {"RemediationExecutionStatuses": [_status(run) for run in page]} | ({"NextToken": token} if token else {})


def _obstacle(backend: ConfigBackend, memory: Remediations, rule_name: str, resource: ResourceKey) -> str | None:
    if memory.is_running(rule_name, resource):
        return f"{resource[1]}: a remediation is in progress"
    result = results_of(backend.account_id, backend.region_name).results.get((rule_name, resource))
    if result and result.compliance == "COMPLIANT":
        return f"{resource[1]}: the resource is already compliant"
    return None


def _status(run: Run) -> dict[str, Any]:
    """Return a RemediationExecutionStatus (botocore model); times are seconds since 1970."""
    steps = list(run.execution.steps.values()) if run.execution else []
    return {
        "ResourceKey": {"resourceType": run.resource[0], "resourceId": run.resource[1]},
        "State": run.state,
        "StepDetails": [_step(step) for step in steps],
        "InvocationTime": run.invoked,
        "LastUpdatedTime": _last_update(run.execution) or run.invoked,
    }


def _step(step: StepRun) -> dict[str, Any]:
    found = {
        "Name": step.step.name,
        "State": STEP_STATES.get(step.status, "PENDING"),
        "ErrorMessage": step.failure,
        "StartTime": _seconds(step.started),
        "StopTime": _seconds(step.ended),
    }
    return {key: value for key, value in found.items() if value is not None}


def _last_update(execution: Execution | None) -> float | None:
    if execution is None:
        return None
    moments = [moment for step in execution.steps.values() for moment in (step.started, step.ended) if moment]
    return _seconds(max(moments, default=execution.started))


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
