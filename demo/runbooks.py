"""The runbooks for the demonstration: run, and followed through Automation's API."""

import time
from collections.abc import Callable
from typing import Any

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from demo.deployment import Deployed
from demo.function import Invoke
from demo.steps import StepLine, step_lines

HEAL, UNDO = "AddS3ExpressGatewayEndpoint", "RemoveS3ExpressGatewayEndpoint"
UNFINISHED = {"Pending", "InProgress", "Waiting"}
"""Statuses of an execution that is not over.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-statuses.html
"""

POLL_SECONDS = 0.25
LONGEST_SECONDS = 120.0

Execution = dict[str, Any]
"""An AutomationExecution (botocore model)."""


class Runbooks:
    """The runbooks of the stack that heal and undo, as its operator starts them."""

    def __init__(self, sandbox: Sandbox, automation: Automation, plan: Invoke, stack: Deployed) -> None:
        """Let the runbooks invoke the plan function in this way."""
        automation.functions.register(stack.plan.name, plan)
        self._ssm = sandbox.client("ssm", credentials=stack.operator)
        role, function = stack.outputs["AutomationRoleArn"], stack.outputs["PlanFunctionArn"]
        self._common = {"AutomationAssumeRole": [role], "PlanFunctionName": [function]}

    def follow(self, name: str, show: Callable[[StepLine], None], **parameters: str) -> Execution:
        """Run a runbook to its end, showing each step when it ends. TimeoutError after two minutes."""
        given = {key: [value] for key, value in parameters.items()}
        started = self._ssm.start_automation_execution(DocumentName=name, Parameters=given | self._common)
        execution_id = started["AutomationExecutionId"]
        until = time.monotonic() + LONGEST_SECONDS
        shown = 0
        while time.monotonic() < until:
            answer = self._ssm.get_automation_execution(AutomationExecutionId=execution_id)
            execution: Execution = answer["AutomationExecution"]
            is_over = execution["AutomationExecutionStatus"] not in UNFINISHED
            lines = step_lines(execution["StepExecutions"], is_over=is_over)
            for line in lines[shown:]:
                show(line)
            shown = len(lines)
            if is_over:
                return execution
            time.sleep(POLL_SECONDS)
        raise TimeoutError(f"{name} has not ended within {LONGEST_SECONDS:.0f} seconds")
