"""What the tests of one run share: the run, the network, what probes ask about, and the product."""

import shutil
from collections.abc import Iterator

import pytest

from acceptance.facts import OUTPUT, write
from acceptance.run import Run
from acceptance.stack import Ids, Product, delete, deploy_own


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """Begin a run, write its facts at its end, and fail if one is not as believed."""
    run = Run()
    yield run
    shutil.rmtree(OUTPUT / run.where, ignore_errors=True)
    write(OUTPUT / run.where, {"facts": run.facts, **run.answers})
    wrong = {name: fact for name, fact in run.facts.items() if fact["as_believed"] is False}
    assert not wrong


@pytest.fixture(scope="session")
def network(run: Run) -> Ids:
    """Make the run's VPC."""
    return deploy_own(run, "network")


@pytest.fixture(scope="module")
def asked(run: Run, network: Ids) -> Iterator[Ids]:
    """Make what the probes ask about. The rule there evaluates everything in the account, but changes nothing."""
    yield deploy_own(run, "probes", Approver=run.caller, Vpc=network["Vpc"])
    delete(run, f"{run.stack_name}-probes")


@pytest.fixture(scope="session")
def product(run: Run, network: Ids) -> Product:
    """Upload the product. The story deploys it."""
    return Product(run, network)
