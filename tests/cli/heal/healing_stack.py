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

from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.runbooks import runbooks_of
from express_path.healing import rereading
from express_path_cli.automation import runs
from express_path_cli.main import app
from tests.support.command import invoke
from tests.support.heals import FUNCTION, HEAL, RULE, UNDO, Approval, Deployment
from tests.support.ledgers import LEDGER
from tests.support.stack import listed_stack

STACK = "express-path"
DOCUMENTS = ("HealDocument", "ApprovalDocument", "UndoDocument")
LOOK = ("ssm", "GetAutomationExecution")


@contextmanager
def deployed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, name: str = STACK) -> Iterator[Deployment]:
    """Deploy the heal and undo runbooks and a stack that has them, unless its name is empty."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setattr(runs, "START_SECONDS", 0)
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    monkeypatch.setattr(runs, "POLL_SECONDS", 0.3)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        made = Deployment(sandbox, automation)
        for document in (HEAL, UNDO):
            made.publish(document)
        if name:
            make_stack(sandbox, made, name)
        yield made


def make_stack(
    sandbox: Sandbox, made: Deployment, name: str = STACK, mode: str = "OFF", ledger: str = LEDGER, **other: str
) -> None:
    """Let CloudFormation list a stack with the deployed resources, as in the template, and other ones by logical ID.

    With LedgerTableName, an existing table is its ledger.
    """
    parameters = {"RemediationMode": mode, "LedgerTableName": other.pop("LedgerTableName", "")}
    rule = other.get("ConfigRule", RULE)
    names = {
        "ConfigRule": rule,
        "EvaluateFunction": "express-path-evaluate",
        "PlanFunction": FUNCTION,
        "AutomationRole": made.given["AutomationAssumeRole"].rpartition("/")[2],
        "StopRole": "stop",
        "LedgerTable": ledger,
        **dict(zip(DOCUMENTS, runbooks_of(rule), strict=True)),
        **other,
    }
    outputs = {"RuleName": rule, "LedgerTableName": ledger, "HealDocumentName": names["HealDocument"]}
    listed_stack(sandbox, name, names, outputs, **parameters)


def require_approval(made: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a stack named asking in mode APPROVAL."""
    make_stack(made.sandbox, made, "asking", "APPROVAL")
    Approval(made, monkeypatch.setenv)


def remove_stack(sandbox: Sandbox, name: str) -> None:
    """Delete a stack that `make_stack` made."""
    stacks = created_stacks(sandbox.account_id, sandbox.region)
    stacks[:] = [stack for stack in stacks if stack.name != name]


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
