"""A stack with the heal and undo runbooks, for tests of the commands that start them."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path import healing
from express_path_cli.automation import runs
from express_path_cli.main import app
from tests.support.command import invoke
from tests.support.heals import APPROVED, HEAL, UNDO, Approval, Deployment
from tests.support.ledgers import LEDGER

STACK = "express-path"
LOOK = ("ssm", "GetAutomationExecution")


@contextmanager
def deployed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Deploy the heal and undo runbooks and a stack whose outputs name them."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setattr(runs, "START_SECONDS", 0)
    monkeypatch.setattr(healing, "SECONDS_APART", 0)
    monkeypatch.setattr(runs, "POLL_SECONDS", 0.3)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        made = Deployment(sandbox, automation)
        for name in (HEAL, UNDO):
            made.publish(name)
        make_stack(sandbox, made)
        yield made


def make_stack(sandbox: Sandbox, made: Deployment, name: str = STACK, mode: str = "OFF", **other: str) -> None:
    """Create a stack whose outputs name the deployed resources, as in the template, or others."""
    outputs = {
        "HealDocumentName": HEAL,
        "ApprovalDocumentName": APPROVED,
        "UndoDocumentName": UNDO,
        "AutomationRoleArn": made.given["AutomationAssumeRole"],
        "PlanFunctionArn": made.given["PlanFunctionName"],
        "LedgerTableName": LEDGER,
        "StopRoleArn": f"arn:aws:iam::{sandbox.account_id}:role/express-path/automation/stop",
        "RuleName": "s3express-no-nat-path",
        **other,
    }
    template = {
        "Parameters": {"RemediationMode": {"Type": "String"}},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {key: {"Value": value} for key, value in outputs.items()},
    }
    parameters = [{"ParameterKey": "RemediationMode", "ParameterValue": mode}]
    sandbox.client("cloudformation").create_stack(
        StackName=name, TemplateBody=json.dumps(template), Parameters=parameters
    )


def require_approval(made: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a stack named asking in mode APPROVAL."""
    make_stack(made.sandbox, made, "asking", "APPROVAL")
    Approval(made, monkeypatch.setenv)


def cancel(made: Deployment, run_id: str) -> None:
    """Cancel a run, and wait until it has ended."""
    made.ssm.stop_automation_execution(AutomationExecutionId=run_id, Type="Cancel")
    made.automation.wait(run_id)


def verdict(subnet_id: str) -> str:
    """Return the command's own verdict on a subnet."""
    found = json.loads(invoke(["explain", subnet_id, "--format", "json"]).stdout)
    return str(found["compliance"])


def invoke_at_terminal(command_line: list[str], answer: str) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, with a terminal as its standard input where a person types an answer."""
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    outputs = [io.BytesIO(), io.BytesIO()]
    shown, errors = (io.TextIOWrapper(output, encoding="utf-8", write_through=True) for output in outputs)
    with os.fdopen(ours), os.fdopen(theirs, encoding="utf-8") as keyboard, pytest.MonkeyPatch.context() as patches:
        for name, stream in (("stdin", keyboard), ("stdout", shown), ("stderr", errors)):
            patches.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as end:
            app(command_line)
    texts = [output.getvalue().decode() for output in outputs]
    return subprocess.CompletedProcess(command_line, int(end.value.code or 0), *texts)
