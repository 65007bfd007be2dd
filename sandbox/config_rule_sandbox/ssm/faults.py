"""Exceptions for what can be wrong with a runbook, a request or a step; they carry where and why."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from moto.ssm.exceptions import SSMException

EXECUTING = "Execute/Cancelling action"
"""What most failures of steps say that the step was doing."""


class FaultyDocumentError(SSMException):
    """A runbook that Systems Manager refuses, or that this executor cannot run exactly as AWS would.

    `where` names the place in the document, `fault` says what is wrong there.
    """

    def __init__(self, where: str, fault: str) -> None:
        super().__init__("InvalidDocumentContent", f"{where}: {fault}")
        self.where = where
        self.fault = fault


class InvalidParametersError(SSMException):
    """The parameters of StartAutomationExecution do not fit the runbook (botocore model)."""

    def __init__(self, message: str) -> None:
        super().__init__("InvalidAutomationExecutionParametersException", message)


class StepFailedError(Exception):
    """A step failed.

    `reason` becomes part of its FailureMessage, `outputs` are the outputs that it has nevertheless.
    """

    def __init__(self, reason: str, stage: str = EXECUTING, outputs: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stage = stage
        self.outputs = outputs or {}

    def message(self) -> str:
        """Return the FailureMessage as Automation words it.

        https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-troubleshooting.html; the wording is
        that of failures that people have reported.
        """
        return (
            f"Step fails when it is {self.stage}. {self.reason}. "
            "Please refer to Automation Service Troubleshooting Guide for more diagnosis details."
        )

    @classmethod
    def of(cls, error: BotoCoreError | ClientError, stage: str = EXECUTING) -> "StepFailedError":
        """Return the failure of a step whose call of an AWS API failed."""
        if isinstance(error, BotoCoreError):
            return cls(str(error), stage)
        answer = error.response["Error"]
        code, message = answer.get("Code"), answer.get("Message")
        return cls(f"An error occurred ({code}) when calling the {error.operation_name} operation: {message}", stage)


class ApprovalRejectedError(StepFailedError):
    """An approver rejected the step; `outputs` are those that it has nevertheless."""

    def __init__(self, outputs: Mapping[str, Any]) -> None:
        super().__init__("Approval was rejected", "waiting for approval", outputs)


class StepTimedOutError(StepFailedError):
    """A step was not done within its timeoutSeconds."""


class InterruptedStepError(Exception):
    """A step was stopped from outside: its execution is cancelled, or the sandbox is reset."""
