"""Executions and steps in the shapes of the API (botocore model)."""

from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.answers import LaterSteps
from config_rule_sandbox.ssm.document import ABORT, CONTINUE
from config_rule_sandbox.ssm.execution import CANCELLED, FAILED, PENDING, SUCCESS, TIMED_OUT, Execution, StepRun
from config_rule_sandbox.ssm.values import shown, text

RESPONSE_CODES = {SUCCESS: "0"}


def described_execution(run: Execution, later_steps: LaterSteps = LaterSteps.PENDING) -> dict[str, Any]:
    """Return the AutomationExecution of GetAutomationExecution."""
    steps = list(run.steps.values())
    return {
        **_common(run),
        "StepExecutions": [
            described_step(step) for step in steps if step.status != PENDING or later_steps is LaterSteps.PENDING
        ],
        "StepExecutionsTruncated": False,
        "Parameters": {name: shown(value) for name, value in run.parameters.items() if value != ""},
        "ProgressCounters": {
            "TotalSteps": len(steps),
            "SuccessSteps": _count(steps, SUCCESS),
            "FailedSteps": _count(steps, FAILED),
            "CancelledSteps": _count(steps, CANCELLED),
            "TimedOutSteps": _count(steps, TIMED_OUT),
        },
    }


def described_metadata(run: Execution) -> dict[str, Any]:
    """Return the AutomationExecutionMetadata of DescribeAutomationExecutions."""
    return {**_common(run), "LogFile": "", "AutomationType": "Local"}


def described_step(run: StepRun) -> dict[str, Any]:
    """Return a StepExecution. Inputs are JSON texts, as the service shows them."""
    targets = {ABORT: ABORT, CONTINUE: CONTINUE}
    found = {
        "StepName": run.step.name,
        "Action": run.step.action,
        "StepExecutionId": run.id,
        "StepStatus": run.status,
        "TimeoutSeconds": run.step.timeout_seconds,
        "OnFailure": targets.get(run.step.on_failure, f"step:{run.step.on_failure}"),
        "MaxAttempts": run.step.max_attempts,
        "IsCritical": run.step.is_critical,
        "IsEnd": run.step.is_end,
        "NextStep": run.step.next_step,
        "ExecutionStartTime": run.started,
        "ExecutionEndTime": run.ended,
        "ResponseCode": RESPONSE_CODES.get(run.status),
        "Inputs": {key: _input(value) for key, value in run.inputs.items()},
        "Outputs": {key: shown(value) for key, value in run.outputs.items()},
        "FailureMessage": run.failure,
        "ParentStepDetails": run.parent and _parent(run.parent, run.iteration),
    }
    return _present(found)


def _parent(loop: StepRun, iteration: int) -> dict[str, Any]:
    return {
        "StepExecutionId": loop.id,
        "StepName": loop.step.name,
        "Action": loop.step.action,
        "Iteration": iteration,
    }


def _common(run: Execution) -> dict[str, Any]:
    return _present(
        {
            "AutomationExecutionId": run.id,
            "DocumentName": run.document_name,
            "DocumentVersion": run.document_version,
            "AutomationExecutionStatus": run.status,
            "ExecutionStartTime": run.started,
            "ExecutionEndTime": run.finished,
            "Outputs": {output: shown(run.lookup(output)) for output in run.document.outputs},
            "FailureMessage": run.failure,
            "Mode": "Auto",
            "ExecutedBy": run.executed_by,
            "CurrentStepName": run.current,
            "CurrentAction": run.steps[run.current].step.action if run.current else None,
            "Targets": [],
            "ResolvedTargets": {"ParameterValues": [], "Truncated": False},
        }
    )


def _input(value: Any) -> str:  # noqa: ANN401  # any JSON value
    return f'"{value}"' if isinstance(value, str) else text(value)


def _count(steps: list[StepRun], status: str) -> int:
    return sum(run.status == status for run in steps)


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}
