"""Fixtures for the tests of Systems Manager Automation in the sandbox."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.client import BaseClient

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation

Runbook = dict[str, Any]
Step = dict[str, Any]

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ssm.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Automation in an empty sandbox, with very short waits."""
    with Automation(sandbox) as running:
        running.knobs.time_scale = 0.001
        yield running


@pytest.fixture
def ssm(sandbox: Sandbox, automation: Automation) -> BaseClient:
    """A Systems Manager client."""
    del automation
    return sandbox.client("ssm")


@pytest.fixture
def role(sandbox: Sandbox) -> str:
    """The ARN of a role that Systems Manager may assume; it has no permissions, and by default none are needed."""
    role = sandbox.client("iam").create_role(RoleName="automation", AssumeRolePolicyDocument=json.dumps(TRUST))
    return str(role["Role"]["Arn"])


@pytest.fixture
def runbook(role: str) -> Callable[..., Runbook]:
    """Return a function that makes a runbook of these steps and other elements, by name."""

    def make(*steps: Step, parameters: dict[str, Any] | None = None, **elements: object) -> Runbook:
        return {
            "schemaVersion": "0.3",
            "description": "A runbook of a test.",
            "assumeRole": role,
            "parameters": parameters or {},
            "mainSteps": list(steps),
            **elements,
        }

    return make


@pytest.fixture
def store(ssm: BaseClient) -> Callable[..., str]:
    """Return a function that stores a runbook and returns its name."""

    def put(document: Runbook, name: str = "Runbook") -> str:
        ssm.create_document(Name=name, Content=json.dumps(document), DocumentFormat="JSON", DocumentType="Automation")
        return name

    return put


@pytest.fixture
def run(
    automation: Automation, store: Callable[..., str], runbook: Callable[..., Runbook]
) -> Callable[..., dict[str, Any]]:
    """Return a function that runs a runbook of these steps to its end and returns its AutomationExecution."""

    def execute(
        *steps: Step, given: dict[str, Any] | None = None, name: str = "Runbook", **elements: object
    ) -> dict[str, Any]:
        return automation.execute(store(runbook(*steps, **elements), name), given)

    return execute


@pytest.fixture
def outcome() -> Callable[[dict[str, Any]], dict[str, str]]:
    """Return a function that returns the status of each step of an AutomationExecution, by name."""

    def of(execution: dict[str, Any]) -> dict[str, str]:
        return {step["StepName"]: step["StepStatus"] for step in execution["StepExecutions"]}

    return of
