"""Fixtures for the runbook tests: runbooks deployed in a sandbox, and a VPC to heal."""

from collections.abc import Iterator

import pytest

from config_rule_sandbox.answers import LoopFailure
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.registry import registry
from config_rule_sandbox.ssm.selectors import NO_OUTPUT
from config_rule_sandbox.ssm.values import text
from express_path.healing import rereading
from tests.runbooks.fault_matrix import CELLS, Cell, table
from tests.support.heals import HEAL, UNDO, Deployment, Vpc
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.network import Builder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the fault matrix with the outcome of each cell, if it was played."""
    outcomes: dict[Cell, str] = {}
    for kind in ("passed", "failed"):
        for report in terminalreporter.stats.get(kind, []):
            found = dict(report.user_properties)
            if report.when == "call" and "cell" in found:
                outcomes[Cell(*found["cell"])] = found.get("outcome", "BROKEN")
    if not outcomes:
        return
    for line in table({cell: outcomes[cell] for cell in CELLS if cell in outcomes}):
        terminalreporter.write_line(line)
    broken = sum(outcome == "BROKEN" for outcome in outcomes.values())
    terminalreporter.write_line(f"{len(outcomes)} cells, {broken} broken promises")


@pytest.fixture
def deployment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield a deployment of the heal and undo runbooks whose waits are almost zero. No step may read a missing output."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        automation.knobs.lambda_selectors = False
        deployed = Deployment(sandbox, automation)
        for name in (HEAL, UNDO):
            deployed.publish(name)
        yield deployed
        runs = registry(sandbox.account_id, sandbox.region).executions.values()
        if sandbox.answers.loop_failure is LoopFailure.GOES_ON:
            return
        assert [step.step.name for run in runs for step in run.steps.values() if NO_OUTPUT in text(step.inputs)] == []


@pytest.fixture
def vpc(builder: Builder) -> Vpc:
    """Return a VPC with one private subnet."""
    return Vpc(builder)


@pytest.fixture
def ledger(deployment: Deployment) -> LedgerTable:
    """Return the deployment's ledger."""
    return deployment.ledger
