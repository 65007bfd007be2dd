"""StartRemediationExecution and DescribeRemediationExecutionStatus.

https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from moto.config.exceptions import InvalidParameterValueException
from moto.config.models import ConfigBackend

from config_rule_sandbox.answers import Answers, BusyResource, RemediationOnDemand
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
    backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any], begin: Begin, answers: Answers
) -> dict[str, Any]:
    """Start the remediation of resources, but of those that are compliant or being remediated already.

    An exception does not prevent it: exceptions block automatic remediation only (botocore model,
    DescribeRemediationExceptions).
    """
    rule_name = parameters["ConfigRuleName"]
    configuration(memory, rule_name)
    keys = {(key["resourceType"], key["resourceId"]): key for key in parameters["ResourceKeys"]}
    reasons = {resource: _obstacle(backend, memory, rule_name, resource, answers) for resource in keys}
    started = [resource for resource, reason in reasons.items() if reason is None]
    if started and answers.remediation_on_demand is RemediationOnDemand.REFUSED:
        raise InvalidParameterValueException("The remediation cannot be started now.")
    for resource in started:
        reasons[resource] = _start(begin, rule_name, resource, answers.remediation_on_demand)
    failed = {resource: reason for resource, reason in reasons.items() if reason}
    if not failed:
        return {}
    return {"FailureMessage": "; ".join(failed.values()), "FailedItems": [keys[resource] for resource in failed]}


def _start(begin: Begin, rule_name: str, resource: ResourceKey, answer: RemediationOnDemand) -> str | None:
    """Start the remediation of a resource, and return why that failed."""
    if answer is RemediationOnDemand.FAILED_ITEM:
        return f"{resource[1]}: the remediation cannot be started now"
    if answer is RemediationOnDemand.IGNORED:
        return None
    if answer is RemediationOnDemand.STARTED_TWICE:
        begin(rule_name, resource)
    return begin(rule_name, resource).refusal


def status_of_runs(memory: Remediations, parameters: dict[str, Any], *, shows_later: bool) -> dict[str, Any]:
    """Return the state of the latest remediation of each resource of a rule, or of those that are named.

    shows_later: whether steps that have not begun are among its steps.
    """
    rule_name = parameters["ConfigRuleName"]
    configuration(memory, rule_name)
    wanted = [(key["resourceType"], key["resourceId"]) for key in parameters.get("ResourceKeys") or []]
    chosen = [run for run in memory.of_rule(rule_name) if not wanted or run.resource in wanted]
    page, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or MAXIMUM_LIMIT)
    statuses = [_status(run, shows_later=shows_later) for run in page]
    return {"RemediationExecutionStatuses": statuses} | ({"NextToken": token} if token else {})


def _obstacle(
    backend: ConfigBackend, memory: Remediations, rule_name: str, resource: ResourceKey, answers: Answers
) -> str | None:
    """Return why a resource cannot be remediated now. Raise InvalidParameterValueException if that refuses the request."""
    if memory.is_running(rule_name, resource):
        message = f"{resource[1]}: a remediation is in progress"
        if answers.busy_resource is BusyResource.REFUSED:
            raise InvalidParameterValueException(message)
        return message
    result = results_of(backend.account_id, backend.region_name).results.get((rule_name, resource))
    if result and result.compliance == "COMPLIANT":
        return f"{resource[1]}: the resource is already compliant"
    return None


def _status(run: Run, *, shows_later: bool) -> dict[str, Any]:
    """Return a RemediationExecutionStatus (botocore model); times are seconds since 1970."""
    steps = list(run.execution.steps.values()) if run.execution else []
    steps = [step for step in steps if shows_later or step.started]
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
