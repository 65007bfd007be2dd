"""The whole stack in a sandbox that enforces permissions: runbooks, roles, ledger, and plan function."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ssm import Automation
from express_path.handlers import plan_heal
from express_path.healing.services import HealServices
from tests.support.documented import documented
from tests.support.rule import Context
from tests.support.stack import Stack

HEAL, APPROVAL, UNDO = "HealDocument", "ApprovalDocument", "UndoDocument"
Run = dict[str, Any]


class Deployed:
    """The whole stack in a sandbox: runbooks, roles, and the plan function with its own role."""

    def __init__(self, stack: Stack, automation: Automation, environ: Callable[[str, str], None]) -> None:
        """Deploy the stack; `environ` sets an environment variable."""
        self.stack = stack
        self.automation = automation
        self._publish()
        self.operator = self._create_operator()
        variables = stack.template.deployed(stack.template.properties("PlanFunction")["Environment"]["Variables"])
        function = stack.template.deployed("<PlanFunction>")
        runtime = {"AWS_LAMBDA_FUNCTION_NAME": function, **_upper(stack.credentials("PlanRole"))}
        for name, value in {**variables, **runtime}.items():
            environ(name, value)
        self._services: HealServices | None = None
        automation.functions.register(function, self.plan)

    def _publish(self) -> None:
        ssm: Client = self.stack.sandbox.client("ssm")
        for logical_id in (HEAL, APPROVAL, UNDO):
            document = self.stack.template.properties(logical_id)
            content = json.dumps(document["Content"])
            ssm.create_document(Name=document["Name"], Content=content, DocumentType="Automation")

    def _create_operator(self) -> Client:
        """Create a user who can only start runbooks, pass their role, and answer approval requests."""
        execution = "arn:aws:ssm:*:*:automation-execution/*"
        answer = {"Effect": "Allow", "Action": "ssm:SendAutomationSignal", "Resource": execution}
        return self.stack.user("operator", "ssm", answer, *documented("Heal", "Undo", "RunWithTheRoleOfTheRunbooks"))

    def run(self, logical_id: str, **given: str) -> Run:
        """Run a runbook until it ends, with permissions enforced for every request."""
        with self.enforced():
            return self.automation.wait(self.start(logical_id, **given))

    def start(self, logical_id: str, **given: str) -> str:
        """Start a runbook as the operator, by default with the stack's own role and function."""
        own = {
            "AutomationAssumeRole": self.stack.arn("AutomationRole"),
            "PlanFunctionName": self.stack.arn("PlanFunction"),
        }
        name = self.stack.template.properties(logical_id)["Name"]
        parameters = {name: [value] for name, value in (own | given).items()}
        started = self.operator.start_automation_execution(DocumentName=name, Parameters=parameters)
        return str(started["AutomationExecutionId"])

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Enforce permissions for every request, and start the plan function cold."""
        self._services = None
        with self.stack.enforced():
            yield

    def plan(self, event: dict[str, Any]) -> dict[str, Any]:
        """Invoke the plan function, with its own role."""
        account_id = self.stack.sandbox.account_id
        self._services = self._services or plan_heal.compose_services(os.environ, account_id)
        return plan_heal.handler(event, Context(), self._services)


def _upper(credentials: dict[str, str]) -> dict[str, str]:
    return {name.upper(): value for name, value in credentials.items()}
