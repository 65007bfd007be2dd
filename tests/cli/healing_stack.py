"""A stack whose runbooks heal and undo, for tests of the commands that start them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import Result

from express_path import healing, looking
from express_path.adapters.run_states import ENDED
from express_path.handlers import plan_heal
from express_path.handlers.services import services
from express_path_cli import run_watcher
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.heals import APPROVED, HEAL, UNDO, Deployment
from tests.support.ledgers import LEDGER
from tests.support.recordings import invoke

STACK = "express-path"
LOOK = ("ssm", "GetAutomationExecution")


@contextmanager
def deployed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Deploy the runbooks that heal and undo, and a stack whose outputs name them."""
    monkeypatch.setattr(looking, "SECONDS_APART", 0)
    monkeypatch.setattr(healing, "TURN_SECONDS", 0.1)
    monkeypatch.setattr(run_watcher, "POLL_SECONDS", 0.05)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    plan_heal.rule_parameters.cache_clear()
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        made = Deployment(sandbox, automation)
        for name in (HEAL, UNDO):
            made.publish(name)
        for name in ("dynamodb", "ec2", "s3", "ssm"):
            getattr(services().aws, name)
        make_stack(sandbox, made)
        yield made
    plan_heal.rule_parameters.cache_clear()


def make_stack(sandbox: Sandbox, made: Deployment, name: str = STACK, mode: str = "OFF") -> None:
    """Make a stack with the outputs of the template, which names what is deployed."""
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
    """How the command itself judges a subnet now."""
    found = json.loads(invoke(["explain", subnet_id, "--format", "json"]).stdout)
    return str(found["compliance"])


def run_id_of(result: Result) -> str:
    """The run that the printed undo command names."""
    [line] = [line for line in result.stdout.splitlines() if line.startswith("to undo: ")]
    return line.split()[4]


def started(sandbox: Sandbox, *command_line: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, ended."""
    return subprocess.run(
        [Path(sys.executable).with_name("express-path"), *command_line],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={"PATH": os.environ["PATH"], **sandbox.environment()},
    )


def ended(sandbox: Sandbox, run_id: str) -> str:
    """The status with which a run has ended, waited for."""
    ssm = sandbox.client("ssm")
    for _ in range(2400):
        found = ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
        if found["AutomationExecutionStatus"] in ENDED:
            break
        time.sleep(0.05)
    return str(found["AutomationExecutionStatus"])


def told_of_run(shown: str, what: str) -> str:
    """The id of the run that was started, of which is said how to look at it where nobody follows it any more."""
    [run_id] = [line.rpartition(" ")[2] for line in shown.splitlines() if line.startswith(f"{what}: ")]
    look = f"aws ssm get-automation-execution --automation-execution-id {run_id} --region us-east-1"
    assert f"no longer following run {run_id}, last seen started; the run goes on: {look}\n" in shown
    return run_id
