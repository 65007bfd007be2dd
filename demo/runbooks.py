"""The runbooks for the demonstration: stored as the stack stores them, run, and followed through Automation's API."""

import json
import time
from collections.abc import Callable
from typing import Any

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from demo.function import LEDGER, PLAN_FUNCTION, Invoke
from demo.steps import StepLine, step_lines
from org.expansion import runbook

HEAL, UNDO = "AddS3ExpressGatewayEndpoint", "RemoveS3ExpressGatewayEndpoint"
ROLE = "express-path-automation"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ssm.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
UNFINISHED = {"Pending", "InProgress", "Waiting"}
"""Statuses of an execution that is not over.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-statuses.html
"""

POLL_SECONDS = 0.25
LONGEST_SECONDS = 120.0

Execution = dict[str, Any]
"""An AutomationExecution (botocore model)."""


class Runbooks:
    """The runbooks that heal and undo, deployed in a sandbox."""

    def __init__(self, sandbox: Sandbox, automation: Automation, plan: Invoke) -> None:
        """Deploy the runbooks, their role, their function, and the ledger."""
        key = {"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]}
        schema = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
        sandbox.client("dynamodb").create_table(TableName=LEDGER, **key, **schema)
        self._ssm = sandbox.client("ssm")
        automation.functions.register(PLAN_FUNCTION, plan)
        role = sandbox.client("iam").create_role(RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(TRUST))
        self._common = {"AutomationAssumeRole": [role["Role"]["Arn"]], "PlanFunctionName": [PLAN_FUNCTION]}
        for name in (HEAL, UNDO):
            content = json.dumps(runbook(name))
            kind = {"DocumentType": "Automation", "DocumentFormat": "YAML"}
            self._ssm.create_document(Name=name, Content=content, **kind)

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
