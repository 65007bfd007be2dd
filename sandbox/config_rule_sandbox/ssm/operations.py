"""The operations of Systems Manager that the sandbox adds to moto, or checks before moto serves them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from botocore import xform_name
from moto.core.responses import ActionResult
from moto.ssm.exceptions import (
    SSMException,
    ValidationException,
)
from moto.ssm.responses import SimpleSystemManagerResponse

from config_rule_sandbox.answers import Answers, LoopFailure
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.constraints import violations
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.ssm import reading
from config_rule_sandbox.ssm.calendars import calendar_state
from config_rule_sandbox.ssm.described import described_execution
from config_rule_sandbox.ssm.document import ABORT, CONTINUE
from config_rule_sandbox.ssm.execution import Execution
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.knobs import Knobs
from config_rule_sandbox.ssm.list_executions import list_executions, list_steps
from config_rule_sandbox.ssm.registry import find
from config_rule_sandbox.ssm.roles import Caller, caller
from config_rule_sandbox.ssm.signals import send_signal, stop_execution
from config_rule_sandbox.ssm.start import AUTOMATION

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

    @property
    def answers(self) -> Answers:
        """What AWS does where its documentation leaves that open."""

    def start(self, parameters: dict[str, Any], who: Caller, account_id: str, region: str) -> Execution:
        """Start an execution."""


Operation = Callable[[Request], Mapping[str, Any]]


def apply(patches: Patches, starter: Starter) -> None:
    """Let moto answer the Automation and calendar calls until `patches` are undone."""
    for name, operation in _operations(starter).items():
        patches.set(SimpleSystemManagerResponse, xform_name(name), _method(name, operation))
    check = partial(_check_new_document, starter.answers)
    patches.wrap(SimpleSystemManagerResponse, "create_document", _checked("CreateDocument", check))


def _operations(starter: Starter) -> dict[str, Operation]:
    def start(request: Request) -> dict[str, str]:
        execution = starter.start(request.parameters, request.caller(), request.account_id, request.region)
        return {"AutomationExecutionId": execution.id}

    def state(request: Request) -> dict[str, str]:
        return calendar_state(request.parameters, starter.knobs)

    def show(request: Request) -> dict[str, Any]:
        return {"AutomationExecution": described_execution(request.execution())}

    return {
        "StartAutomationExecution": start,
        "GetCalendarState": state,
        "GetAutomationExecution": show,
        "DescribeAutomationExecutions": lambda request: list_executions(
            request.parameters, request.account_id, request.region
        ),
        "DescribeAutomationStepExecutions": lambda request: list_steps(request.execution(), request.parameters),
        "StopAutomationExecution": _stop,
        "SendAutomationSignal": _signal,
    }


def _stop(request: Request) -> dict[str, Any]:
    stop_execution(request.execution(), request.parameters.get("Type", "Cancel"))
    return {}


def _signal(request: Request) -> dict[str, Any]:
    send_signal(request.execution(), request.parameters["SignalType"], request.caller().arn)
    return {}


def _check_new_document(answers: Answers, request: Request) -> None:
    parameters = request.parameters
    if parameters.get("DocumentType") != AUTOMATION:
        return
    if parameters["Name"].lower().startswith(RESERVED):
        raise ValidationException(f"Invalid document name {parameters['Name']}")
    document = reading.read(parameters["Content"], parameters.get("DocumentFormat", "JSON"))
    if answers.loop_failure is LoopFailure.IS_REFUSED:
        for step in document.steps.values():
            if step.inner and step.on_failure not in (ABORT, CONTINUE):
                raise FaultyDocumentError(f"mainSteps.{step.name}", f"onFailure cannot lead to {step.on_failure}")


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
