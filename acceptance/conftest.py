"""What the tests of one run share: the run, the network, and the product."""

import pytest

from acceptance import stack
from acceptance.run import Run
from acceptance.stack import Ids, Product


@pytest.fixture(scope="session")
def run() -> Run:
    """Begin or continue the run."""
    return Run()


@pytest.fixture(scope="session")
def network(run: Run) -> Ids:
    """Make the run's VPCs."""
    return stack.network(run)


@pytest.fixture(scope="session")
def product(run: Run, network: Ids) -> Product:
    """Upload the product. The story deploys it."""
    return Product(run, network)
