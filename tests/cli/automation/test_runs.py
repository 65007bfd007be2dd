"""Runs of the runbooks: starting them once."""

import json

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path_cli.automation.runs import Job, start_run
from express_path_cli.aws.sessions import connect


def test_a_retried_start_is_one_run(sandbox: Sandbox) -> None:
    """The client token makes the SDK's retry of a lost response the same run; a new command is a new run.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StartAutomationExecution.html
    """
    rest = {"name": "rest", "action": "aws:sleep", "inputs": {"Duration": "{{ Duration }}"}}
    document = {"schemaVersion": "0.3", "parameters": {"Duration": {"type": "String"}}, "mainSteps": [rest]}
    aws = connect()
    lost = [0]  # seconds to wait before asking again
    aws.ssm.meta.events.register_first(
        "needs-retry.ssm.StartAutomationExecution", lambda **_: lost.pop() if lost else None
    )
    with Automation(sandbox):
        aws.ssm.create_document(Name="Rest", Content=json.dumps(document), DocumentType="Automation")
        runs = {start_run(aws, Job("rest", "Rest", {"Duration": "PT1S"}, "1")) for _ in range(2)}
        found = aws.ssm.describe_automation_executions()["AutomationExecutionMetadataList"]
    assert len(sandbox.calls.of("ssm", "StartAutomationExecution")) == 3
    assert {execution["AutomationExecutionId"] for execution in found} == runs
    assert len(runs) == 2
