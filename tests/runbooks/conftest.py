"""Fixtures for the runbook tests: runbooks deployed in a sandbox, and a VPC to heal."""

from collections.abc import Iterator

import pytest

from express_path.heal_steps import repeated_reads
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.heals import HEAL, UNDO, Deployment, Vpc
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.network import Builder


@pytest.fixture
def deployment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield a deployment of the heal and undo runbooks whose waits are almost zero."""
    monkeypatch.setattr(repeated_reads, "SECONDS_APART", 0)
    monkeypatch.setattr(repeated_reads, "TURN_SECONDS", 0.1)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    with Automation(sandbox) as automation:
        automation.knobs.time_scale = 0.001
        automation.knobs.lambda_selectors = False
        deployed = Deployment(sandbox, automation)
        for name in (HEAL, UNDO):
            deployed.publish(name)
        yield deployed


@pytest.fixture
def vpc(builder: Builder) -> Vpc:
    """Return a VPC with one private subnet."""
    return Vpc(builder)


@pytest.fixture
def ledger(deployment: Deployment) -> LedgerTable:
    """Return the deployment's ledger."""
    return deployment.ledger
