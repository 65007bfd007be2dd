"""A stack with the heal and undo runbooks, for tests of the commands that start them."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from typer.testing import Result

from express_path.adapters.run_states import ENDED
from express_path.heal_steps import repeated_reads
from express_path_cli import run_watcher
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support import processes
from tests.support.command import invoke
from tests.support.heals import APPROVED, HEAL, UNDO, Deployment
from tests.support.ledgers import LEDGER

STACK = "express-path"
LOOK = ("ssm", "GetAutomationExecution")


@contextmanager
def deployed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Deploy the heal and undo runbooks and a stack whose outputs name them."""
    monkeypatch.setattr(repeated_reads, "SECONDS_APART", 0)
    monkeypatch.setattr(repeated_reads, "TURN_SECONDS", 0.1)
    monkeypatch.setattr(run_watcher, "POLL_SECONDS", 0.05)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        made = Deployment(sandbox, automation)
        for name in (HEAL, UNDO):
            made.publish(name)
        make_stack(sandbox, made)
        yield made


def make_stack(sandbox: Sandbox, made: Deployment, name: str = STACK, mode: str = "OFF") -> None:
    """Create a stack whose outputs name the deployed resources, as in the template."""
    outputs = {
        "HealDocumentName": HEAL,
        "ApprovalDocumentName": APPROVED,
        "UndoDocumentName": UNDO,
        "AutomationRoleArn": made.given["AutomationAssumeRole"],
        "PlanFunctionArn": made.given["PlanFunctionName"],
        "LedgerTableName": LEDGER,
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


def verdict(subnet_id: str) -> str:
    """Return the command's own verdict on a subnet."""
    found = json.loads(invoke(["explain", subnet_id, "--format", "json"]).stdout)
    return str(found["compliance"])


def run_id_of(result: Result) -> str:
    """Return the run id in the printed undo command."""
    [line] = [line for line in result.stdout.splitlines() if line.startswith("to undo: ")]
    return line.split()[4]


def started(sandbox: Sandbox, *command_line: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process."""
    environment = {"PATH": os.environ["PATH"], **sandbox.environment()}
    return subprocess.run(
        [*processes.command(environment), *command_line],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=environment,
    )


def ended(sandbox: Sandbox, run_id: str) -> str:
    """Wait for a run to end and return its status."""
    ssm = sandbox.client("ssm")
    for _ in range(2400):
        found = ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
        if found["AutomationExecutionStatus"] in ENDED:
            break
        time.sleep(0.05)
    return str(found["AutomationExecutionStatus"])


def reported_run_id(shown: str, what: str) -> str:
    """Return the id of the started run; the output must say how to follow it."""
    [run_id] = [line.rpartition(" ")[2] for line in shown.splitlines() if line.startswith(f"{what}: ")]
    command = f"aws ssm get-automation-execution --automation-execution-id {run_id} --region us-east-1"
    assert f"stopped watching run {run_id}, last status started; the run continues: {command}\n" in shown
    return run_id
