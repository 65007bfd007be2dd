"""Executions and steps in the shapes of the API (botocore model)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from config_rule_sandbox.answers import LaterSteps, LoopSteps, MissingOutput, StepInputs
from config_rule_sandbox.ssm.document import ABORT, CONTINUE
from config_rule_sandbox.ssm.execution import CANCELLED, FAILED, PENDING, SUCCESS, TIMED_OUT, Execution, StepRun
from config_rule_sandbox.ssm.values import shown, text

RESPONSE_CODES = {SUCCESS: "0"}


def described_execution(run: Execution) -> dict[str, Any]:
    """Return the AutomationExecution of GetAutomationExecution."""
    steps = list(run.steps.values())
    listed = [step for step in steps if step.parent is None or run.answers.loop_steps is LoopSteps.LISTED]
    return {
        **_common(run),
        "StepExecutions": described_steps(run, listed),
        "StepExecutionsTruncated": len(listed) < len(steps),
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


def described_steps(run: Execution, steps: Sequence[StepRun]) -> list[dict[str, Any]]:
    """Return the StepExecutions of steps, without those that have not begun if these are not listed."""
    return [
        described_step(run, step)
        for step in steps
        if step.status != PENDING or run.answers.later_steps is LaterSteps.PENDING
    ]


def described_step(execution: Execution, run: StepRun) -> dict[str, Any]:
    """Return a StepExecution."""
    is_unresolved = execution.answers.step_inputs is StepInputs.UNRESOLVED
    inputs = run.step.inputs if is_unresolved and run.started else run.inputs
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
        "Inputs": {key: _input(value, execution.answers.step_inputs) for key, value in inputs.items()},
        "Outputs": {key: shown(value) for key, value in {**_without_value(execution, run), **run.outputs}.items()},
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
            "Outputs": {output: shown(run.lookup(output)) for output in run.document.outputs if _is_shown(run, output)},
            "FailureMessage": run.failure,
            "Mode": "Auto",
            "ExecutedBy": run.executed_by,
            "CurrentStepName": run.current,
            "CurrentAction": run.steps[run.current].step.action if run.current else None,
            "Targets": [],
            "ResolvedTargets": {"ParameterValues": [], "Truncated": False},
        }
    )


def _without_value(execution: Execution, run: StepRun) -> dict[str, str]:
    """Return what stands for the outputs of a step that succeeded whose selectors found nothing."""
    if run.status != SUCCESS or execution.answers.missing_output is MissingOutput.ABSENT:
        return {}
    return {output.name: execution.absent(output.name) for output in run.step.outputs}


def _is_shown(run: Execution, output: str) -> bool:
    """Return whether an output of the document is listed."""
    name, _, output_name = output.partition(".")
    step = run.steps[name]
    has_value = step.status == SUCCESS and output_name in step.outputs
    return has_value or run.answers.missing_output is not MissingOutput.ABSENT


def _input(value: Any, form: StepInputs) -> str:  # noqa: ANN401  # any JSON value
    """Return an input as text."""
    match form:
        case StepInputs.JSON:
            return json.dumps(value)
        case StepInputs.QUOTED if isinstance(value, str):
            return f'"{value}"'
        case StepInputs.PLAIN if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
    return text(value)


def _count(steps: list[StepRun], status: str) -> int:
    return sum(run.status == status for run in steps)


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}
