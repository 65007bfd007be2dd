"""Start the runbooks of a deployed stack, and read their runs. Systems Manager executes them with their role."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from express_path.adapters.aws import Aws, calling
from express_path.adapters.heal_reader import ENDED
from express_path.errors import ApiError
from express_path_cli.automation.stack_record import read_stack

_NO_OUTPUT = "No output available yet because the step is not successfully executed"


@dataclass(frozen=True, slots=True)
class Stack:
    """The runbooks and the ledger of a deployed stack.

    `common` are the parameters that every run gets. `approval_document` is the runbook that asks the approvers; it is
    empty unless the stack's heals need an approval.
    """

    heal_document: str
    undo_document: str
    ledger_table: str
    common: Mapping[str, str]
    approval_document: str = ""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of a run: its name, its status, and why it failed, if it did."""

    name: str
    status: str
    failure: str


@dataclass(frozen=True, slots=True)
class Run:
    """The current state of a run. `outputs` are the texts known so far, by step and name, such as plan.Summary."""

    id: str
    status: str
    steps: tuple[StepRun, ...]
    outputs: Mapping[str, str]
    failure: str

    @property
    def has_ended(self) -> bool:
        """Return whether the run has ended."""
        return self.status in ENDED


def find_stack(aws: Aws, name: str) -> Stack:
    """Read a stack's outputs. Raise ApiError, also if there is no such stack or it has no runbooks."""
    stack = read_stack(aws.client("cloudformation"), name)
    if stack is None:
        raise ApiError("cloudformation:DescribeStacks", "NoRunbooks", f"there is no stack {name} in {aws.region}")
    outputs = stack.outputs
    needed = ("HealDocumentName", "UndoDocumentName", "AutomationRoleArn", "PlanFunctionArn", "LedgerTableName")
    missing = [output for output in needed if output not in outputs]
    if missing:
        raise ApiError("cloudformation:DescribeStacks", "NoRunbooks", f"stack {name} has no output {missing[0]}")
    common = {
        "AutomationAssumeRole": outputs["AutomationRoleArn"],
        "PlanFunctionName": outputs["PlanFunctionArn"],
    }
    approval = outputs.get("ApprovalDocumentName", "") if stack.parameters.get("RemediationMode") == "APPROVAL" else ""
    return Stack(outputs["HealDocumentName"], outputs["UndoDocumentName"], outputs["LedgerTableName"], common, approval)


def start_run(aws: Aws, document: str, parameters: Mapping[str, str]) -> str:
    """Start a runbook and return the run's ID. Raise ApiError."""
    with calling("ssm:StartAutomationExecution"):
        answer = aws.ssm.start_automation_execution(
            DocumentName=document,
            Parameters={name: [value] for name, value in parameters.items()},
            ClientToken=str(uuid4()),  # a retry after a lost answer must not start a second run
        )
    return answer["AutomationExecutionId"]


def read_run(aws: Aws, run_id: str) -> Run:
    """Read the current state of a run. Raise ApiError, also if there is no such run."""
    with calling("ssm:GetAutomationExecution"):
        found: Mapping[str, Any] = aws.ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    outputs = {name: ", ".join(values) for name, values in found.get("Outputs", {}).items()}
    return Run(
        run_id,
        found["AutomationExecutionStatus"],
        tuple(
            StepRun(step["StepName"], step["StepStatus"], step.get("FailureMessage", ""))
            for step in found.get("StepExecutions", [])
        ),
        {name: value for name, value in outputs.items() if value != _NO_OUTPUT},
        str(found.get("FailureMessage") or ""),
    )
