"""Fixtures of the tests of the command."""

from collections.abc import Iterator

import pytest

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.healing import rereading
from express_path_cli.automation import runs, stops
from tests.cli.heal.healing_stack import deployed
from tests.cli.org.organizations import REGIONS, Organization
from tests.support.command import without_credentials
from tests.support.healing_places import HealingPlace
from tests.support.heals import Deployment, Vpc
from tests.support.ledgers import LEDGER
from tests.support.network import Builder


@pytest.fixture
def no_credentials() -> Iterator[None]:
    """No AWS credentials, with which a plan is judged alone."""
    with without_credentials():
        yield


@pytest.fixture
def deployment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield the heal and undo runbooks, and a stack whose outputs name them."""
    with deployed(sandbox, monkeypatch) as made:
        yield made


@pytest.fixture
def vpc(builder: Builder) -> Vpc:
    """Return a VPC with one private subnet behind a NAT gateway."""
    return Vpc(builder)


@pytest.fixture
def organization(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Organization:
    """Return an organization with two members, one of them in a unit."""
    for module, name, value in ((runs, "START_SECONDS", 0), (runs, "POLL_SECONDS", 0.1), (stops, "POLL_SECONDS", 0.01)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    made = Organization(sandbox)
    made.add("data", made.unit("workloads"))
    made.add("web")
    return made


@pytest.fixture
def automation(sandbox: Sandbox) -> Iterator[Automation]:
    """Yield Automation and AWS Config's remediation."""
    with Automation(sandbox) as running, Remediation(sandbox, running):
        running.knobs.time_scale = 0.001
        yield running


@pytest.fixture
def data(organization: Organization, automation: Automation) -> HealingPlace:
    """Return an account with the stack in the first Region."""
    return HealingPlace(organization.sandbox, automation, organization.accounts["data"], REGIONS[0])


@pytest.fixture
def web(organization: Organization, automation: Automation) -> HealingPlace:
    """Return another account with the stack in the first Region."""
    return HealingPlace(organization.sandbox, automation, organization.accounts["web"], REGIONS[0])
