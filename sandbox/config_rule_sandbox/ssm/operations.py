"""The operations of Systems Manager that the sandbox adds to moto, or checks before moto serves them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from botocore import xform_name
from moto.core.responses import ActionResult
from moto.ssm.exceptions import (
    AccessDeniedException,
    InvalidDocument,
    InvalidFilterKey,
    SSMException,
    ValidationException,
)
from moto.ssm.models import Document as StoredDocument
from moto.ssm.models import ssm_backends
from moto.ssm.responses import SimpleSystemManagerResponse

from config_rule_sandbox.constraints import violations
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patches import Patches
from config_rule_sandbox.ssm import parameters, reading
from config_rule_sandbox.ssm.actions.approve import may_decide
from config_rule_sandbox.ssm.document import ABORT, CONTINUE, Document
from config_rule_sandbox.ssm.execution import (
    CANCELLED,
    ENDED,
    FAILED,
    SUCCESS,
    TIMED_OUT,
    WAITING,
    Execution,
    StepRun,
    find,
    registry,
)
from config_rule_sandbox.ssm.knobs import Knobs
from config_rule_sandbox.ssm.roles import Caller, caller
from config_rule_sandbox.ssm.values import resolve, shown, text

# --- shapes of answers ---------------------------------------------------------------------------------------------
#
# Executions and steps in the shapes of the API (botocore model).


RESPONSE_CODES = {SUCCESS: "0"}


def described_execution(run: Execution) -> dict[str, Any]:
    """Return the AutomationExecution of GetAutomationExecution."""
    steps = list(run.steps.values())
    return {
        **_common(run),
        "StepExecutions": [described_step(run) for run in steps],
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


# --- DescribeAutomationExecutions ----------------------------------------------------------------------------------
#
# DescribeAutomationExecutions: filters and pages.


MAXIMUM_RESULTS = 50


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


def _page(found: Sequence[Execution], parameters: dict[str, Any]) -> tuple[Sequence[Execution], dict[str, str]]:
    token = parameters.get("NextToken") or "0"
    if not token.isdigit() or int(token) > len(found):
        raise SSMException("InvalidNextToken", "The specified token isn't valid.")
    start = int(token)
    end = start + int(parameters.get("MaxResults") or MAXIMUM_RESULTS)
    return found[start:end], {"NextToken": str(end)} if end < len(found) else {}


# --- StartAutomationExecution --------------------------------------------------------------------------------------
#
# StartAutomationExecution: which runbook, with which parameters, as whom.


UNDERSTOOD = {"DocumentName", "DocumentVersion", "Parameters", "ClientToken", "Mode", "Tags"}
"""Members of the request that this executor honours."""

AUTOMATION = "Automation"
VERSIONS = {"$DEFAULT": None}


class UnsupportedMemberError(SSMException):
    """A member of a request that AWS has and this executor does not."""

    def __init__(self, member: str) -> None:
        super().__init__("ValidationException", f"The sandbox does not support {member}.")


def prepare(request: dict[str, Any], caller: Caller, account_id: str, region: str) -> Execution:
    """Return the execution that a checked request asks for; it does not run yet.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StartAutomationExecution.html
    """
    for member in sorted(set(request) - UNDERSTOOD):
        raise UnsupportedMemberError(member)
    if request.get("Mode", "Auto") != "Auto":
        raise UnsupportedMemberError("the mode Interactive")
    stored, document = find_runbook(request["DocumentName"], request.get("DocumentVersion"), account_id, region)
    given: dict[str, list[str]] = request.get("Parameters") or {}
    execution = Execution(
        stored.name,
        stored.document_version,
        document,
        parameters.supplied(document.parameters, given),
        given,
        caller.arn,
        account_id,
        region,
    )
    execution.assume_role = resolve(document.assume_role, execution.lookup)
    return execution


def find_runbook(name: str, version: str | None, account_id: str, region: str) -> tuple[StoredDocument, Document]:
    """Return a stored runbook by its name or ARN and version (the default one if None), and what it says.

    SSMException with AutomationDefinitionNotFoundException or AutomationDefinitionVersionNotFoundException.
    """
    stored = _stored(name, version, account_id, region)
    return stored, reading.read(stored.content, stored.document_format)


def _stored(name: str, version: str | None, account_id: str, region: str) -> StoredDocument:
    documents = ssm_backends[account_id][region]._documents.get(_own_name(name, account_id, region))
    if documents is None or documents.get_default_version().document_type != AUTOMATION:
        raise SSMException(
            "AutomationDefinitionNotFoundException", f"Automation Definition with Name: {name} can not be found."
        )
    try:
        return documents.find(VERSIONS.get(str(version), version))
    except InvalidDocument as error:
        raise SSMException(
            "AutomationDefinitionVersionNotFoundException",
            f"Automation Definition with Name: {name} and Version: {version} can not be found.",
        ) from error


def _own_name(name: str, account_id: str, region: str) -> str:
    """Return the name in the ARN of a document of this account and Region; anything else is as it is."""
    return name.partition(f":ssm:{region}:{account_id}:document/")[2] or name


# --- stops and signals ---------------------------------------------------------------------------------------------
#
# StopAutomationExecution and SendAutomationSignal: what people do to a running execution.


DECISIONS = ("Approve", "Reject")
APPROVE = "aws:approve"
CANCEL = "Cancel"


def stop_execution(execution: Execution, stop_type: str) -> None:
    """Cancel an execution. InvalidAutomationStatusUpdateException if it has ended.

    The type Complete, which lets the current step end, is not supported.
    """
    if stop_type != CANCEL:
        raise UnsupportedMemberError(f"the type {stop_type}")
    with execution.lock:
        if execution.status in ENDED:
            raise SSMException(
                "InvalidAutomationStatusUpdateException", f"Execution {execution.id} is {execution.status} already."
            )
        execution.cancelled.set()
        if execution.ended.is_set():  # it was killed, see `Automation.killing`
            execution.finish(CANCELLED)


def send_signal(execution: Execution, signal: str, principal: str) -> None:
    """Approve or reject the step that waits for that; other signals belong to modes that do not exist here.

    InvalidAutomationSignalException if nothing waits, AccessDeniedException if the principal is not an approver.
    """
    with execution.lock:
        run = execution.steps.get(execution.current or "")
        waits = run and run.step.action == APPROVE and run.status == WAITING
        if signal not in DECISIONS or run is None or not waits:
            raise SSMException(
                "InvalidAutomationSignalException", f"{signal} is not valid for the execution {execution.id} now."
            )
        if not may_decide(principal, run.inputs["Approvers"]):
            raise AccessDeniedException(f"{principal} is not among the approvers of the step {run.step.name}.")
        execution.signals.append((principal, signal))


# --- GetCalendarState ----------------------------------------------------------------------------------------------
#
# GetCalendarState: whether change calendars are open, as the knobs say.


def calendar_state(parameters: dict[str, Any], knobs: Knobs) -> dict[str, str]:
    """Return OPEN if every named calendar is open now, CLOSED otherwise. InvalidDocument if there is no such one.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCalendarState.html
    """
    if "AtTime" in parameters:
        raise UnsupportedMemberError("AtTime")
    names = {name.rpartition(":document/")[2] or name for name in parameters["CalendarNames"]}
    unknown = sorted(names - knobs.open_calendars - knobs.closed_calendars)
    if unknown:
        raise InvalidDocument(f"The calendar {unknown[0]} does not exist.")
    is_open = names.isdisjoint(knobs.closed_calendars)
    return {"State": "OPEN" if is_open else "CLOSED", "AtTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


# --- operations ----------------------------------------------------------------------------------------------------
#
# The operations of Systems Manager that the sandbox adds to moto, or checks before moto serves them.


RESERVED = ("aws", "amazon", "amzn")
"""Prefixes that a document's name must not have, in upper or lower case (botocore model, CreateDocument)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the server received it: its parameters, and who made it."""

    parameters: dict[str, Any]
    account_id: str
    region: str
    access_key_id: str

    def execution(self) -> Execution:
        """Return the execution that the request names. AutomationExecutionNotFoundException if there is none."""
        return find(self.account_id, self.region, self.parameters["AutomationExecutionId"])

    def caller(self) -> Caller:
        """Return who made the request."""
        return caller(self.access_key_id, self.account_id, self.region)


class Starter(Protocol):
    """Starts executions."""

    @property
    def knobs(self) -> Knobs:
        """The settings of the executor."""

    def start(self, parameters: dict[str, Any], who: Caller, account_id: str, region: str) -> Execution:
        """Start an execution."""


Operation = Callable[[Request], Mapping[str, Any]]


def apply(patches: Patches, starter: Starter) -> None:
    """Let moto answer the Automation and calendar calls until `patches` are undone."""
    for name, operation in _operations(starter).items():
        patches.set(SimpleSystemManagerResponse, xform_name(name), _method(name, operation))
    patches.wrap(SimpleSystemManagerResponse, "create_document", _checked("CreateDocument", _check_new_document))


def _operations(starter: Starter) -> dict[str, Operation]:
    def start(request: Request) -> dict[str, str]:
        execution = starter.start(request.parameters, request.caller(), request.account_id, request.region)
        return {"AutomationExecutionId": execution.id}

    def state(request: Request) -> dict[str, str]:
        return calendar_state(request.parameters, starter.knobs)

    return {
        "StartAutomationExecution": start,
        "GetCalendarState": state,
        "GetAutomationExecution": lambda request: {"AutomationExecution": described_execution(request.execution())},
        "DescribeAutomationExecutions": lambda request: list_executions(
            request.parameters, request.account_id, request.region
        ),
        "StopAutomationExecution": _stop,
        "SendAutomationSignal": _signal,
    }


def _stop(request: Request) -> dict[str, Any]:
    stop_execution(request.execution(), request.parameters.get("Type", "Cancel"))
    return {}


def _signal(request: Request) -> dict[str, Any]:
    send_signal(request.execution(), request.parameters["SignalType"], request.caller().arn)
    return {}


def _check_new_document(request: Request) -> None:
    parameters = request.parameters
    if parameters.get("DocumentType") != AUTOMATION:
        return
    if parameters["Name"].lower().startswith(RESERVED):
        raise ValidationException(f"Invalid document name {parameters['Name']}")
    reading.read(parameters["Content"], parameters.get("DocumentFormat", "JSON"))


def _method(name: str, operation: Operation) -> Callable[[Moto], ActionResult]:
    """Return a method of moto's response class that answers with what `operation` returns."""

    def answer(self: Moto) -> ActionResult:
        return ActionResult(dict(operation(_request(self, name))))

    return answer


def _checked(name: str, check: Callable[[Request], None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def answer(self: Moto) -> object:
            check(_request(self, name))
            return original(self)

        return answer

    return wrap


def _request(response: Moto, operation: str) -> Request:
    """Return the request that moto serves. ValidationException if it breaks the service's model."""
    parameters = json.loads(response.body or "{}")
    found = violations("ssm", operation, parameters)
    if found:
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected"
        raise SSMException("ValidationException", f"{count}: {'; '.join(found)}")
    return Request(parameters, response.current_account, response.region, response.access_key)
